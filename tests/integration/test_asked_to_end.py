"""Timeouts and cancellation under a whole scheduler: real threads, a real event loop, and time that passes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from django_gocron import Every, current_run, events
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Job, Run
from tests.handdriven import REAL_TRANSACTIONS, make_job, runs_of, state_of, statuses
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

NO_TIME = timedelta(0)
SHORT = timedelta(seconds=0.2)

go_on = threading.Event()


@pytest.fixture(autouse=True)
def _quick(settings: Any) -> Iterator[None]:
    settings.GOCRON = {"POLL_INTERVAL": 0.1, "HEARTBEAT": 1, "LEASE": 30}
    go_on.clear()
    yield
    go_on.set()


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(workers=2)
    scheduler.start()
    yield scheduler
    go_on.set()
    scheduler.shutdown(timedelta(seconds=PATIENCE))


def hang() -> str:
    assert go_on.wait(PATIENCE)
    return "at last"


def look() -> None:
    run = current_run()
    assert run is not None
    while True:
        run.raise_if_cancelled()
        time.sleep(0.001)


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def hang_in_a_thread() -> None:
    await sync_to_async(hang)()


async def swallow() -> str:
    while not go_on.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "in my own time"


async def draw_token() -> int:
    run = current_run()
    assert run is not None
    return await run.aget_token()


def begin(task: Any, **values: Any) -> Job:
    """A job of the task, a run of which has begun."""
    job = make_job(task=task, schedule=None, **values)
    with Heard(events.RunStarted) as started:
        job.run_now()
        started.wait_for(1)
    return job


def end_of(kind: type[events.Event], task: Any, **values: Any) -> tuple[Job, Any]:
    """A job of the task, and the event with which its first run has ended."""
    with Heard(kind) as heard:
        job = begin(task, **values)
        [event] = heard.wait_for(1)
    return job, event


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def lock_of(job: Job) -> str | None:
    return Run.objects.get(job=job).held_lock


# Timeouts


def test_a_coroutine_ends_at_its_deadline(scheduler):
    job, event = end_of(events.RunTimedOut, wait_for_ever, timeout=SHORT)
    assert SHORT <= event.took < timedelta(seconds=1)
    assert not event.still_executes
    assert (statuses(job), lock_of(job)) == (["timed_out"], None)


@pytest.mark.parametrize("task", [hang_in_a_thread, swallow])
def test_a_coroutine_that_does_not_end_keeps_its_lock_until_it_does(scheduler, task):
    job, event = end_of(events.RunTimedOut, task, timeout=SHORT)
    assert event.still_executes
    assert event.took >= SHORT + timedelta(seconds=1)
    assert (statuses(job), lock_of(job)) == (["timed_out"], str(job.pk))
    go_on.set()
    assert wait_until(lambda: lock_of(job) is None)


def test_a_function_that_looks_ends_at_its_deadline(scheduler):
    job, event = end_of(events.RunTimedOut, look, timeout=SHORT)
    assert event.took >= SHORT
    assert wait_until(lambda: lock_of(job) is None)
    assert statuses(job) == ["timed_out"]


def test_b52_a_run_that_hangs_is_recorded_and_the_job_goes_on_when_it_has_ended(scheduler):
    """B52"""
    with Heard(events.RunTimedOut, events.RunSkipped, events.RunSucceeded) as heard:
        job = make_job(task=hang, schedule=Every(seconds=0.5), timeout=SHORT)
        timed_out = heard.wait_for(1, where=lambda event: isinstance(event, events.RunTimedOut))[0]
        heard.wait_for(2, where=lambda event: isinstance(event, events.RunSkipped))
        go_on.set()
        heard.wait_for(1, where=lambda event: isinstance(event, events.RunSucceeded))
    assert timed_out.took < timedelta(seconds=5)
    assert statuses(job)[0] == "timed_out"
    assert statuses(job).count("skipped(overlap)") >= 2
    assert state_of(job).failures_in_row == 0


def test_b52_a_coroutine_that_hangs_does_not_keep_the_next_run_from_starting(scheduler):
    """B52"""
    with Heard(events.RunTimedOut) as heard:
        job = make_job(task=wait_for_ever, schedule=Every(seconds=0.5), timeout=SHORT)
        timed_out = heard.wait_for(3)
    assert len({event.scheduled_for for event in timed_out}) == 3
    assert [event.still_executes for event in timed_out] == [False] * 3
    assert statuses(job)[0] == "timed_out"


def test_b53_a_function_in_a_thread_is_marked_and_told_and_the_scheduler_lives(scheduler):
    """B53: the part of threads, which cannot be killed"""
    job, event = end_of(events.RunTimedOut, hang, timeout=SHORT)
    assert event.still_executes
    assert "in hang" in runs_of(job)[0].traceback
    other, _event = end_of(events.RunSucceeded, draw_token, name="other")
    assert statuses(other) == ["succeeded"]


# Cancelling


@pytest.mark.parametrize("task", [wait_for_ever, look])
def test_what_can_end_is_cancelled(scheduler, task):
    job = begin(task)
    [run] = runs_of(job)
    with Heard(events.RunCancelled) as cancelled:
        assert run.cancel(by="anna") == "requested"
        [event] = cancelled.wait_for(1)
    run.refresh_from_db()
    assert (event.reason, run.status, run.held_lock) == ("by_user", "cancelled", None)
    assert run.error_message == "Its cancellation was requested by anna."


@pytest.mark.only_on("postgresql")
def test_a_notification_brings_the_request_at_once(settings):
    settings.GOCRON = {"POLL_INTERVAL": 3600}
    with Scheduler():
        job = begin(wait_for_ever)
        with Heard(events.RunCancelled) as cancelled:
            runs_of(job)[0].cancel()
            cancelled.wait_for(1)


@pytest.mark.parametrize("task", [wait_for_ever, look])
def test_a_stop_cancels_what_can_end(scheduler, task):
    job = begin(task)
    assert scheduler.shutdown(NO_TIME).abandoned == 0
    assert statuses(job) == ["cancelled(shutdown)"]


def test_a_stop_records_nothing_anew_of_what_has_timed_out(scheduler):
    job, _event = end_of(events.RunTimedOut, hang, timeout=SHORT)
    with Heard(events.RunLost) as lost:
        assert scheduler.shutdown(NO_TIME).abandoned == 1
    assert (list(lost), statuses(job), lock_of(job)) == ([], ["timed_out"], None)


# Tokens


def test_a_coroutine_can_draw_a_token(scheduler):
    job, _event = end_of(events.RunSucceeded, draw_token)
    assert [(run.result, run.token) for run in runs_of(job)] == [(1, 1)]
