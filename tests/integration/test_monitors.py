"""Monitors and the engine: every run that ends is told once, as it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from django_gocron import Every, events, job, registry
from django_gocron.backends import Backend
from django_gocron.context import Cause
from django_gocron.engine.recovery import stop_instance
from django_gocron.engine.requeueing import give_back
from django_gocron.engine.scheduler import Scheduler
from django_gocron.exceptions import Cancelled
from django_gocron.lockers.base import Lock
from django_gocron.models import Job, Run
from django_gocron.models.choices import LIVE, Status
from django_gocron.models.now import database_now
from django_gocron.monitors.feed import Feed
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    do_nothing,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    statuses,
)
from tests.lockers import new_server
from tests.monitors import Failing, Recorder

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)
TEN_SECONDS = Every(seconds=10)

inside: list[Callable[[], object]] = []


@pytest.fixture(autouse=True)
def _own_tasks() -> Iterator[None]:
    inside.clear()
    with registry.isolated(inherit=True):
        yield
    inside.clear()


@pytest.fixture
def monitor() -> Iterator[Recorder]:
    """Told of all that happens in this process."""
    recorder = Recorder()
    with Feed([recorder]):
        yield recorder


def act() -> None:
    """What a test has put inside."""
    for one in inside:
        one()


def fail() -> None:
    raise ValueError("no such shop")


def recorded() -> list[tuple[int, str, str]]:
    """The runs that have ended, as their rows have it."""
    ended = Run.objects.exclude(status__in=[*LIVE, Status.MISSED, Status.COALESCED])
    return sorted(ended.values_list("pk", "status", "reason"))


def told(monitor: Recorder) -> list[tuple[int, str, str]]:
    """The runs that have ended, as the monitor was told."""
    return sorted((run.run_id, run.status, run.reason) for run in monitor.told("run_finished"))


def at_tick(*jobs: Job, **options: Any) -> HandDriven:
    """An instance that has claimed the first tick of these jobs, whose instant has come, and has started it."""
    engine = HandDriven(**options).go_to(max(map(next_tick, jobs)))
    engine.claim()
    engine.start()
    return engine


def meet(engine: HandDriven, seconds: float = 10) -> None:
    """So much later, with what is due then."""
    engine.clock.advance(seconds)
    engine.claim()
    engine.start()


def end(engine: HandDriven) -> None:
    engine.execute()
    engine.finish()


# What becomes of a run that executes


def test_a_run_that_succeeds_is_told_from_its_start_to_its_end(monitor: Recorder):
    made = make_job("Sync", schedule=TEN_SECONDS, tags=["shop", "nightly"])
    end(at_tick(made))
    assert statuses(made) == ["succeeded"]
    assert told(monitor) == recorded()
    assert monitor.names == [
        "job_registered",
        "run_started",
        "scheduling_delay",
        "run_executing",
        "run_finished",
        "execution_time",
        "run_completed",
    ]
    for one in [event for _name, event, *_rest in monitor.calls]:
        assert (one.job_id, one.job_name, one.tags) == (made.pk, "Sync", ("shop", "nightly"))


def test_a_run_is_told_with_its_times(monitor: Recorder):
    made = make_job(task=act, schedule=TEN_SECONDS)
    engine = HandDriven().go_to(next_tick(made))
    inside.append(lambda: engine.clock.advance(3))
    engine.claim()
    engine.clock.advance(2)
    engine.start()
    end(engine)
    (run,), (row,) = monitor.told("run_finished"), runs_of(made)
    assert (run.scheduled_for, run.started_at, run.finished_at) == (
        row.scheduled_for,
        row.started_at,
        row.finished_at,
    )
    assert (run.task, run.took) == (row.task, 3 * SECOND)
    assert [delay for _event, delay in monitor.told("scheduling_delay")] == [2 * SECOND]


def test_every_attempt_of_a_run_that_fails_is_told_once(monitor: Recorder):
    made = make_job(task=fail, schedule=TEN_SECONDS, retries=1, retry_delay=SECOND, retry_jitter=0)
    engine = at_tick(made)
    end(engine)
    meet(engine, 1)
    end(engine)
    assert statuses(made) == ["failed(exception)"] * 2
    assert told(monitor) == recorded()
    assert [run.error for run in monitor.told("run_failed")] == ["ValueError: no such shop"] * 2
    assert monitor.told("run_completed") == []


def test_a_run_that_timed_out_and_ended_later_is_told_once(monitor: Recorder):
    made = make_job(task=act, schedule=TEN_SECONDS, timeout=5 * SECOND)
    engine = at_tick(made)

    def time_out() -> None:
        engine.clock.advance(5)
        engine.parts.timeouts.step()
        engine.finish()
        engine.clock.advance(2)

    inside.append(time_out)
    end(engine)
    assert statuses(made) == ["timed_out"]
    assert told(monitor) == recorded()
    assert monitor.told("execution_time") == [(monitor.told("run_failed")[0], 5 * SECOND)]


def test_a_run_that_a_listener_refused_did_not_execute(monitor: Recorder):
    def refuse(run: object) -> None:
        raise PermissionError

    job(listeners={"before_run_skip_on_error": refuse})(act)
    made = make_job(task=act, schedule=TEN_SECONDS)
    end(at_tick(made))
    assert statuses(made) == ["skipped(before_run)"]
    assert told(monitor) == recorded()
    assert monitor.told("run_executing") == monitor.told("execution_time") == []


def test_a_run_that_lets_itself_be_cancelled_is_told_with_its_time(monitor: Recorder):
    made = make_job(task=act, schedule=TEN_SECONDS)
    engine = at_tick(made)
    (entry,) = engine.memory.entries()

    def be_cancelled() -> None:
        entry.cancellation.ask(Cause.BY_USER, "Enough.")
        engine.clock.advance(4)
        raise Cancelled

    inside.append(be_cancelled)
    end(engine)
    assert statuses(made) == ["cancelled(by_user)"]
    assert told(monitor) == recorded()
    assert [took for _run, took in monitor.told("execution_time")] == [4 * SECOND]


# What does not begin


def test_a_tick_that_overlaps_is_told_as_skipped_and_that_its_limit_was_reached(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS, tags=["shop"])
    engine = at_tick(made)
    meet(engine)
    end(engine)
    assert statuses(made) == ["succeeded", "skipped(overlap)"]
    assert told(monitor) == recorded()
    [(limit, run)] = monitor.told("concurrency_limit_reached")
    assert (limit, run.run_id, run.tags) == ("singleton", runs_of(made)[1].pk, ("shop",))


def test_a_tick_beyond_the_schedulers_limit_is_told_as_skipped(monitor: Recorder):
    jobs = [make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(3)]
    tick = max(map(next_tick, jobs)) + 10 * SECOND
    for made in jobs:
        plan_at(made, tick)
    engine = HandDriven(limit=2, drops=True).go_to(tick)
    engine.claim()
    engine.start()
    engine.start()
    end(engine)
    assert sorted(status for made in jobs for status in statuses(made)) == [
        "skipped(limit)",
        "succeeded",
        "succeeded",
    ]
    assert told(monitor) == recorded()
    assert [limit for limit, _run in monitor.told("concurrency_limit_reached")] == ["limit"]


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("queue", ["running", "queued(overlap)", "skipped(queue_full)"]),
        ("queue_latest", ["running", "skipped(superseded)", "queued(overlap)"]),
    ],
)
def test_a_tick_that_waits_is_told_when_it_ends_and_one_without_a_place_at_once(
    monitor: Recorder, overlap: str, expected: list[str]
):
    made = make_job(schedule=TEN_SECONDS, overlap=overlap, tags=["shop"])
    engine = at_tick(made)
    meet(engine)
    assert monitor.told("run_finished") == []
    meet(engine)
    assert statuses(made) == expected
    assert told(monitor) == recorded()
    [(limit, run)] = monitor.told("concurrency_limit_reached")
    assert (limit, run.tags) == ("singleton", ("shop",))


@pytest.mark.parametrize("is_broken", [False, True], ids=["lock_busy", "lock_error"])
def test_a_run_that_was_refused_its_lock_is_told_as_skipped(
    monitor: Recorder, settings: Any, is_broken: bool
):
    server = new_server()
    server.held["job"] = Lock(key="job", holder="elsewhere", token="other"), float("inf")
    server.is_down = is_broken
    settings.GOCRON = {"LOCKERS": {"dict": {"BACKEND": "tests.lockers.DictLocker"}}}
    made = make_job(schedule=TEN_SECONDS, locker="dict")
    locker = Backend(setting="GOCRON['LOCKERS']['dict']", path="tests.lockers.DictLocker")
    engine = at_tick(made, lockers={"dict": locker})
    engine.parts.locks.stop(60)
    assert statuses(made) == ["skipped(lock_error)" if is_broken else "skipped(lock_busy)"]
    assert told(monitor) == recorded()
    assert monitor.told("concurrency_limit_reached") == []


def test_a_tick_later_than_its_deadline_is_told_as_missed(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS, starting_deadline=SECOND, tags=["shop"])
    engine = HandDriven().go_to(next_tick(made))
    engine.claim()
    engine.clock.advance(2)
    engine.start()
    assert statuses(made) == ["missed(deadline)"]
    [event] = monitor.told("ticks_missed")
    assert (event.reason, event.count, event.tags) == ("deadline", 1, ("shop",))
    assert monitor.told("run_finished") == []


def test_ticks_that_were_passed_over_are_told_as_missed(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS, misfire="skip", tags=["shop"])
    engine = HandDriven()
    plan_at(made, engine.now - 300 * SECOND)
    engine.claim()
    (row,) = runs_of(made, status=Status.MISSED)
    [event] = monitor.told("ticks_missed")
    assert (event.reason, event.count, event.tags) == (row.reason, row.count, ("shop",))


def test_a_run_that_is_cancelled_while_it_waits_is_told_where_that_is_done(monitor: Recorder):
    made = make_job(schedule=None)
    made.run_now().cancel()
    assert statuses(made) == ["cancelled(by_user)"]
    assert told(monitor) == recorded()
    assert monitor.told("execution_time") == []


# What an edit ends


def waiting(monitor: Recorder) -> tuple[Job, HandDriven]:
    """A job that runs, and whose next tick waits for that; told so far is nothing that has ended."""
    made = make_job(schedule=TEN_SECONDS, overlap="queue", tags=["shop"])
    engine = at_tick(made)
    meet(engine)
    Run.objects.filter(job=made).update(
        available_at=database_now(DATABASE)
    )  # by the database's clock, too, it was due
    assert statuses(made) == ["running", "queued(overlap)"]
    assert monitor.told("run_finished") == []
    return made, engine


@pytest.mark.parametrize(
    "stop",
    [Job.pause, Job.delete, lambda made: Job.objects.filter(pk=made.pk).update(enabled=False)],
    ids=["paused", "deleted", "disabled"],
)
def test_a_run_that_waits_is_told_as_skipped_when_its_job_is_stopped(
    monitor: Recorder, stop: Callable[[Job], object]
):
    made, _engine = waiting(monitor)
    with transaction.atomic():
        stop(made)
        assert monitor.told("run_finished") == []
    assert told(monitor) == recorded()
    [run] = monitor.told("run_finished")
    assert (run.status, run.reason, run.job_name, run.tags) == ("skipped", "paused", "job", ("shop",))


def test_an_edit_that_ends_no_run_tells_of_none(monitor: Recorder):
    made, _engine = waiting(monitor)
    made.pause()
    made.resume()
    made.pause()
    assert told(monitor) == recorded()
    assert len(told(monitor)) == 1


def test_a_run_that_goes_back_to_a_job_that_was_paused_meanwhile_is_told_as_skipped(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS, tags=["shop"])
    engine = at_tick(made)
    made.pause()
    give_back(DATABASE, engine.memory.entries())
    assert statuses(made) == ["skipped(paused)"]
    assert told(monitor) == recorded()
    assert [run.tags for run in monitor.told("run_finished")] == [("shop",)]


def test_a_tick_that_somebody_leaves_out_is_told_as_skipped(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS, tags=["shop"])
    made.skip_next()
    assert statuses(made) == ["skipped(by_user)"]
    assert told(monitor) == recorded()


# What others judge


def test_a_run_whose_instance_died_is_told_by_the_one_that_finds_it(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS, tags=["shop"], on_lost="retry")
    dead = at_tick(made)
    dead.expire()
    with Feed([reaper := Recorder()]):
        HandDriven().recovery.reap()
    assert told(reaper) == recorded()
    [run] = reaper.told("run_failed")
    assert (run.status, run.took, run.tags) == ("lost", None, ("shop",))


def test_a_run_that_is_abandoned_at_the_stop_is_told_as_lost(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS)
    engine = at_tick(made)
    for fact in stop_instance(DATABASE, engine.lease.instance_id, engine.now):
        events.publish(fact)
    end(engine)
    assert statuses(made) == ["lost(shutdown)"]
    assert told(monitor) == recorded()


def test_what_goes_back_to_the_queue_has_not_ended(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS)
    engine = HandDriven().go_to(next_tick(made))
    engine.claim()
    stop_instance(DATABASE, engine.lease.instance_id, engine.now)
    assert monitor.told("run_finished") == []
    other = HandDriven().go_to(engine.now)
    other.step()
    assert statuses(made) == ["succeeded"]
    assert told(monitor) == recorded()


# Everything together


def test_a_monitor_that_fails_keeps_no_run_from_its_end(monitor: Recorder):
    made = make_job(schedule=TEN_SECONDS)
    with Feed([Failing()]):
        end(at_tick(made))
    assert statuses(made) == ["succeeded"]
    assert told(monitor) == recorded()


# A scheduler


def test_a_scheduler_tells_its_monitors_from_its_start_to_its_shutdown():
    monitor = Recorder()
    scheduler = Scheduler(monitors=[monitor])
    make_job("before")
    scheduler.start()
    scheduler.stop_jobs()
    scheduler.start()
    scheduler.shutdown()
    make_job("after")
    life = ["scheduler_started", "scheduler_stopped"]
    assert monitor.names == [*life, *life, "scheduler_shutdown"]


def test_a_scheduler_that_was_never_started_tells_nothing():
    monitor = Recorder()
    Scheduler(monitors=[monitor]).shutdown()
    assert monitor.calls == []


def test_two_schedulers_in_one_process_both_tell_of_everything():
    first, second = Recorder(), Recorder()
    with Scheduler(monitors=[first], name="first"), Scheduler(monitors=[second], name="second"):
        make_job("job", schedule=None)
    assert len(first.told("job_registered")) == len(second.told("job_registered")) == 1
    assert [event.name for event in first.told("scheduler_started")] == ["first", "second"]


def test_jobs_that_come_and_go_are_told_once_that_is_committed():
    with Scheduler(monitors=[monitor := Recorder()]):
        with transaction.atomic():
            made = make_job("job", task=do_nothing, schedule=None)
            assert monitor.told("job_registered") == []
        made.delete()
    assert [event.job_name for event in monitor.told("job_registered")] == ["job"]
    assert [event.job_name for event in monitor.told("job_unregistered")] == ["job"]
