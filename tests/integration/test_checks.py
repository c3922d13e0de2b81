"""The checks that ask the database, and what ``runscheduler`` warns of."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core import checks
from django.core.management import call_command
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

from django_gocron.checks import TAG, sqlite
from django_gocron.management.surroundings import find_warnings
from django_gocron.models import Instance, Job
from django_gocron.models.now import DatabaseNow, database_now
from tests.handdriven import DATABASE, make_job

pytestmark = pytest.mark.django_db

ON_SQLITE = pytest.mark.only_on("sqlite")
RIGHT: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL;",
}


def found() -> list[str | None]:
    return [message.id for message in checks.run_checks(tags=[TAG], databases=[DATABASE])]


# --- SQLite ------------------------------------------------------------------------------------------


@pytest.fixture
def open_sqlite(tmp_path: Path) -> Iterator[Callable[..., BaseDatabaseWrapper]]:
    """Another connection, with these options on a file, or with that name."""
    opened = []

    def connect(name: str = "", **options: Any) -> BaseDatabaseWrapper:
        values = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": name or str(tmp_path / "db"),
            "OPTIONS": options,
        }
        opened.append(ConnectionHandler({"default": values})["default"])
        return opened[-1]

    yield connect
    for one in opened:
        one.inc_thread_sharing()
        BaseDatabaseWrapper.close(one)


def troubles(one: BaseDatabaseWrapper) -> list[str | None]:
    return [message.id for message in sqlite.find_troubles(one)]


@ON_SQLITE
def test_sqlite_as_the_documentation_sets_it_up_is_no_trouble(open_sqlite):
    assert troubles(open_sqlite(**RIGHT)) == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"init_command": "PRAGMA journal_mode=DELETE;"}, ["gocron.W005"]),
        ({"timeout": 4.9}, ["gocron.W006"]),
        ({"init_command": f"{RIGHT['init_command']} PRAGMA busy_timeout=100;"}, ["gocron.W006"]),
        ({"transaction_mode": "DEFERRED"}, ["gocron.W008"]),
        ({"transaction_mode": None}, ["gocron.W008"]),
        ({"transaction_mode": "EXCLUSIVE"}, []),
    ],
    ids=str,
)
def test_each_option_that_locks_people_out_is_reported(open_sqlite, options, expected):
    assert troubles(open_sqlite(**{**RIGHT, **options})) == expected


@ON_SQLITE
def test_sqlite_as_django_sets_it_up_lacks_the_log_and_immediate_transactions(open_sqlite):
    assert troubles(open_sqlite()) == ["gocron.W005", "gocron.W008"]


@ON_SQLITE
@pytest.mark.parametrize("name", [":memory:", "file:shop?mode=memory&cache=shared"])
def test_a_database_in_memory_is_reported(open_sqlite, name):
    assert troubles(open_sqlite(name)) == ["gocron.W007"]


@ON_SQLITE
def test_the_one_that_a_test_runner_makes_in_memory_is_not(open_sqlite):
    assert troubles(open_sqlite("file:memorydb_default?mode=memory&cache=shared")) == []


@ON_SQLITE
def test_check_asks_the_database_only_where_it_is_named(monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", None)
    assert found() == ["gocron.W008"]
    assert checks.run_checks(tags=[TAG], databases=[]) == []
    assert checks.run_checks(tags=[TAG], databases=["another"]) == []


# --- stored zones ------------------------------------------------------------------------------------


def test_stored_zones_that_this_system_knows_are_no_trouble():
    make_job("one", timezone="Europe/Berlin")
    make_job("two")
    assert found() == []


def test_jobs_of_a_zone_that_this_system_does_not_know_are_reported_by_name():
    for number in range(5):
        make_job(f"job {number}")
    Job.objects.update(timezone="Mars/Olympus")
    (message,) = checks.run_checks(tags=[TAG], databases=[DATABASE])
    assert message.id == "gocron.W012"
    assert "'Mars/Olympus'" in message.msg
    assert "'job 0', 'job 1', 'job 2' and 2 more" in message.msg


@pytest.mark.django_db(transaction=True)
def test_before_migrate_there_is_nothing_to_say():
    with connection.schema_editor() as editor:
        editor.execute("ALTER TABLE gocron_job RENAME TO gocron_job_away")
    try:
        assert found() == []
    finally:
        with connection.schema_editor() as editor:
            editor.execute("ALTER TABLE gocron_job_away RENAME TO gocron_job")


# --- at run time -------------------------------------------------------------------------------------


def warnings(*, offset: float = 0.0) -> list[str]:
    scheduler: Any = SimpleNamespace(
        options=SimpleNamespace(using=DATABASE), clock=SimpleNamespace(offset=timedelta(seconds=offset))
    )
    return list(find_warnings(scheduler))


def live_on(host: str, *, lasts: timedelta = timedelta(minutes=1)) -> Instance:
    now = database_now(DATABASE)
    return Instance.objects.create(
        id=uuid.uuid4(),
        name=host,
        host=host,
        started_at=now,
        heartbeat_at=now,
        lease_expires_at=DatabaseNow(lasts),
    )


def test_a_right_host_hears_no_warning():
    live_on("one")
    live_on("one")
    assert warnings(offset=0.9) == []


@pytest.mark.parametrize(("offset", "words"), [(3.21, "3.2 s behind"), (-2.0, "2.0 s ahead of")])
def test_a_clock_that_differs_from_the_databases_is_warned_of(offset, words):
    (line,) = warnings(offset=offset)
    assert line.startswith(f"The clock of this host is {words} the database's.")


@ON_SQLITE
def test_two_hosts_on_one_file_are_warned_of():
    live_on("one")
    live_on("two")
    (line,) = warnings()
    assert line.startswith("Schedulers on 2 hosts share this SQLite file (one, two).")


@ON_SQLITE
def test_a_host_whose_scheduler_is_gone_is_not_counted():
    live_on("one")
    live_on("two", lasts=timedelta(minutes=-1))
    live_on("three")
    Instance.objects.filter(host="three").update(stopped_at=database_now(DATABASE))
    assert warnings() == []


@pytest.mark.only_on("postgresql", "mariadb")
def test_hosts_that_share_a_server_are_not_warned_of():
    live_on("one")
    live_on("two")
    assert warnings() == []


@ON_SQLITE
def test_runscheduler_repeats_what_the_checks_of_sqlite_say_with_one_advice(monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", "DEFERRED")
    trouble, advice = warnings()
    assert trouble.endswith("(gocron.W008)")
    assert advice == sqlite.ADVICE


def test_the_tests_own_database_passes_the_command():
    out = StringIO()
    call_command("check", "--tag", TAG, "--database", DATABASE, stdout=out, stderr=out)
    assert "no issues" in out.getvalue()
