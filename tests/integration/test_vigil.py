"""An instance whose own threads hang does not keep its lease, and ends."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from unittest.mock import Mock, patch

import pytest
from django.db import OperationalError

from django_gocron import events
from django_gocron.engine import heartbeat, threads, vigil
from django_gocron.engine.database import stamped_at
from django_gocron.engine.lease import Lease
from django_gocron.engine.scheduler import Scheduler
from django_gocron.engine.threads import EngineThread
from django_gocron.models import Instance
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS


class Watched:
    """A thread that is at work, or not, or again after being woken."""

    def __init__(self, name: str, *, stalls: bool, comes_back: bool = False) -> None:
        self.name, self._stalls, self._comes_back = name, stalls, comes_back

    def has_stalled(self, seconds: float) -> bool:
        return self._stalls

    def wake(self) -> None:
        self._stalls = not self._comes_back


@pytest.fixture(autouse=True)
def a_moment_is_short():
    with patch.object(vigil, "MOMENT", 0.1):
        yield


def test_the_lease_is_not_renewed_while_a_thread_hangs():
    engine = HandDriven()
    engine.parts.vigil.watch([Watched("loop", stalls=True), Watched("timer", stalls=False)])
    before = engine.row.lease_expires_at
    with Heard(events.EngineStalled) as heard:
        engine.parts.heartbeat.beat()
    assert engine.row.lease_expires_at == before
    assert [(event.threads, event.is_hopeless) for event in heard] == [(("loop",), False)]
    assert not engine.parts.heartbeat.may_reap


def test_a_process_that_was_frozen_as_a_whole_is_given_a_moment():
    engine = HandDriven()
    engine.parts.vigil.watch([Watched("loop", stalls=True, comes_back=True)])
    before = engine.row.lease_expires_at
    engine.parts.heartbeat.beat()
    assert engine.row.lease_expires_at > before


def test_it_is_hopeless_a_lease_later():
    engine = HandDriven()
    engine.parts.vigil.watch([Watched("writer", stalls=True)])
    engine.parts.heartbeat.beat()
    engine.clock.advance(290)
    engine.parts.heartbeat.beat()
    assert not engine.parts.heartbeat.is_hopeless
    engine.clock.advance(10)
    engine.parts.heartbeat.beat()
    assert engine.parts.heartbeat.is_hopeless


def test_the_time_in_which_the_database_is_away_does_not_count():
    engine = HandDriven()
    engine.parts.vigil.watch([Watched("writer", stalls=True)])
    engine.parts.heartbeat.beat()
    engine.clock.advance(600)
    with patch.object(heartbeat, "measure", side_effect=OperationalError("gone")), suppress(OperationalError):
        engine.parts.heartbeat.beat()
    engine.parts.heartbeat.beat()
    assert not engine.parts.heartbeat.is_hopeless


def test_a_thread_that_backs_off_shows_that_it_is_there():
    thread = EngineThread("any", DATABASE, Mock(), Mock(), Mock())
    now = [100.0]
    thread._stopping = Mock()
    thread._stopping.wait = lambda seconds: now.__setitem__(0, now[0] + seconds)
    with patch.object(threads, "boottime", lambda: now[0]), patch.object(threads, "stamp") as stamp:
        thread._back_off(5.0)
    assert (now[0], stamp.call_count) == (105.0, 5.0 / threads.STAMP_PERIOD)


def test_threads_that_work_are_seen_at_work_and_one_that_hangs_is_not():
    scheduler = Scheduler()
    hang, hanging = threading.Event(), threading.Event()

    def step() -> None:
        hanging.set()
        hang.wait(PATIENCE)

    def seen_at(name: str) -> float:
        [ident] = [thread.ident for thread in threading.enumerate() if thread.name == f"gocron-{name}"]
        seen = stamped_at(ident)
        assert seen is not None
        return seen

    with scheduler:
        timer = next(thread for thread in scheduler._life.threads if thread.name == "timer")
        timer._step = step
        timer.wake()
        assert hanging.wait(PATIENCE)
        hung_at = seen_at("timer")
        while seen_at("loop") <= hung_at:
            scheduler.parts.wakeup.wake()
        assert seen_at("timer") == hung_at
        assert timer.has_stalled(0.0)
        hang.set()


def test_a_scheduler_with_a_thread_that_hangs_asks_to_be_stopped_and_says_that_it_failed():
    scheduler = Scheduler(stop_timeout=timedelta(0))
    scheduler.parts.vigil.watch([Watched("loop", stalls=True)])
    with patch.object(Lease, "seconds", 0.0):  # as if a lease had passed
        scheduler.start()
        try:
            assert scheduler.wait(PATIENCE)
            assert scheduler.has_failed
        finally:
            scheduler.shutdown()
    assert Instance.objects.get().stopped_at is not None
