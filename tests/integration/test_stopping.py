"""The stop: nothing is lost that need not be, and it always ends."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest.mock import Mock, patch

import pytest
from django.db import OperationalError

from django_gocron import Every, events
from django_gocron.engine import scheduler as scheduler_module
from django_gocron.engine import stopping
from django_gocron.engine.scheduler import Scheduler
from django_gocron.engine.stopping import NOTHING_TO_STOP, Stop, StopReport
from django_gocron.models import Instance, Job, Run
from tests.elsewhere import elsewhere
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of, statuses
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

NO_TIME = timedelta(0)
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _quick(settings):
    settings.GOCRON = {"POLL_INTERVAL": 0.1, "HEARTBEAT": 1, "LEASE": 30}


go_on = threading.Event()


@pytest.fixture(autouse=True)
def _let_go():
    go_on.clear()
    yield
    go_on.set()


def wait_until_told() -> str:
    assert go_on.wait(PATIENCE)
    return "told"


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


def running(task: Any) -> tuple[Scheduler, Job]:
    """A scheduler that runs a job of the task at this moment."""
    job = make_job(task=task, schedule=None)
    scheduler = Scheduler()
    with Heard(events.RunStarted) as started:
        scheduler.start()
        job.run_now()
        started.wait_for(1)
    return scheduler, job


def shut_down_elsewhere(scheduler: Scheduler, timeout: timedelta) -> Future[StopReport]:
    """The stop in a thread of its own; answered once it has been announced."""
    pool = ThreadPoolExecutor(1)
    with Heard(events.SchedulerStopping) as stopping:
        future = pool.submit(elsewhere, lambda: scheduler.shutdown(timeout))
        stopping.wait_for(1)
    pool.shutdown(wait=False)
    return future


def engine_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("gocron-")]


def test_a_stop_waits_for_what_runs():
    scheduler, job = running(wait_until_told)
    stopped = shut_down_elsewhere(scheduler, MINUTE)
    assert not stopped.done()
    go_on.set()
    assert stopped.result(PATIENCE).abandoned == 0
    assert statuses(job) == ["succeeded"]


def test_what_was_claimed_and_has_not_begun_goes_back_to_the_queue():
    job = make_job(schedule=Every(seconds=0.9))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        succeeded.wait_for(1)
    unbegun = [run for run in runs_of(job) if run.status != "succeeded"]
    assert {(run.status, run.reason, run.instance_id) for run in unbegun} <= {("queued", "given_back", None)}


def test_coroutines_are_cancelled_when_the_time_is_over():
    scheduler, job = running(wait_for_ever)
    assert scheduler.shutdown(NO_TIME).abandoned == 0
    assert statuses(job) == ["cancelled(shutdown)"]


def test_what_still_executes_is_recorded_as_lost_and_its_lock_freed():
    scheduler, job = running(wait_until_told)
    with Heard(events.RunLost, events.SchedulerStopped) as heard:
        assert scheduler.shutdown(NO_TIME).abandoned == 1
    [run] = runs_of(job)
    assert (run.status, run.reason, run.held_lock) == ("lost", "shutdown", None)
    lost, stopped = heard
    assert (lost.run_id, stopped.abandoned) == (run.pk, 1)


def test_a_second_request_ends_the_waiting(monkeypatch):
    monkeypatch.setattr(scheduler_module, "ONE_PRESS", 0.0)
    scheduler, job = running(wait_until_told)
    scheduler.request_stop()
    assert scheduler.wait(0)
    stopped = shut_down_elsewhere(scheduler, timedelta(hours=1))
    scheduler.request_stop()
    assert stopped.result(PATIENCE).abandoned == 1
    assert statuses(job) == ["lost(shutdown)"]


def test_two_requests_within_one_press_of_a_key_are_one():
    scheduler, _job = running(wait_until_told)
    scheduler.request_stop()
    scheduler.request_stop()
    stopped = shut_down_elsewhere(scheduler, MINUTE)
    go_on.set()
    assert stopped.result(PATIENCE).abandoned == 0


def test_the_row_of_the_instance_says_that_it_has_stopped():
    with Scheduler(name="left"):
        assert Instance.objects.get(name="left").stopped_at is None
    assert Instance.objects.get(name="left").stopped_at is not None


def test_every_thread_ends():
    with Scheduler():
        assert {"gocron-loop", "gocron-timer", "gocron-writer", "gocron-heartbeat"} <= set(engine_threads())
    assert engine_threads() == []


def test_it_ends_also_while_the_database_is_away(caplog):
    scheduler, job = running(wait_until_told)
    gone = OperationalError("could not connect to server")
    with (
        patch.object(stopping, "hand_over", side_effect=gone),
        patch.object(stopping, "stop_instance", side_effect=gone),
    ):
        assert scheduler.shutdown(NO_TIME).abandoned == 1
    assert "The stop could not be recorded (could not connect to server)" in caplog.text
    assert statuses(job) == ["running"]


def test_the_stop_is_announced_with_what_it_waits_for():
    with Heard(events.SchedulerStopping) as heard:
        scheduler, _job = running(wait_until_told)
        scheduler.shutdown(NO_TIME)
    assert [(event.active, event.timeout) for event in heard] == [(1, NO_TIME)]


# --- by hand ---------------------------------------------------------------------------------------


def stop_of(engine: HandDriven) -> Stop:
    threads = [Mock() for _ in range(4)]
    for thread, name in zip(threads, ("loop", "timer", "writer", "heartbeat"), strict=True):
        thread.name, thread.is_alive = name, False
    return Stop(engine.parts, threads, Mock())


def test_what_was_started_and_has_not_begun_goes_back_to_the_queue_too():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    [work] = engine.start()
    stop = stop_of(engine)
    stop.hurry()
    assert stop.run(NO_TIME) == NOTHING_TO_STOP
    [run] = runs_of(job)
    assert (run.status, run.reason, run.held_lock, run.started_at) == ("queued", "given_back", None, None)
    assert work.begin() is False


def test_what_has_ended_is_written_whatever_the_hurry():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    engine.execute()
    stop = stop_of(engine)
    stop.hurry()
    assert stop.run(MINUTE) == NOTHING_TO_STOP
    assert statuses(job) == ["succeeded"]


def test_what_goes_back_is_claimed_by_another_instance_at_once():
    job = make_job(schedule=Every(seconds=10))
    engine, other = HandDriven().go_to(next_tick(job)), HandDriven(name="other")
    engine.claim()
    stop_of(engine).run(NO_TIME)
    assert [entry.job_id for entry in other.go_to(engine.now).claim()] == [job.pk]
    assert Run.objects.count() == 1


def test_what_is_held_is_given_back_before_what_runs_is_waited_for():
    scheduler, job = running(wait_until_told)
    waiting = make_job("waiting", schedule=None).run_now()
    Run.objects.filter(pk=waiting.pk).update(available_at=waiting.available_at + timedelta(seconds=0.9))
    with patch.object(scheduler.parts.timer, "tick", lambda: None):
        while not scheduler.parts.memory.held():
            scheduler.parts.wakeup.wake()
            scheduler.parts.memory.wait(scheduler.parts.memory.generation, 0.05)
        stopped = shut_down_elsewhere(scheduler, MINUTE)
        waiting.refresh_from_db()
        assert (waiting.status, waiting.instance) == ("queued", None)
        assert statuses(job) == ["running"]
    go_on.set()
    assert stopped.result(PATIENCE).abandoned == 0
