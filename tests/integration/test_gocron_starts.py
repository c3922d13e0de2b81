"""What users of gocron expect of where a job begins and ends, on a clock that the test moves."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron import Daily, Every, OneTime, Weekly, operations, registry
from django_gocron.exceptions import JobNotFoundError
from django_gocron.models import Job
from django_gocron.testing import HandDrivenScheduler
from tests.handdriven import REAL_TRANSACTIONS, runs_of, state_of, statuses

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


# --- where it begins -------------------------------------------------------------------------------


def test_every_second_week_counts_from_the_week_of_the_start():
    """30 December 2023 is a Saturday, so the Sunday after it is in the week that is passed over."""
    start = datetime(2023, 12, 30, tzinfo=UTC)
    with HandDrivenScheduler(now=start) as scheduler:
        job = scheduler.add(Weekly(on="sun", at="10:00", every=2), do, starts_at=start, timezone="UTC")
        assert job.next_runs(3) == [datetime(2024, 1, day, 10, tzinfo=UTC) for day in (7, 21)] + [
            datetime(2024, 2, 4, 10, tzinfo=UTC)
        ]


def test_after_an_immediate_run_the_weeks_go_on_as_they_were(scheduler):
    schedule = Weekly(on="wed", at="10:00", every=2)
    plain = scheduler.add(schedule, do, name="plain")
    job = scheduler.add(schedule, do, name="immediate", first_run="immediately")
    scheduler.run_due()
    assert ticks(job) == [timedelta(0)]
    assert job.next_runs(3) == plain.next_runs(3)
    first, second, third = job.next_runs(3)
    assert third - second == second - first == 14 * DAY


def test_a_start_to_come_is_the_first_tick_where_that_is_asked_for(scheduler):
    job = scheduler.add(Every(hours=1), do, starts_at=NOON + 100 * SECOND, first_run="at_starts_at")
    scheduler.advance(hours=2, seconds=100)
    assert ticks(job) == [100 * SECOND + number * HOUR for number in range(3)]


def test_a_start_that_has_passed_before_the_scheduler_starts_runs_nothing_at_once():
    job = operations.add(Every(hours=1), do, starts_at=NOON - 90 * MINUTE, first_run="at_starts_at")
    with HandDrivenScheduler(now=NOON) as scheduler:
        assert scheduler.run_due() == []
        scheduler.advance(hours=1)
    assert ticks(job) == [30 * MINUTE]


def test_the_next_run_is_in_the_row_before_a_scheduler_starts_and_does_not_move_when_it_does():
    job = operations.add(Daily(at="09:00"), do, timezone="UTC")
    before = job.next_run()
    with HandDrivenScheduler() as scheduler:
        scheduler.run_due()
        assert job.next_run() == before is not None


# --- instants --------------------------------------------------------------------------------------


def test_instants_run_in_order_and_each_once_and_the_job_tells_of_the_last_and_the_next(scheduler):
    instants = [NOON + 3 * HOUR, NOON + HOUR, NOON - HOUR, NOON + HOUR]
    job = scheduler.add(OneTime(instants), do)
    assert (job.last_run_started_at(), job.next_run()) == (None, NOON + HOUR)
    scheduler.advance(hours=1)
    assert (job.last_run_started_at(), job.next_run()) == (NOON + HOUR, NOON + 3 * HOUR)
    scheduler.advance(hours=2)
    assert (job.last_run_started_at(), job.next_run()) == (NOON + 3 * HOUR, None)
    scheduler.advance(days=1)
    assert ticks(job) == [HOUR, 3 * HOUR]
    assert state_of(job).finished_at == NOON + 3 * HOUR


def test_the_instant_of_now_counts_as_passed_and_the_next_microsecond_does_not(scheduler):
    job = scheduler.add(OneTime([NOON, NOON + timedelta(microseconds=1)]), do)
    scheduler.advance(hours=1)
    assert ticks(job) == [timedelta(microseconds=1)]


def test_a_job_without_a_schedule_runs_now_when_it_is_told_to(scheduler):
    job = scheduler.add(None, do)
    job.run_now()
    scheduler.run_due()
    assert [(run.status, run.started_at) for run in runs_of(job)] == [("succeeded", NOON)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"misfire": "skip", "misfire_grace": 10 * MINUTE}, ["succeeded"]),
        ({"misfire": "skip", "misfire_grace": 4 * MINUTE}, ["missed(grace)"]),
        ({"misfire": "skip", "misfire_grace": 10 * MINUTE, "ends_at": NOON + MINUTE}, ["succeeded"]),
        ({}, ["succeeded"]),
    ],
    ids=["within the grace", "beyond it", "at an end that has passed meanwhile", "by default"],
)
def test_an_instant_that_was_missed_while_nobody_was_there_follows_its_grace(scheduler, options, expected):
    job = scheduler.add(OneTime(NOON + MINUTE), do, **options)
    scheduler.clock.advance(6 * MINUTE)
    scheduler.run_due()
    scheduler.advance(hours=1)
    assert statuses(job) == expected


def test_a_recurring_job_that_missed_many_ticks_runs_one_within_the_grace(scheduler):
    job = scheduler.add(Every(minutes=10), do, misfire="skip", misfire_grace=5 * MINUTE)
    scheduler.clock.advance(64 * MINUTE)
    scheduler.run_due()
    assert statuses(job) == ["missed(grace)", "succeeded"]
    assert ticks(job)[-1] == HOUR


# --- where it ends ---------------------------------------------------------------------------------


def test_no_run_comes_after_the_end_and_the_job_is_finished_then(scheduler):
    job = scheduler.add(Every(minutes=1), do, ends_at=NOON + 2.5 * MINUTE)
    assert job.next_runs(5) == [NOON + MINUTE, NOON + 2 * MINUTE]
    scheduler.advance(minutes=10)
    assert ticks(job) == [MINUTE, 2 * MINUTE]
    assert (job.next_run(), state_of(job).finished_at) == (None, NOON + 2 * MINUTE)


def test_a_finished_job_keeps_its_row_until_it_is_removed(scheduler):
    job = scheduler.add(Every(minutes=1), do, ends_at=NOON + MINUTE)
    scheduler.advance(minutes=10)
    scheduler.remove(job)
    with pytest.raises(JobNotFoundError):
        scheduler.remove(job)


def test_an_end_that_passes_before_the_scheduler_starts_lets_nothing_run():
    with HandDrivenScheduler(now=NOON - DAY) as scheduler:
        job = scheduler.add(Every(minutes=1), do, ends_at=NOON - HOUR)
    with HandDrivenScheduler(now=NOON) as scheduler:
        scheduler.advance(hours=1)
    assert runs_of(job) == []
    assert state_of(job).finished_at is not None


# --- the calendar ----------------------------------------------------------------------------------


def test_nine_o_clock_is_nine_o_clock_on_every_day_of_a_year():
    zone = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 1, 1, tzinfo=zone).astimezone(UTC)
    instants = Daily(at="09:00").preview(365, after=start, zone=zone, anchor=start)
    days = [instant.astimezone(zone) for instant in instants]
    assert [day.timetuple().tm_yday for day in days] == list(range(1, 366))
    assert {day.time() for day in days} == {time(9)}
