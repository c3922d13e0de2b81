"""Which tick comes next, and when it is to start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from django_gocron.planning import (
    Definition,
    FirstRun,
    due,
    next_tick,
)
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly
from tests.unit.planning.situations import (
    BERLIN,
    DAY,
    HOUR,
    MICROSECOND,
    MINUTE,
    MINUTELY,
    SECOND,
    START,
    ZERO,
    at,
    define,
    first,
    planned,
    row,
    running,
)

# The first tick


def test_a_job_on_schedule_runs_first_at_its_next_tick():
    assert first(define(Daily(at="09:00")), at("08:00")) == at("09:00")
    assert first(define(Every(HOUR)), at("08:00")) == at("09:00")


def test_a_tick_at_the_very_instant_of_planning_is_past():
    assert first(define(Daily(at="09:00")), at("09:00")) == at("09:00", day=6)


def test_a_job_can_run_first_when_it_is_planned():
    job = define(Daily(at="09:00"), first_run=FirstRun.IMMEDIATELY)
    assert first(job, at("08:00")) == at("08:00")


def test_an_immediate_first_run_waits_for_the_start():
    job = define(Daily(at="09:00"), first_run=FirstRun.IMMEDIATELY, starts_at=at("08:30"))
    assert first(job, at("08:00")) == at("08:30")
    assert first(job, at("08:40")) == at("08:40")


def test_an_immediate_first_run_does_not_come_after_the_end():
    job = define(Daily(at="09:00"), first_run=FirstRun.IMMEDIATELY, ends_at=at("08:00"))
    assert first(job, at("08:00")) == at("08:00")
    assert first(job, at("08:00") + MICROSECOND) is None


def test_an_immediate_first_run_that_was_skipped_does_not_come_back():
    job = define(Daily(at="09:00"), first_run=FirstRun.IMMEDIATELY, skip_until=at("08:00"))
    assert first(job, at("08:10")) == at("09:00")


def test_a_job_can_run_first_at_its_start():
    job = define(Every(HOUR), first_run=FirstRun.AT_STARTS_AT, starts_at=at("08:20"))
    assert first(job, at("08:00")) == at("08:20")
    assert first(job, at("08:20")) == at("08:20")


def test_a_start_that_is_over_is_not_made_up_for():
    job = define(Every(HOUR), first_run=FirstRun.AT_STARTS_AT, starts_at=at("08:20"))
    assert first(job, at("08:20") + MICROSECOND) == at("09:20")
    assert first(job, at("11:00")) == at("11:20")


def test_a_first_run_at_the_start_can_be_skipped():
    job = define(Every(HOUR), first_run=FirstRun.AT_STARTS_AT, starts_at=at("08:20"), skip_until=at("08:20"))
    assert first(job, at("08:00")) == at("09:20")


def test_a_skip_that_ends_before_the_start_leaves_the_first_run_alone():
    job = define(Every(HOUR), first_run=FirstRun.AT_STARTS_AT, starts_at=at("08:20"), skip_until=at("08:10"))
    assert first(job, at("08:00")) == at("08:20")


def test_a_first_run_at_the_start_without_a_start_is_on_schedule():
    assert first(define(Daily(at="09:00"), first_run=FirstRun.AT_STARTS_AT), at("08:00")) == at("09:00")


def test_a_first_run_at_a_start_after_the_end_never_comes():
    job = define(Every(HOUR), first_run=FirstRun.AT_STARTS_AT, starts_at=at("09:00"), ends_at=at("08:00"))
    assert first(job, at("07:00")) is None


# The window


def test_an_interval_counts_from_the_start():
    assert first(define(Every(HOUR), starts_at=at("08:20")), at("07:00")) == at("09:20")
    assert first(define(Every(HOUR), starts_at=at("03:20")), at("07:00")) == at("07:20")


@pytest.mark.parametrize(
    ("schedule", "start"),
    [
        (Cron("0 9 * * *"), at("09:00")),
        (Cron("*/5 * * * *"), at("09:00")),
        (Daily(at="09:00"), at("09:00")),
        (Daily(every=3, at="09:00"), at("09:00")),
        (Weekly(every=2, on="mon", at="09:00"), at("09:00")),
        (Monthly(every=2, on=5, at="09:00"), at("09:00")),
        (OneTime([at("09:00"), at("10:00")]), at("09:00")),
        (Daily(every=3, at="00:00"), at("00:00")),
        (Weekly(every=2, on="sun", at="00:00"), at("00:00", day=4)),
        (Weekly(every=2, on="mon", at="00:00", week_start="mon"), at("00:00")),
        (Monthly(every=2, on=1, at="00:00"), at("00:00", day=1)),
    ],
    ids=lambda value: value.describe() if isinstance(value, Schedule) else value.strftime("%a %H:%M"),
)
def test_a_wall_clock_tick_exactly_at_the_start_is_inside_the_window(schedule: Schedule, start: datetime):
    job = define(schedule, starts_at=start)
    assert first(job, start - HOUR) == start


def test_midnight_of_a_start_is_read_in_the_jobs_zone():
    start = at("23:00", day=4)
    assert first(define(Daily(every=3, at="00:00"), zone=BERLIN, starts_at=start), START - DAY) == start


@pytest.mark.parametrize("schedule", [Every(HOUR), EveryRandom(MINUTE, HOUR), Daily(at="09:01")])
def test_a_start_is_no_tick_of_its_own(schedule: Schedule):
    assert first(define(schedule, starts_at=at("09:00")), at("08:00")) > at("09:00")  # type: ignore[operator]


def test_later_ticks_count_from_the_start_that_was_a_tick():
    job = define(Daily(every=3, at="11:00"), starts_at=at("11:00"))
    assert next_tick(job, anchor=at("11:00"), after=at("11:00")) == at("11:00", day=8)


def test_a_tick_exactly_at_the_end_is_inside_the_window():
    job = define(Daily(at="09:00"), ends_at=at("09:00"))
    assert first(job, at("08:00")) == at("09:00")


def test_no_tick_comes_after_the_end():
    job = define(Daily(at="09:00"), ends_at=at("09:00") - MICROSECOND)
    assert first(job, at("08:00")) is None


def test_a_window_that_is_one_instant_has_its_tick():
    job = define(Daily(at="09:00"), starts_at=at("09:00"), ends_at=at("09:00"))
    assert first(job, at("08:00")) == at("09:00")
    assert next_tick(job, anchor=at("09:00"), after=at("09:00")) is None


def test_a_start_beyond_the_end_leaves_no_tick():
    job = define(Daily(at="09:00"), starts_at=at("09:00"), ends_at=at("08:00"))
    assert first(job, at("07:00")) is None


def test_hourly_ticks_come_only_inside_the_window():
    job = define(Cron("0 * * * *"), starts_at=at("13:00"), ends_at=at("15:00"))
    found = []
    tick = first(job, at("12:00"))
    while tick:
        found.append(tick)
        tick = next_tick(job, anchor=at("13:00"), after=tick)
    assert found == [at("13:00"), at("14:00"), at("15:00")]


def test_a_job_without_a_schedule_has_no_tick():
    assert first(define(None), at("08:00")) is None


def test_a_tick_is_read_in_the_jobs_zone_and_by_its_policies():
    night = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    job = define(Daily(at="02:30"), zone=BERLIN)
    assert first(job, night) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    job = define(Daily(at="02:30"), zone=BERLIN, gap="skip")
    assert first(job, night) == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    night = datetime(2026, 10, 24, 23, 0, tzinfo=UTC)
    job = define(Daily(at="02:30"), zone=BERLIN, fold="second")
    assert first(job, night) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_random_ticks_hang_on_the_jobs_seed():
    one, other = (
        Definition(schedule=EveryRandom(MINUTE, HOUR), zone=BERLIN, seed=seed) for seed in ("one", "other")
    )
    assert first(one, START) != first(other, START)


# Skipping


def test_passes_over_ticks_up_to_the_end_of_a_skip():
    job = define(Every(HOUR), skip_until=at("10:00"))
    assert next_tick(job, anchor=START, after=at("08:00")) == at("11:00")


def test_a_skip_that_is_over_changes_nothing():
    job = define(Every(HOUR), skip_until=at("07:00"))
    assert next_tick(job, anchor=START, after=at("08:00")) == at("09:00")


def test_a_skip_can_reach_over_the_end():
    job = define(Every(HOUR), skip_until=at("10:00"), ends_at=at("10:00"))
    assert next_tick(job, anchor=START, after=at("08:00")) is None


def test_a_skip_of_the_start_passes_it_over():
    job = define(Daily(at="09:00"), starts_at=at("09:00"), skip_until=at("09:00"))
    assert first(job, at("08:00")) == at("09:00", day=6)


# Jitter


def test_jitter_is_the_same_whenever_it_is_asked_for():
    job = define(jitter=MINUTE)
    assert due(job, at("12:00")) == due(define(jitter=MINUTE), at("12:00"))


def test_jitter_differs_between_ticks_and_between_jobs():
    job, other = define(jitter=HOUR), Definition(schedule=MINUTELY, zone=BERLIN, seed="other", jitter=HOUR)
    delays = {due(one, tick) - tick for one in (job, other) for tick in (at("12:00"), at("13:00"))}
    assert len(delays) == 4


def test_jitter_spreads_ticks_over_the_whole_of_its_span_and_never_before_the_instant():
    job = define(jitter=timedelta(seconds=100))
    delays = [(due(job, START + n * HOUR) - (START + n * HOUR)).total_seconds() for n in range(1000)]
    assert min(delays) >= 0
    assert max(delays) < 100
    tenths = [sum(lower <= delay < lower + 10 for delay in delays) for lower in range(0, 100, 10)]
    assert all(60 < tenth < 140 for tenth in tenths)


def test_a_tick_without_jitter_is_due_at_its_instant():
    assert due(define(), at("12:00")) == at("12:00")


def test_a_jittered_tick_keeps_its_instant_and_is_claimed_for_when_it_is_due():
    job = define(Daily(at="12:00"), jitter=HOUR)
    start = due(job, at("12:00"))
    assert planned(job, next_tick=at("12:00"), now=start - SECOND - MICROSECOND).ticks == ()
    (tick,) = planned(job, next_tick=at("12:00"), now=start - SECOND).ticks
    assert (tick.scheduled_for, tick.due_at) == (at("12:00"), start)


def test_says_when_the_next_tick_is_due_with_its_jitter():
    job = define(Daily(at="12:00"), jitter=HOUR)
    answer = planned(job, next_tick=at("12:00"), now=at("11:00"))
    assert (answer.next_tick_at, answer.next_due_at) == (at("12:00"), due(job, at("12:00")))


def test_a_tick_whose_jitter_is_not_over_is_not_overdue():
    job = define(Every(HOUR), jitter=2 * HOUR)
    now = due(job, at("12:00")) - MICROSECOND
    assert max(due(job, at("11:00")), at("12:00")) <= now < due(job, at("13:00"))
    answer = planned(job, next_tick=at("10:00"), now=now, ahead=ZERO)
    assert running(answer) == [at("11:00")]
    assert answer.passed == row("coalesced", "", at("10:00"), at("10:00"), 1)
    assert answer.next_tick_at == at("12:00")


def test_jitter_is_the_same_in_every_release():
    """Old and new instances run side by side during a deploy, and have to agree."""
    assert due(define(jitter=HOUR), at("12:00")) == at("12:55:53.268198")
