"""What the locker in the database does beyond the contract."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from django_gocron import clock
from django_gocron.exceptions import ConfigurationError, LockerError
from django_gocron.lockers.base import Refusal
from django_gocron.lockers.database import DatabaseLocker
from django_gocron.models import Lease
from django_gocron.testing.crowds import own_connections
from django_gocron.testing.lockers import new_lock

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO = timedelta(days=1)


def expire(key: str) -> None:
    updated = Lease.objects.filter(name=f"lock:{key}").update(expires_at=clock.host_now() - LONG_AGO)
    assert updated == 1


def test_a_lock_is_a_row_that_people_can_read():
    lock = new_lock("nightly-report", holder="web-1:4711")
    DatabaseLocker().acquire_many([lock])
    row = Lease.objects.get()
    assert (row.name, row.holder, row.token) == ("lock:nightly-report", "web-1:4711", lock.token)
    assert row.expires_at - row.acquired_at == pytest.approx(timedelta(seconds=60), abs=timedelta(seconds=1))


def test_released_locks_leave_no_rows():
    locks = [new_lock() for _ in range(3)]
    DatabaseLocker().acquire_many(locks)
    DatabaseLocker().release_many(locks)
    assert not Lease.objects.exists()


def test_the_row_of_a_crashed_holder_is_used_again():
    dead, lock = new_lock(), new_lock()
    DatabaseLocker().acquire_many([dead])
    expire(dead.key)
    lock = new_lock(dead.key, holder="successor")
    assert DatabaseLocker().acquire_many([lock]) == [None]
    assert Lease.objects.get().holder == "successor"


def test_a_lock_whose_time_is_over_is_neither_extended_nor_released():
    lock = new_lock()
    DatabaseLocker().acquire_many([lock])
    expire(lock.key)
    assert DatabaseLocker().extend_many([lock]) == [False]
    assert DatabaseLocker().release_many([lock]) == [False]


def test_lockers_with_different_prefixes_have_different_locks():
    answers = [DatabaseLocker(prefix=prefix).acquire_many([new_lock("job")]) for prefix in ("shop", "bank")]
    assert answers == [[None], [None]]


def test_a_batch_is_a_handful_of_statements():
    locker, locks = DatabaseLocker(), [new_lock() for _ in range(100)]
    for call, most in ((locker.acquire_many, 8), (locker.extend_many, 5), (locker.release_many, 5)):
        with CaptureQueriesContext(connection) as queries:
            call(locks)
        assert len(queries) <= most


def test_a_lock_that_is_held_is_refused_with_one_statement():
    lock = new_lock()
    DatabaseLocker().acquire_many([lock])
    with CaptureQueriesContext(connection) as queries:
        DatabaseLocker().acquire_many([new_lock(lock.key)])
    assert len(queries) == 1


@contextmanager
def locked_by_another_transaction(name: str) -> Iterator[None]:
    """Which does not end before the test does."""
    has_locked, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with own_connections(), transaction.atomic():
            Lease.objects.select_for_update().get(name=name)
            has_locked.set()
            may_end.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert has_locked.wait(30)
        yield
    finally:
        may_end.set()
        thread.join()


@pytest.mark.only_on("postgresql", "mariadb")
@pytest.mark.parametrize("is_over", [False, True])
def test_does_not_wait_for_a_row_that_somebody_else_has_locked(is_over: bool):
    busy, free = new_lock(), new_lock()
    DatabaseLocker().acquire_many([busy])
    if is_over:
        expire(busy.key)
    with locked_by_another_transaction(f"lock:{busy.key}"):
        answers = DatabaseLocker().acquire_many([new_lock(busy.key), free])
    assert answers == [Refusal(holder=busy.holder), None]


@pytest.mark.only_on("sqlite")
def test_works_in_sqlites_deferred_transactions():
    usual = connection.settings_dict["OPTIONS"]
    connection.close()
    connection.settings_dict["OPTIONS"] = {**usual, "transaction_mode": "DEFERRED"}
    try:
        locker, lock = DatabaseLocker(), new_lock()
        assert locker.acquire_many([lock]) == [None]
        assert locker.release_many([lock]) == [True]
    finally:
        connection.close()
        connection.settings_dict["OPTIONS"] = usual


def test_works_within_a_transaction_of_the_callers():
    lock = new_lock()
    with transaction.atomic():
        assert DatabaseLocker().acquire_many([lock]) == [None]
        assert DatabaseLocker().acquire_many([new_lock(lock.key)]) == [Refusal(holder=lock.holder)]
        assert DatabaseLocker().release_many([lock]) == [True]


def test_says_which_database_cannot_be_used_and_why():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE gocron_lease RENAME TO gocron_lease_away")
    try:
        with pytest.raises(LockerError) as caught:
            DatabaseLocker().acquire_many([new_lock()])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE gocron_lease_away RENAME TO gocron_lease")
    assert caught.value.code == "locker_unavailable"
    assert "'default' cannot be used: " in caught.value.message
    assert "gocron_lease" in caught.value.message


def test_an_unknown_database_is_refused_with_those_that_are_known():
    with pytest.raises(ConfigurationError, match=r"DATABASES \(default\), not 'dfault'") as caught:
        DatabaseLocker(using="dfault")
    assert caught.value.code == "bad_backend"


@pytest.mark.parametrize("options", [{"ttl": 0.9}, {"ttl": "1"}, {"prefix": "A"}, {"prefix": "lock:"}])
def test_refuses_wrong_options(options: dict[str, Any]):
    with pytest.raises(ConfigurationError) as caught:
        DatabaseLocker(**options)
    assert caught.value.field in options


class Router:
    def db_for_write(self, model: type, **hints: Any) -> str:
        return "jobs"


def test_locks_where_jobs_are_written_to():
    with override_settings(DATABASE_ROUTERS=[Router()]):
        assert DatabaseLocker().using == "jobs"
