"""Stopping a scheduler's jobs and starting it again, and what a stop reports."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError

from django_gocron import Every, current_run, events
from django_gocron.clock import SystemClock
from django_gocron.engine.lease import Lease
from django_gocron.engine.stopping import StopOutcome, StopReport
from django_gocron.engine.threads import EngineThread
from django_gocron.exceptions import ConfigurationError, OperationError, StopTimedOutError
from django_gocron.executors.threads import ThreadExecutor
from django_gocron.models import Instance
from django_gocron.models.now import database_now
from django_gocron.monitors.base import Monitor
from django_gocron.scheduler import Scheduler
from tests.elsewhere import elsewhere
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, make_job, runs_of, state_of, statuses
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

NO_TIME = timedelta(0)
QUICK = Every(seconds=0.05)

go_on = threading.Event()


@pytest.fixture(autouse=True)
def _let_go():
    go_on.clear()
    yield
    go_on.set()


def wait_until_told() -> None:
    assert go_on.wait(PATIENCE)


def look() -> None:
    """Ends when it is asked to."""
    run = current_run()
    assert run is not None
    while not go_on.wait(0.01):
        run.raise_if_cancelled()


# --- again and again -------------------------------------------------------------------------------


def test_stopped_jobs_go_on_after_another_start():
    job = make_job(schedule=QUICK)
    with Heard(events.RunSucceeded) as succeeded, Scheduler() as scheduler:
        succeeded.wait_for(2)
        scheduler.stop_jobs()
        before = len(runs_of(job))
        assert not any(status == "claimed" for status in statuses(job))
        scheduler.start()
        succeeded.wait_for(before + 2)
    assert state_of(job).anchor_at is not None
    ticks = [run.scheduled_for - state_of(job).anchor_at for run in runs_of(job)]
    assert all(tick % timedelta(milliseconds=50) == NO_TIME for tick in ticks)


def test_nothing_runs_while_its_jobs_are_stopped():
    job = make_job(schedule=None)
    with Scheduler() as scheduler:
        scheduler.stop_jobs()
        job.run_now()
        assert not [name for name in thread_names() if name.startswith("gocron-")]
    assert statuses(job) == ["queued(manual)"]


def thread_names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_each_start_is_an_instance_of_its_own_and_says_so():
    with Heard(events.SchedulerStarted) as started, Scheduler(name="again") as scheduler:
        scheduler.stop_jobs()
        scheduler.start()
    assert len({event.instance for event in started}) == len(started) == 2
    assert Instance.objects.filter(name="again", stopped_at__isnull=False).count() == 2


def test_starts_and_stops_leave_nothing_behind():
    scheduler = Scheduler(limit=2)
    for _ in range(10):
        scheduler.start()
        scheduler.stop_jobs()
    scheduler.shutdown()
    assert not [name for name in thread_names() if name.startswith("gocron-")]


def test_a_limit_holds_after_another_start():
    jobs = [make_job(f"job {number}", task=wait_until_told, schedule=None) for number in range(3)]
    with Heard(events.RunStarted, events.RunSucceeded) as heard, Scheduler(limit=2) as scheduler:
        scheduler.stop_jobs()
        scheduler.start()
        for job in jobs:
            job.run_now()
        heard.wait_for(2, where=lambda event: isinstance(event, events.RunStarted))
        assert sorted(status for job in jobs for status in statuses(job))[-2:] == ["running"] * 2
        go_on.set()
        heard.wait_for(3, where=lambda event: isinstance(event, events.RunSucceeded))


def test_stopping_what_does_not_run_does_nothing():
    scheduler = Scheduler()
    assert scheduler.stop_jobs() == StopReport()
    with scheduler:
        scheduler.stop_jobs()
        assert scheduler.stop_jobs() == StopReport()


# --- shutting down ---------------------------------------------------------------------------------


def test_a_second_shutdown_answers_what_the_first_did():
    job = make_job(task=wait_until_told, schedule=None)
    with Heard(events.RunStarted) as started, Heard(events.SchedulerShutdown) as shut_down:
        scheduler = Scheduler()
        scheduler.start()
        job.run_now()
        started.wait_for(1)
        first = scheduler.shutdown(NO_TIME)
        assert scheduler.shutdown() == scheduler.stop_jobs() == first
    assert first == StopReport(outcome=StopOutcome.JOBS_TIMED_OUT, abandoned=1)
    assert len(shut_down) == 1


def test_shutdowns_at_the_same_time_are_one():
    job = make_job(task=wait_until_told, schedule=None)
    scheduler = Scheduler()
    with Heard(events.RunStarted) as started, Heard(events.SchedulerStopping) as stopping:
        scheduler.start()
        job.run_now()
        started.wait_for(1)
        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(elsewhere, scheduler.shutdown) for _ in range(3)]
            stopping.wait_for(1)
            go_on.set()
            assert {future.result(PATIENCE) for future in futures} == {StopReport()}
    assert len(stopping) == 1


def test_one_that_was_never_started_tells_nobody_that_it_is_shut_down():
    with Heard(events.SchedulerShutdown, events.SchedulerStopped) as heard:
        assert Scheduler().shutdown() == StopReport()
    assert not list(heard)


@pytest.mark.parametrize("call", ["shutdown", "stop_jobs"])
def test_a_task_cannot_stop_the_scheduler_that_runs_it_but_ask_for_it(call):
    scheduler = Scheduler()
    caught: list[OperationError] = []

    def stop() -> None:
        try:
            getattr(scheduler, call)()
        except OperationError as error:
            caught.append(error)
            scheduler.request_stop()

    with patch(f"{__name__}.wait_until_told", stop):
        job = make_job(task=ask_to_stop, schedule=None)
        with scheduler:
            job.run_now()
            assert scheduler.wait(PATIENCE)
    assert [error.code for error in caught] == ["stops_itself"]
    assert statuses(job) == ["succeeded"]


def ask_to_stop() -> None:
    wait_until_told()


@pytest.mark.parametrize("timeout", [-1, "soon"])
def test_a_timeout_that_is_none_is_refused_and_the_scheduler_goes_on(timeout: Any):
    with Scheduler() as scheduler:
        with pytest.raises(Exception, match="timeout must be"):
            scheduler.stop_jobs(timeout)
        assert scheduler.parts.lease.is_trusted


# --- reports ---------------------------------------------------------------------------------------


def test_all_has_ended_when_what_runs_ends_in_time():
    job = make_job(task=look, schedule=None)
    with Heard(events.RunStarted) as started:
        scheduler = Scheduler()
        scheduler.start()
        job.run_now()
        started.wait_for(1)
    report = scheduler.shutdown(NO_TIME)
    assert report == StopReport(outcome=StopOutcome.ENDED, abandoned=0)
    report.raise_if_timed_out()
    assert statuses(job) == ["cancelled(shutdown)"]


def test_a_task_that_does_not_end_is_told_apart():
    job = make_job(task=wait_until_told, schedule=None)
    with Heard(events.RunStarted) as started:
        scheduler = Scheduler()
        scheduler.start()
        job.run_now()
        started.wait_for(1)
    refuses_as(scheduler.shutdown(NO_TIME), StopOutcome.JOBS_TIMED_OUT, "stop_jobs_timed_out")
    assert statuses(job) == ["lost(shutdown)"]


def test_an_executor_that_does_not_end_is_told_apart():
    stop = ThreadExecutor.stop
    with patch.object(ThreadExecutor, "stop", lambda *args: stop(*args) and False), Scheduler() as scheduler:
        report = scheduler.shutdown()
    refuses_as(report, StopOutcome.EXECUTOR_TIMED_OUT, "stop_executor_timed_out")


def test_a_thread_of_the_engine_that_does_not_end_is_told_apart():
    scheduler = Scheduler()
    scheduler.start()
    with patch.object(EngineThread, "is_alive", True):
        report = scheduler.shutdown()
    refuses_as(report, StopOutcome.SCHEDULER_TIMED_OUT, "stop_scheduler_timed_out")


def refuses_as(report: StopReport, outcome: StopOutcome, code: str) -> None:
    assert report.outcome is outcome
    with pytest.raises(StopTimedOutError) as caught:
        report.raise_if_timed_out()
    assert caught.value.code == code


# --- who hears -------------------------------------------------------------------------------------


def test_a_logger_of_its_own_is_told_from_the_start_to_the_shutdown():
    own, lines = logging.getLogger("tests.own"), []
    own.setLevel(logging.INFO)
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    own.addHandler(handler)
    try:
        with Scheduler(name="heard", logger=own):
            pass
        with Scheduler(name="not heard"):
            pass
    finally:
        own.removeHandler(handler)
    said = [" ".join(line.split()[:2]) for line in lines]
    assert said == ["scheduler started", "scheduler stopping", "scheduler stopped"]
    assert not any("not heard" in line for line in lines)


# --- a clock of its own ----------------------------------------------------------------------------


class AnHourAhead(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


def test_a_clock_of_its_own_is_what_a_scheduler_goes_by():
    job = make_job(schedule=Every(hours=1))
    with Heard(events.RunSucceeded) as succeeded, Scheduler(clock=AnHourAhead()):
        [event] = succeeded.wait_for(1)
    [run] = runs_of(job)[:1]
    assert run.scheduled_for > database_now(DATABASE)
    assert run.started_at is not None
    assert run.scheduled_for <= run.started_at <= event.at


# --- from within -----------------------------------------------------------------------------------


class Stopper(Monitor):
    """Tries to shut its scheduler down, whenever it is told something."""

    def __init__(self) -> None:
        self.scheduler: Scheduler | None = None
        self.codes: set[str] = set()

    def _stop(self, _event: Any, *_args: Any) -> None:
        assert self.scheduler is not None
        try:
            self.scheduler.shutdown()
        except OperationError as error:
            self.codes.add(error.code)

    scheduler_started = scheduler_stopped = run_started = run_finished = _stop


def test_a_monitor_cannot_wait_for_the_end_of_its_scheduler():
    job, monitor = make_job(schedule=None), Stopper()
    monitor.scheduler = Scheduler(monitors=[monitor])
    with Heard(events.RunSucceeded) as succeeded, monitor.scheduler:
        job.run_now()
        succeeded.wait_for(1)
    assert monitor.codes == {"stops_itself"}
    assert statuses(job) == ["succeeded"]


def test_a_start_that_fails_leaves_nobody_who_hears():
    before = len(events._receivers)
    scheduler = Scheduler(monitors=[Monitor()])
    with patch.object(Lease, "register", side_effect=OperationalError("away")):
        for _ in range(2):
            with pytest.raises(OperationalError):
                scheduler.start()
    assert len(events._receivers) == before
    with scheduler:
        assert scheduler.parts.lease.is_trusted
    assert len(events._receivers) == before


def test_a_request_to_stop_ends_with_the_stop():
    job = make_job(schedule=None)
    with Heard(events.RunSucceeded) as succeeded, Scheduler() as scheduler:
        scheduler.request_stop()
        assert scheduler.wait(0)
        scheduler.stop_jobs()
        scheduler.start()
        assert not scheduler.wait(0)
        job.run_now()
        succeeded.wait_for(1)


@pytest.mark.parametrize(
    "arguments", [{"labels": "slow"}, {"labels": [1]}, {"ahead": "soon"}, {"ahead": -1}], ids=str
)
def test_labels_and_the_time_ahead_are_refused_by_name_too(arguments: dict[str, Any]):
    with pytest.raises(ConfigurationError) as caught:
        Scheduler(**arguments)
    assert caught.value.field == next(iter(arguments))
