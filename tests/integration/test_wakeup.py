"""Waking the loop: on PostgreSQL by NOTIFY, everywhere by an event of the process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from django_gocron import Every, events
from django_gocron.engine import wakeup
from django_gocron.engine.scheduler import Scheduler
from django_gocron.engine.wakeup import Listener, Wakeup, notify
from django_gocron.models import Job
from tests.elsewhere import elsewhere
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, make_job
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

ON_POSTGRESQL = pytest.mark.only_on("postgresql")
LONG = 3600.0


class Bell:
    """Counts how often it was rung."""

    def __init__(self) -> None:
        self._rung = 0
        self._changed = threading.Condition()

    def __call__(self) -> None:
        with self._changed:
            self._rung += 1
            self._changed.notify_all()

    def wait_for(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._rung >= number, PATIENCE), self._rung

    @property
    def rung(self) -> int:
        return self._rung


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def listener(bell: Bell) -> Iterator[Listener]:
    listener = Listener(DATABASE, bell)
    listener.start()
    yield listener
    listener.stop()
    listener.join(PATIENCE)
    assert "gocron-listener" not in [thread.name for thread in threading.enumerate()]


def test_a_wake_that_came_before_the_wait_ends_it_at_once():
    wakeup = Wakeup()
    wakeup.wake()
    wakeup.wait(LONG)


def test_a_wake_ends_one_wait_alone():
    wakeup = Wakeup()
    wakeup.wake()
    wakeup.wait(LONG)
    thread = threading.Thread(target=wakeup.wait, args=(LONG,))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    wakeup.wake()
    thread.join(PATIENCE)
    assert not thread.is_alive()


@ON_POSTGRESQL
def test_the_loop_is_woken_once_the_listener_listens(listener, bell):
    bell.wait_for(1)


@ON_POSTGRESQL
def test_a_notification_of_another_connection_wakes(listener, bell):
    bell.wait_for(1)
    elsewhere(lambda: notify(DATABASE))
    bell.wait_for(2)


@ON_POSTGRESQL
def test_a_notification_comes_with_the_commit_and_not_with_a_rollback(listener, bell):
    bell.wait_for(1)
    with transaction.atomic():
        notify(DATABASE)
        transaction.set_rollback(True)
    with transaction.atomic():
        notify(DATABASE)
        notify(DATABASE)
    bell.wait_for(2)
    elsewhere(lambda: notify(DATABASE))
    bell.wait_for(3)
    assert bell.rung == 3


@ON_POSTGRESQL
def test_a_listener_whose_connection_was_killed_listens_again(listener, bell):
    bell.wait_for(1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
        assert cursor.rowcount == 1
    bell.wait_for(2)
    elsewhere(lambda: notify(DATABASE))
    bell.wait_for(3)


@ON_POSTGRESQL
def test_where_notifications_do_not_get_through_it_says_so_and_polls(bell, monkeypatch, caplog):
    """As behind a pooler that shares connections: LISTEN hears nothing and raises nothing."""
    caplog.set_level(logging.INFO, "django_gocron")
    monkeypatch.setattr(psycopg.Connection, "notifies", lambda *args, **kwargs: iter(()))
    listener = Listener(DATABASE, bell)
    listener.start()
    listener.join(PATIENCE)
    assert caplog.messages == ["This database hears no notifications: edits are found by polling."]
    assert bell.rung == 0
    listener.stop()


@pytest.mark.only_on("sqlite", "mariadb")
def test_elsewhere_there_is_no_listener(listener, bell):
    assert "gocron-listener" not in [thread.name for thread in threading.enumerate()]
    notify(DATABASE)
    assert bell.rung == 0


def by_hand(job: Job) -> Any:
    return job.run_now()


def edit(job: Job) -> Any:
    job.schedule = Every(seconds=0.5)
    job.save()


def edit_in_bulk(job: Job) -> Any:
    return Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=0.5))


@ON_POSTGRESQL
@pytest.mark.parametrize("change", [by_hand, edit, edit_in_bulk])
def test_a_change_elsewhere_is_acted_upon_long_before_the_next_poll(change, settings, monkeypatch):
    settings.GOCRON = {"POLL_INTERVAL": LONG}
    job = make_job(schedule=Every(hours=5))
    woken = threading.Event()
    listen = wakeup.Listener._listen

    def note_listening(self: Listener, *args: Any) -> None:
        woken.set()
        listen(self, *args)

    monkeypatch.setattr(wakeup.Listener, "_listen", note_listening)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        assert woken.wait(PATIENCE)
        elsewhere(lambda: change(job))
        succeeded.wait_for(1)
