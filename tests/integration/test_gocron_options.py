"""What users of gocron expect of a job's options, on a clock that the test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_gocron import (
    Cron,
    Daily,
    Every,
    EveryRandom,
    Monthly,
    OneTime,
    Weekly,
    current_run,
    events,
    operations,
    registry,
)
from django_gocron.models import Job
from django_gocron.models.now import database_now
from django_gocron.scheduler import Scheduler
from django_gocron.testing import HandDrivenScheduler
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    plan_at,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard

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


def do(*args: Any) -> None: ...


def ticks(job: Job) -> list[timedelta]:
    """When its runs were due, counted from noon."""
    return [run.scheduled_for - NOON for run in runs_of(job)]


# --- when it runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schedule",
    [
        Cron("CRON_TZ=America/Chicago 0 9 * * *"),
        Cron("0 0 9 * * *"),
        Every(hours=1),
        EveryRandom(HOUR, 2 * HOUR),
        Daily(at="09:00"),
        Weekly(on=["mon"], at="09:00"),
        Monthly(on=[1, -1], at="09:00"),
        OneTime(NOON + HOUR),
    ],
    ids=lambda schedule: type(schedule).__name__,
)
def test_every_kind_of_schedule_can_be_added(scheduler, schedule):
    job = scheduler.add(schedule, do)
    job.refresh_from_db()
    assert job.schedule == schedule
    assert job.next_run() > NOON


def test_a_start_in_the_past_is_a_phase_of_two_weeks():
    start = datetime(2025, 11, 16, 22, 59, tzinfo=UTC)
    with HandDrivenScheduler(now=start + 3 * DAY) as scheduler:
        job = scheduler.add(Every(weeks=2), do, starts_at=start)
        assert scheduler.run_due() == []
        assert job.next_runs(2) == [start + 14 * DAY, start + 28 * DAY]


def test_minutes_do_not_drift_whatever_a_run_takes(scheduler):
    def take_a_while() -> None:
        scheduler.clock.advance(0.7)

    job = scheduler.add(Every(minutes=1), named(take_a_while))
    scheduler.advance(hours=2)
    assert ticks(job) == [number * MINUTE for number in range(1, 121)]


def named(function: Any) -> Any:
    function.__qualname__ = function.__name__
    return function


def test_after_an_update_the_new_interval_holds(scheduler):
    job = scheduler.add(Every(minutes=1), do)
    scheduler.advance(minutes=1)
    scheduler.update(job, schedule=Every(minutes=5))
    scheduler.advance(minutes=10)
    assert ticks(job) == [MINUTE, 5 * MINUTE, 10 * MINUTE]


def test_instants_that_have_passed_finish_the_job_and_nothing_spins(scheduler):
    gone = scheduler.add(OneTime([NOON - DAY, NOON - HOUR]), do, name="gone")
    mixed = scheduler.add(OneTime([NOON + HOUR, NOON - HOUR, NOON + HOUR]), do, name="mixed")
    scheduler.advance(days=1)
    assert (ticks(gone), ticks(mixed)) == ([], [HOUR])
    assert state_of(gone).finished_at is not None
    assert state_of(mixed).finished_at is not None
    assert scheduler._next_instant() is None


@pytest.mark.parametrize(("late", "status"), [(5 * MINUTE, "succeeded"), (15 * MINUTE, "missed")])
def test_a_tick_that_was_missed_runs_within_its_grace_once(late, status):
    job = make_job(schedule=Every(days=1), misfire="skip", misfire_grace=10 * MINUTE)
    engine = HandDriven(ahead=timedelta(0))
    plan_at(job, database_now(DATABASE) - late)
    engine.go_to(database_now(DATABASE)).step()
    engine.step()
    assert [run.status for run in runs_of(job)] == [status]


# --- how long it takes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("skip", ["running", "skipped(overlap)", "skipped(overlap)"]),
        ("queue", ["running", "queued(overlap)", "skipped(queue_full)"]),
        ("allow", ["running", "running", "running"]),
    ],
)
def test_a_task_longer_than_its_interval(overlap, expected):
    job = make_job(schedule=Every(seconds=1), overlap=overlap)
    engine = HandDriven(ahead=timedelta(0))
    tick = database_now(DATABASE)
    plan_at(job, tick)
    for number in range(3):
        engine.go_to(tick + number * SECOND).claim()
        engine.start()
        engine.start()
    assert statuses(job) == expected


def test_an_interval_from_completion_holds_whatever_a_run_takes(scheduler):
    takes = iter([10, 90, 0])

    def take_a_while() -> None:
        scheduler.clock.advance(next(takes, 0))

    job = scheduler.add(Every(minutes=1), named(take_a_while), interval_from_completion=True)
    scheduler.advance(minutes=6)
    runs = runs_of(job)
    assert runs[0].scheduled_for == NOON + MINUTE
    gaps = [after.scheduled_for - before.finished_at for before, after in zip(runs, runs[1:], strict=False)]
    assert gaps == [MINUTE] * (len(runs) - 1)
    assert [run.took for run in runs][:3] == [10 * SECOND, 90 * SECOND, timedelta(0)]


def test_one_time_ticks_during_a_long_run_all_run(scheduler):
    def take_a_while() -> None:
        scheduler.clock.advance(60)

    instants = [NOON + 10 * number * SECOND for number in (1, 2, 3)]
    job = scheduler.add(
        OneTime(instants), named(take_a_while), overlap="queue", max_queued=3, misfire="run_all"
    )
    scheduler.advance(minutes=10)
    assert [(run.scheduled_for, run.status) for run in runs_of(job)] == [(at, "succeeded") for at in instants]


def test_jobs_that_end_together_have_no_stale_next_run(scheduler):
    jobs = [scheduler.add(Every(seconds=10), do, name=f"job {number}") for number in range(4)]
    for _ in range(3):
        scheduler.advance(seconds=10)
        assert {job.next_run() for job in jobs} == {scheduler.now + 10 * SECOND}


# --- how often it runs -----------------------------------------------------------------------------


def test_a_one_time_job_with_every_limit_runs_once():
    with HandDrivenScheduler(now=NOON, limit=1, limit_mode="wait") as scheduler:
        job = scheduler.add(OneTime(NOON + MINUTE), do, max_runs=1, overlap="queue")
        scheduler.advance(minutes=5)
    assert statuses(job) == ["succeeded"]


def look() -> bool:
    run = current_run()
    assert run is not None
    return run.cancelled


def test_the_last_of_limited_runs_is_not_asked_to_end():
    job = operations.add(Every(seconds=0.05), look, max_runs=2)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        succeeded.wait_for(2)
    assert [run.result for run in runs_of(job)] == [False, False]


def test_a_thousand_jobs_are_removed_by_their_tag(scheduler):
    task = registry.register(do).name
    Job.objects.bulk_create(
        [Job(name=f"job {n}", task=task, schedule=Every(hours=1), tags=["many"]) for n in range(1000)]
    )
    kept = scheduler.add(Every(hours=1), do, name="kept")
    assert scheduler.remove_by_tags("many") == 1000
    assert scheduler.jobs() == [kept]
