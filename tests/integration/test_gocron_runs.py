"""What users of gocron expect of runs by hand, of limits, of intervals from completion, and of removals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import django_gocron
from django_gocron import (
    Every,
    EveryRandom,
    Monthly,
    OneTime,
    RunContext,
    operations,
    registry,
)
from django_gocron.models import Job, Run
from django_gocron.models.now import database_now
from django_gocron.testing import HandDrivenScheduler
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    do_nothing,
    make_job,
    next_tick,
    runs_of,
    state_of,
    statuses,
)

pytestmark = REAL_TRANSACTIONS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def _own_registry():
    with registry.isolated(inherit=True):
        yield


@pytest.fixture
def scheduler():
    with HandDrivenScheduler(now=NOON) as scheduler:
        yield scheduler


def ticks(job: Job) -> list[timedelta]:
    """When its runs were due, counted from noon."""
    return [run.scheduled_for - NOON for run in runs_of(job)]


def named(function: Any) -> Any:
    function.__qualname__ = function.__name__
    return function


# --- runs by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", [Every(hours=1), Monthly(on=-1, at="09:00")], ids=["every", "monthly"])
def test_a_run_by_hand_moves_the_last_run_and_not_the_next(scheduler, schedule):
    job = scheduler.add(schedule, do_nothing)
    before = job.next_runs(3)
    scheduler.advance(minutes=1)
    job.run_now()
    scheduler.run_due()
    assert (job.last_run_started_at(), job.next_runs(3)) == (NOON + MINUTE, before)
    assert state_of(job).run_count == 1


def test_a_run_by_hand_of_a_busy_job_waits_and_is_the_last_run_once_it_begins():
    job = make_job(schedule=Every(seconds=10), overlap="skip")
    engine = HandDriven(ahead=timedelta(0)).go_to(next_tick(job))
    engine.claim()
    engine.start()
    [first] = runs_of(job)
    job.run_now()
    engine.clock.advance(1)
    engine.claim()
    assert job.last_run() == first
    engine.execute()
    engine.finish()
    engine.step()
    assert statuses(job) == ["succeeded"] * 2
    assert [job.last_run()] == runs_of(job, origin="manual")


def test_a_one_time_job_that_is_finished_runs_by_hand_and_stays_finished(scheduler):
    job = scheduler.add(OneTime(NOON + MINUTE), do_nothing)
    scheduler.advance(hours=1)
    job.run_now()
    scheduler.run_due()
    assert statuses(job) == ["succeeded"] * 2
    assert job.next_run() is None
    assert state_of(job).finished_at is not None


def test_a_job_with_an_immediate_run_has_its_next_run_an_interval_later(scheduler):
    job = scheduler.add(Every(hours=1), do_nothing, first_run="immediately")
    scheduler.run_due()
    job.run_now()
    scheduler.run_due()
    assert statuses(job) == ["succeeded"] * 2
    assert job.next_run() == NOON + HOUR


def test_limited_runs_by_hand_count_too(scheduler):
    job = scheduler.add(Every(hours=1), do_nothing, max_runs=2)
    job.run_now()
    scheduler.advance(hours=5)
    assert len(runs_of(job)) == 2
    assert job.next_run() is None


def test_the_next_runs_ascend_after_every_run(scheduler):
    job = scheduler.add(Every(minutes=1), do_nothing)
    for number in range(1, 6):
        scheduler.advance(minutes=1)
        assert job.next_runs(4) == [NOON + (number + step) * MINUTE for step in range(1, 5)]


def test_a_resumed_job_does_not_run_at_once(scheduler):
    job = scheduler.add(Every(hours=1), do_nothing)
    job.pause()
    scheduler.advance(hours=3, minutes=30)
    job.resume()
    assert scheduler.run_due() == []
    scheduler.advance(hours=1)
    assert ticks(job) == [4 * HOUR]


# --- limits ----------------------------------------------------------------------------------------


def test_one_time_ticks_run_all_although_the_job_and_the_scheduler_are_at_their_limits():
    start = database_now(DATABASE)
    instants = [start + number * SECOND for number in (1, 2, 3)]
    job = make_job(schedule=OneTime(instants), overlap="queue", max_queued=3, misfire="run_all")
    engine = HandDriven(limit=1, ahead=timedelta(0))
    for instant in instants:
        engine.go_to(instant).claim()
        engine.start()
    assert job.runs.filter(status="running").count() == 1
    for _ in instants:
        engine.execute()
        engine.finish()
        engine.step()
    assert [(run.scheduled_for, run.status) for run in runs_of(job)] == [(at, "succeeded") for at in instants]


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
def test_of_ten_jobs_two_run_at_a_time_and_each_runs_once(overlap):
    tick = database_now(DATABASE) + SECOND
    jobs = [make_job(f"job {number}", schedule=OneTime(tick), overlap=overlap) for number in range(10)]
    engine = HandDriven(limit=2, ahead=timedelta(0)).go_to(tick)
    at_a_time: list[int] = []
    while len(at_a_time) < 5:
        engine.claim()
        at_a_time.append(len(engine.start()))
        engine.execute()
        engine.finish()
    assert at_a_time == [2] * 5
    assert [statuses(job) for job in jobs] == [["succeeded"]] * 10


# --- intervals from completion ---------------------------------------------------------------------


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow"])
def test_from_completion_a_long_run_overlaps_nothing_and_a_whole_interval_follows(scheduler, overlap):
    def take_a_while() -> None:
        scheduler.clock.advance(150)

    job = scheduler.add(Every(minutes=1), named(take_a_while), interval_from_completion=True, overlap=overlap)
    scheduler.advance(minutes=8)
    assert ticks(job) == [MINUTE + number * 210 * SECOND for number in range(3)]
    assert set(statuses(job)) == {"succeeded"}


def test_from_completion_a_random_interval_counts_from_the_end(scheduler):
    def take_a_while() -> None:
        scheduler.clock.advance(600)

    job = scheduler.add(EveryRandom(MINUTE, 2 * MINUTE), named(take_a_while), interval_from_completion=True)
    scheduler.advance(hours=2)
    runs = runs_of(job)
    pauses = [after.scheduled_for - before.finished_at for before, after in zip(runs, runs[1:], strict=False)]
    assert len(pauses) >= 8
    assert all(MINUTE <= pause < 2 * MINUTE for pause in pauses)
    assert len(set(pauses)) > 1


def test_a_failure_counts_as_a_completion_too(scheduler):
    def fail() -> None:
        scheduler.clock.advance(30)
        raise ValueError

    job = scheduler.add(Every(minutes=1), named(fail), interval_from_completion=True)
    scheduler.advance(minutes=4)
    assert ticks(job) == [MINUTE, 150 * SECOND, 240 * SECOND]


# --- removing --------------------------------------------------------------------------------------


def test_a_listener_may_remove_jobs_by_their_tags_before_the_run(scheduler):
    def remove(_run: RunContext) -> None:
        operations.remove_by_tags("mine")

    def task() -> None: ...

    django_gocron.job(listeners={"before_run": remove})(named(task))
    scheduler.add(Every(minutes=1), task, name="removes itself", tags=["mine"])
    scheduler.add(Every(minutes=2), do_nothing, name="removed", tags=["mine"])
    scheduler.add(Every(minutes=2), do_nothing, name="kept")
    scheduler.advance(minutes=4)
    assert [run.job_name for run in Run.objects.order_by("pk")] == ["removes itself", "kept", "kept"]
    assert [job.name for job in scheduler.jobs()] == ["kept"]


@pytest.mark.parametrize("number", [10, 100])
def test_of_many_jobs_each_can_be_removed(number):
    task = registry.register(do_nothing).name
    Job.objects.bulk_create([Job(name=f"job {n}", task=task, tags=["all", f"t{n}"]) for n in range(number)])
    operations.remove("job 0")
    assert operations.remove_by_tags("t1", "all", match="all") == 1
    assert operations.remove_by_tags("all") == number - 2
    assert operations.jobs() == []
