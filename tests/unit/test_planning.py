from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.planning import (
    BATCH,
    LONGEST,
    Definition,
    FirstRun,
    Misfire,
    Passed,
    Plan,
    Progress,
    after_completion,
    due,
    first_tick,
    next_tick,
    plan,
)
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly

BERLIN = ZoneInfo("Europe/Berlin")
ZERO, SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (0, 1, 60, 3600, 86400))
MICROSECOND = timedelta(microseconds=1)


def at(clock: str, *, day: int = 5) -> datetime:
    """A time of a day of January 2026 in UTC; the 5th is a Monday."""
    return datetime.fromisoformat(f"2026-01-{day:02}T{clock}").replace(tzinfo=UTC)


START = at("00:00")
MINUTELY = Every(minutes=1)


def define(schedule: Schedule | None = MINUTELY, **options: Any) -> Definition:
    return Definition(schedule=schedule, zone=options.pop("zone", ZoneInfo("UTC")), seed="job", **options)


def planned(
    definition: Definition,
    *,
    next_tick: datetime,
    now: datetime,
    ahead: timedelta = SECOND,
    budget: int | None = None,
    anchor: datetime = START,
) -> Plan:
    progress = Progress(anchor_at=anchor, next_tick_at=next_tick, budget=budget)
    return plan(definition, progress, now=now, horizon=now + ahead)


def running(answer: Plan) -> list[datetime]:
    return [tick.scheduled_for for tick in answer.ticks]


def row(status: str, reason: str, first: datetime, last: datetime, count: int) -> tuple[Passed, ...]:
    return (Passed(status=status, reason=reason, first=first, last=last, count=count),)


# Ticks that are on time


def test_runs_nothing_before_the_next_tick_is_within_reach():
    answer = planned(define(), next_tick=at("12:00"), now=at("11:59:58"))
    assert answer == Plan(next_tick_at=at("12:00"), next_due_at=at("12:00"))


def test_runs_a_tick_that_is_due_exactly_at_the_horizon():
    answer = planned(define(), next_tick=at("12:00"), now=at("11:59:59"))
    assert running(answer) == [at("12:00")]
    assert answer.next_tick_at == at("12:01")


def test_runs_all_ticks_up_to_the_horizon_when_they_come_thick_and_fast():
    answer = planned(define(Every(timedelta(milliseconds=250))), next_tick=at("12:00:00.25"), now=at("12:00"))
    assert running(answer) == [at(f"12:00:0{n}") for n in ("0.25", "0.5", "0.75", "1")]
    assert answer.next_tick_at == at("12:00:01.25")


def test_plans_a_batch_at_most_and_leaves_the_others_to_the_next_plan():
    answer = planned(
        define(Every(timedelta(milliseconds=10))), next_tick=at("12:00"), now=at("12:00"), ahead=MINUTE
    )
    assert len(answer.ticks) == BATCH
    assert answer.next_tick_at == at("12:00:10")


def test_has_no_next_tick_after_the_last():
    answer = planned(define(OneTime(at("12:00"))), next_tick=at("12:00"), now=at("12:00"))
    assert running(answer) == [at("12:00")]
    assert (answer.next_tick_at, answer.next_due_at) == (None, None)


def test_runs_the_planned_tick_of_a_job_that_has_lost_its_schedule_and_no_other():
    answer = planned(define(None), next_tick=at("12:00"), now=at("12:05"))
    assert (running(answer), answer.next_tick_at) == ([at("12:00")], None)


def test_settles_nothing_when_the_plan_is_empty():
    assert Plan().settled_through is None


def test_says_how_far_it_settles_where_ticks_run():
    answer = planned(define(), next_tick=at("12:00"), now=at("12:10:30"))
    assert answer.settled_through == at("12:10")


def test_says_how_far_it_settles_where_none_runs():
    job = define(OneTime([at("12:00"), at("12:01")]), misfire=Misfire.SKIP)
    answer = planned(job, next_tick=at("12:00"), now=at("13:00"))
    assert (answer.ticks, answer.settled_through) == ((), at("12:01"))


# Misfire: run once


def test_run_once_runs_a_single_overdue_tick_however_late():
    answer = planned(define(Daily(at="12:00")), next_tick=at("12:00"), now=at("11:59", day=6))
    assert (running(answer), answer.passed) == ([at("12:00")], ())
    assert answer.next_tick_at == at("12:00", day=6)


def test_run_once_runs_the_latest_of_several_and_counts_the_others_in_one_row():
    answer = planned(define(), next_tick=at("12:00"), now=at("16:00:30"))
    assert running(answer) == [at("16:00")]
    assert answer.passed == row("coalesced", "", at("12:00"), at("15:59"), 240)
    assert answer.next_tick_at == at("16:01")


def test_run_once_counts_one_tick_of_two():
    answer = planned(define(), next_tick=at("12:00"), now=at("12:01:30"))
    assert answer.passed == row("coalesced", "", at("12:00"), at("12:00"), 1)
    assert running(answer) == [at("12:01")]


def test_run_once_runs_all_ticks_that_are_no_more_than_a_second_late():
    quick = define(Every(timedelta(milliseconds=400)))
    answer = planned(quick, next_tick=at("12:00"), now=at("12:00:01"), ahead=ZERO)
    assert running(answer) == [at("12:00"), at("12:00:00.4"), at("12:00:00.8")]
    assert answer.passed == ()


def test_run_once_coalesces_as_soon_as_the_earliest_is_more_than_a_second_late():
    quick = define(Every(timedelta(milliseconds=400)))
    answer = planned(quick, next_tick=at("12:00"), now=at("12:00:01") + MICROSECOND, ahead=ZERO)
    assert running(answer) == [at("12:00:00.8")]
    assert answer.passed == row("coalesced", "", at("12:00"), at("12:00:00.4"), 2)


def test_run_once_also_runs_what_comes_within_reach():
    answer = planned(define(Every(SECOND)), next_tick=at("12:00"), now=at("12:10"))
    assert running(answer) == [at("12:10"), at("12:10:01")]
    assert answer.passed == row("coalesced", "", at("12:00"), at("12:09:59"), 600)


def test_run_once_counts_a_first_tick_that_is_not_on_the_grid():
    answer = planned(define(), next_tick=at("12:00:13"), now=at("12:03:30"))
    assert answer.passed == row("coalesced", "", at("12:00:13"), at("12:02"), 3)
    assert running(answer) == [at("12:03")]


def test_counts_no_tick_after_the_end_of_the_window_as_overdue():
    answer = planned(define(ends_at=at("12:02")), next_tick=at("12:00"), now=at("15:00"))
    assert answer.passed == row("coalesced", "", at("12:00"), at("12:01"), 2)
    assert running(answer) == [at("12:02")]
    assert answer.next_tick_at is None


# Misfire: run all


def test_run_all_runs_every_overdue_tick_oldest_first():
    answer = planned(define(misfire=Misfire.RUN_ALL), next_tick=at("12:00"), now=at("12:03:30"))
    assert running(answer) == [at("12:00"), at("12:01"), at("12:02"), at("12:03")]
    assert answer.passed == ()


def test_run_all_runs_the_newest_up_to_the_cap():
    job = define(misfire=Misfire.RUN_ALL, max_catchup=10)
    answer = planned(job, next_tick=at("12:00"), now=at("16:00"), ahead=ZERO)
    assert running(answer) == [at("15:51") + n * MINUTE for n in range(10)]
    assert answer.passed == row("missed", "cap", at("12:00"), at("15:50"), 231)


def test_run_all_misses_nothing_where_the_cap_is_just_enough():
    job = define(misfire=Misfire.RUN_ALL, max_catchup=4)
    answer = planned(job, next_tick=at("12:00"), now=at("12:03"), ahead=ZERO)
    assert (len(answer.ticks), answer.passed) == (4, ())


def test_run_all_with_a_cap_of_one_runs_the_latest():
    job = define(misfire=Misfire.RUN_ALL, max_catchup=1)
    answer = planned(job, next_tick=at("12:00"), now=at("12:03"), ahead=ZERO)
    assert running(answer) == [at("12:03")]
    assert answer.passed == row("missed", "cap", at("12:00"), at("12:02"), 3)


def test_run_all_runs_what_lies_in_the_window_its_edge_included():
    job = define(misfire=Misfire.RUN_ALL, catchup_window=2 * MINUTE)
    answer = planned(job, next_tick=at("12:00"), now=at("12:10"), ahead=ZERO)
    assert running(answer) == [at("12:08"), at("12:09"), at("12:10")]
    assert answer.passed == row("missed", "window", at("12:00"), at("12:07"), 8)


def test_run_all_misses_everything_where_all_is_outside_the_window():
    job = define(Daily(at="06:00"), misfire=Misfire.RUN_ALL, catchup_window=MINUTE)
    answer = planned(job, next_tick=at("06:00"), now=at("12:00", day=7))
    assert (answer.ticks, answer.next_tick_at) == ((), at("06:00", day=8))
    assert answer.passed == row("missed", "window", at("06:00"), at("06:00", day=7), 3)


def test_run_all_names_the_narrower_of_window_and_cap():
    job = define(misfire=Misfire.RUN_ALL, catchup_window=5 * MINUTE, max_catchup=2)
    answer = planned(job, next_tick=at("12:00"), now=at("12:10"), ahead=ZERO)
    assert running(answer) == [at("12:09"), at("12:10")]
    assert answer.passed == row("missed", "cap", at("12:00"), at("12:08"), 9)
    job = define(misfire=Misfire.RUN_ALL, catchup_window=MINUTE, max_catchup=5)
    answer = planned(job, next_tick=at("12:00"), now=at("12:10"), ahead=ZERO)
    assert answer.passed == row("missed", "window", at("12:00"), at("12:08"), 9)


def test_run_all_names_the_window_where_the_cap_says_the_same():
    job = define(misfire=Misfire.RUN_ALL, catchup_window=MINUTE, max_catchup=2)
    answer = planned(job, next_tick=at("12:00"), now=at("12:10"), ahead=ZERO)
    assert answer.passed == row("missed", "window", at("12:00"), at("12:08"), 9)


def test_run_all_settles_a_large_cap_in_several_plans():
    job = define(Every(SECOND), misfire=Misfire.RUN_ALL, max_catchup=BATCH)
    now = at("12:00") + 3 * BATCH * SECOND
    answer = planned(job, next_tick=at("12:00"), now=now)
    assert running(answer) == [now - n * SECOND for n in range(BATCH - 1, -1, -1)]
    assert answer.passed[0].count == 2 * BATCH + 1
    assert answer.next_tick_at == now + SECOND


# Misfire: skip


def test_skip_runs_a_tick_that_is_late_by_just_the_grace():
    job = define(Daily(at="16:00"), misfire=Misfire.SKIP, misfire_grace=timedelta(seconds=60))
    answer = planned(job, next_tick=at("16:00"), now=at("16:01"))
    assert (running(answer), answer.passed) == ([at("16:00")], ())


def test_skip_misses_a_tick_that_is_later_than_the_grace():
    job = define(Daily(at="16:00"), misfire=Misfire.SKIP, misfire_grace=timedelta(seconds=10))
    answer = planned(job, next_tick=at("16:00"), now=at("16:00:10") + MICROSECOND)
    assert answer.ticks == ()
    assert answer.passed == row("missed", "grace", at("16:00"), at("16:00"), 1)
    assert answer.next_tick_at == at("16:00", day=6)


def test_skip_runs_those_within_the_grace_and_misses_the_others_in_one_row():
    job = define(misfire=Misfire.SKIP, misfire_grace=2 * MINUTE)
    answer = planned(job, next_tick=at("12:00"), now=at("16:00:30"))
    assert running(answer) == [at("15:59"), at("16:00")]
    assert answer.passed == row("missed", "grace", at("12:00"), at("15:58"), 239)


def test_skip_without_any_grace_runs_what_is_not_late():
    job = define(misfire=Misfire.SKIP, misfire_grace=ZERO)
    assert running(planned(job, next_tick=at("12:00"), now=at("12:00"))) == [at("12:00")]
    assert running(planned(job, next_tick=at("12:00"), now=at("12:00") + MICROSECOND)) == []


def test_skip_measures_the_grace_from_the_instant_that_jitter_has_put_off():
    job = define(Daily(at="12:00"), misfire=Misfire.SKIP, misfire_grace=SECOND, jitter=HOUR)
    start = due(job, at("12:00"))
    assert start > at("12:01")
    assert running(planned(job, next_tick=at("12:00"), now=start + SECOND)) == [at("12:00")]
    answer = planned(job, next_tick=at("12:00"), now=start + SECOND + MICROSECOND)
    assert answer.passed == row("missed", "grace", at("12:00"), at("12:00"), 1)


def test_skip_leaves_what_does_not_fit_into_a_batch_to_the_next_plan():
    job = define(Every(SECOND), misfire=Misfire.SKIP, misfire_grace=DAY)
    answer = planned(job, next_tick=at("12:00"), now=at("14:00"))
    assert running(answer) == [at("12:00") + n * SECOND for n in range(BATCH)]
    assert answer.passed == ()
    assert answer.next_tick_at == at("12:00") + BATCH * SECOND


# Starting deadline


def test_a_tick_later_than_its_starting_deadline_is_missed():
    job = define(Daily(at="12:00"), starting_deadline=MINUTE)
    assert running(planned(job, next_tick=at("12:00"), now=at("12:01"))) == [at("12:00")]
    answer = planned(job, next_tick=at("12:00"), now=at("12:01") + MICROSECOND)
    assert answer.ticks == ()
    assert answer.passed == row("missed", "deadline", at("12:00"), at("12:00"), 1)
    assert answer.next_tick_at == at("12:00", day=6)


def test_the_starting_deadline_counts_from_the_instant_that_jitter_has_put_off():
    job = define(Daily(at="12:00"), starting_deadline=SECOND, jitter=HOUR)
    start = due(job, at("12:00"))
    assert running(planned(job, next_tick=at("12:00"), now=start + SECOND)) == [at("12:00")]
    assert (
        planned(job, next_tick=at("12:00"), now=start + SECOND + MICROSECOND).passed[0].reason == "deadline"
    )


def test_the_latest_of_coalesced_ticks_can_be_beyond_its_deadline_too():
    job = define(Every(HOUR), starting_deadline=MINUTE)
    answer = planned(job, next_tick=at("10:00"), now=at("12:30"))
    assert answer.ticks == ()
    assert answer.passed == (
        *row("coalesced", "", at("10:00"), at("11:00"), 2),
        *row("missed", "deadline", at("12:00"), at("12:00"), 1),
    )


def test_caught_up_ticks_beyond_their_deadline_are_one_row():
    job = define(misfire=Misfire.RUN_ALL, max_catchup=5, starting_deadline=MINUTE)
    answer = planned(job, next_tick=at("12:00"), now=at("12:10"), ahead=ZERO)
    assert running(answer) == [at("12:09"), at("12:10")]
    assert answer.passed == (
        *row("missed", "cap", at("12:00"), at("12:05"), 6),
        *row("missed", "deadline", at("12:06"), at("12:08"), 3),
    )


# Limit of runs


def test_runs_no_more_than_the_budget_and_leaves_the_others_unsettled():
    answer = planned(
        define(Every(SECOND)), next_tick=at("12:00"), now=at("12:00"), ahead=5 * SECOND, budget=2
    )
    assert running(answer) == [at("12:00"), at("12:00:01")]
    assert (answer.next_tick_at, answer.next_due_at) == (at("12:00:02"), at("12:00:02"))


def test_a_budget_that_is_just_enough_changes_nothing():
    answer = planned(define(Every(SECOND)), next_tick=at("12:00"), now=at("12:00"), ahead=SECOND, budget=2)
    assert running(answer) == [at("12:00"), at("12:00:01")]
    assert answer.next_tick_at == at("12:00:02")


def test_settles_nothing_at_all_without_a_budget():
    answer = planned(define(), next_tick=at("12:00"), now=at("16:00"), budget=0)
    assert answer == Plan(next_tick_at=at("12:00"), next_due_at=at("12:00"))


def test_a_missed_tick_does_not_use_up_the_budget():
    job = define(misfire=Misfire.SKIP, misfire_grace=MINUTE)
    answer = planned(job, next_tick=at("12:00"), now=at("12:10"), ahead=ZERO, budget=2)
    assert running(answer) == [at("12:09"), at("12:10")]


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


# The first tick


def first(definition: Definition, now: datetime, anchor: datetime | None = None) -> datetime | None:
    return first_tick(definition, anchor=anchor or definition.starts_at or now, now=now)


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


# Intervals that count from completion

AFTER_EACH = {"schedule": Every(HOUR), "interval_from_completion": True}


def test_the_next_tick_comes_an_interval_after_the_end_of_the_last():
    assert after_completion(define(**AFTER_EACH), finished_at=at("08:07")) == at("09:07")


def test_a_random_interval_can_count_from_completion():
    job = define(EveryRandom(MINUTE, 2 * MINUTE), interval_from_completion=True)
    tick = after_completion(job, finished_at=at("08:07"))
    assert tick
    assert at("08:08") <= tick < at("08:09")


def test_no_tick_follows_a_completion_close_to_the_end():
    assert after_completion(define(**AFTER_EACH, ends_at=at("09:00")), finished_at=at("08:07")) is None


def test_a_skip_puts_off_the_tick_after_a_completion():
    job = define(**AFTER_EACH, skip_until=at("09:07"))
    assert after_completion(job, finished_at=at("08:07")) == at("10:07")


def test_a_job_that_counts_from_completion_has_one_tick_at_a_time():
    answer = planned(define(**AFTER_EACH), next_tick=at("09:07"), now=at("09:06:59"), ahead=DAY)
    assert (running(answer), answer.passed) == ([at("09:07")], ())
    assert (answer.next_tick_at, answer.next_due_at) == (None, None)


@pytest.mark.parametrize("misfire", [Misfire.RUN_ONCE, Misfire.RUN_ALL])
def test_a_job_that_counts_from_completion_runs_late(misfire: Misfire):
    answer = planned(define(**AFTER_EACH, misfire=misfire), next_tick=at("09:07"), now=at("15:00"))
    assert (running(answer), answer.passed) == ([at("09:07")], ())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"misfire": Misfire.SKIP, "misfire_grace": MINUTE}, "grace"),
        ({"misfire": Misfire.RUN_ALL, "catchup_window": MINUTE}, "window"),
        ({"starting_deadline": MINUTE}, "deadline"),
    ],
)
def test_a_tick_that_is_passed_over_is_followed_as_if_it_had_ended(options: dict[str, Any], reason: str):
    job = define(**AFTER_EACH, **options)
    assert planned(job, next_tick=at("09:07"), now=at("09:08")).passed == ()
    answer = planned(job, next_tick=at("09:07"), now=at("15:00"))
    assert answer.ticks == ()
    assert answer.passed == row("missed", reason, at("09:07"), at("09:07"), 1)
    assert (answer.next_tick_at, answer.next_due_at) == (at("16:00"), at("16:00"))


def test_nothing_follows_a_passed_tick_after_the_end():
    job = define(**AFTER_EACH, starting_deadline=MINUTE, ends_at=at("12:00"))
    answer = planned(job, next_tick=at("09:07"), now=at("15:00"))
    assert (answer.next_tick_at, answer.next_due_at) == (None, None)


def test_a_job_that_counts_from_completion_respects_the_budget():
    answer = planned(define(**AFTER_EACH), next_tick=at("09:07"), now=at("10:00"), budget=0)
    assert answer == Plan(next_tick_at=at("09:07"), next_due_at=at("09:07"))
    assert running(planned(define(**AFTER_EACH), next_tick=at("09:07"), now=at("10:00"), budget=1)) == [
        at("09:07")
    ]


def test_jitter_puts_off_a_tick_that_counts_from_completion():
    job = define(**AFTER_EACH, jitter=HOUR)
    (tick,) = planned(job, next_tick=at("09:07"), now=at("09:07")).ticks
    assert tick.due_at == due(job, at("09:07")) > at("09:07")


# Random intervals

RANDOM = EveryRandom(SECOND, 3 * SECOND)


def chain(schedule: EveryRandom, start: datetime, through: datetime) -> list[datetime]:
    """The ticks from ``start`` on, each found from the one before."""
    ticks, tick = [], start
    while tick <= through:
        ticks.append(tick)
        tick = schedule.next_after(tick, zone=BERLIN, anchor=START, seed="job")  # type: ignore[assignment]
    return ticks


def test_overdue_random_ticks_are_those_that_follow_from_one_another():
    now = at("13:00")
    ticks = chain(RANDOM, at("12:00"), now)
    answer = planned(define(RANDOM), next_tick=at("12:00"), now=now, ahead=ZERO)
    assert running(answer) == [ticks[-1]]
    assert answer.passed == row("coalesced", "", ticks[0], ticks[-2], len(ticks) - 1)


def test_random_ticks_are_caught_up_along_their_chain():
    now = at("13:00")
    ticks = chain(RANDOM, at("12:00"), now)
    job = define(RANDOM, misfire=Misfire.RUN_ALL, max_catchup=50)
    answer = planned(job, next_tick=at("12:00"), now=now, ahead=ZERO)
    assert running(answer) == ticks[-50:]
    assert answer.passed == row("missed", "cap", ticks[0], ticks[-51], len(ticks) - 50)


def test_random_ticks_go_on_along_their_chain():
    ticks = chain(RANDOM, at("12:00"), at("12:00:30"))
    answer = planned(define(RANDOM), next_tick=at("12:00"), now=at("12:00"), ahead=25 * SECOND)
    shown = [*running(answer), answer.next_tick_at]
    assert shown == ticks[: len(shown)]


def test_very_many_random_ticks_are_counted_by_estimate():
    now = at("12:00") + 365 * DAY
    answer = planned(define(RANDOM), next_tick=at("12:00"), now=now)
    (passed,) = answer.passed
    assert passed.count == pytest.approx(365 * 86400 / 2, rel=0.03)
    assert passed.last < answer.ticks[0].scheduled_for <= now
    assert now - answer.ticks[0].scheduled_for < 3 * SECOND


# Bounded work


@dataclass
class Questions:
    number: int = 0


@dataclass(frozen=True)
class Watched(Schedule):
    """Passes every question on to another schedule, and counts them."""

    inner: Schedule
    questions: Questions = field(default_factory=Questions)

    def _ask(self, name: str, *args: Any, **calendar: Any) -> Any:
        self.questions.number += 1
        return getattr(self.inner, name)(*args, **calendar)

    def next_after(self, moment: datetime, **calendar: Any) -> datetime | None:
        return self._ask("next_after", moment, **calendar)

    def latest_before(self, moment: datetime, **calendar: Any) -> datetime | None:
        return self._ask("latest_before", moment, **calendar)

    def count_between(self, after: datetime, through: datetime, **calendar: Any) -> int:
        return self._ask("count_between", after, through, **calendar)


TEN_YEARS = timedelta(days=3652)


def test_ten_years_of_missed_seconds_are_one_row_after_a_handful_of_questions():
    schedule = Watched(Every(SECOND))
    answer = planned(define(schedule), next_tick=at("12:00"), now=at("12:00") + TEN_YEARS, ahead=ZERO)
    assert running(answer) == [at("12:00") + TEN_YEARS]
    assert answer.passed == row("coalesced", "", at("12:00"), at("12:00") + TEN_YEARS - SECOND, 3652 * 86400)
    assert schedule.questions.number < 10


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"misfire": Misfire.SKIP}, 100),
        ({"misfire": Misfire.SKIP, "misfire_grace": TEN_YEARS}, 2 * BATCH),
        ({"misfire": Misfire.RUN_ALL, "max_catchup": 10}, 50),
        ({"misfire": Misfire.RUN_ALL, "max_catchup": 10**9}, 3 * BATCH),
        ({"misfire": Misfire.RUN_ALL, "catchup_window": TEN_YEARS, "max_catchup": 10}, 50),
        ({"starting_deadline": SECOND}, 20),
        ({"jitter": MINUTE}, 200),
        ({"jitter": TEN_YEARS}, 4 * BATCH),
        ({"jitter": DAY, "misfire": Misfire.SKIP}, 5 * BATCH),
        ({"ends_at": at("13:00")}, 10),
        ({"budget": 3}, 10),
    ],
    ids=str,
)
def test_any_policy_asks_a_bounded_number_of_questions_about_ten_years(options: dict[str, Any], most: int):
    schedule, budget = Watched(Cron("* * * * * *")), options.pop("budget", None)
    answer = planned(
        define(schedule, **options), next_tick=at("12:00"), now=at("12:00") + TEN_YEARS, budget=budget
    )
    assert schedule.questions.number <= most
    assert len(answer.ticks) <= BATCH


def test_jitter_much_longer_than_the_interval_still_plans_in_batches():
    job = define(Every(timedelta(milliseconds=10)), jitter=DAY)
    answer = planned(job, next_tick=at("12:00"), now=due(job, at("12:00")))
    assert 0 < len(answer.ticks) <= BATCH


# What is refused


@pytest.mark.parametrize("name", ["jitter", "misfire_grace", "catchup_window", "starting_deadline"])
@pytest.mark.parametrize("value", [-MICROSECOND, LONGEST + MICROSECOND, timedelta.max])
def test_refuses_durations_that_leave_the_calendar(name: str, value: timedelta):
    with pytest.raises(ScheduleError, match=name) as caught:
        define(**{name: value})
    assert (caught.value.code, caught.value.field) == ("duration_out_of_range", name)


@pytest.mark.parametrize("misfire", list(Misfire))
def test_the_longest_durations_are_planned(misfire: Misfire):
    job = define(
        Daily(at="12:00"),
        misfire=misfire,
        jitter=LONGEST,
        misfire_grace=LONGEST,
        catchup_window=LONGEST,
        starting_deadline=LONGEST,
    )
    answer = planned(job, next_tick=at("12:00"), now=at("12:00") + 2 * LONGEST)
    assert answer.settled_through is not None


def test_durations_of_nothing_are_planned():
    job = define(misfire_grace=ZERO, catchup_window=ZERO, starting_deadline=ZERO)
    assert running(planned(job, next_tick=at("12:00"), now=at("12:00"))) == [at("12:00")]
