"""What becomes of overdue ticks."""

from __future__ import annotations

from datetime import timedelta

from django_gocron.planning import (
    BATCH,
    Misfire,
    due,
)
from django_gocron.schedules import Daily, Every
from tests.unit.planning.situations import (
    DAY,
    HOUR,
    MICROSECOND,
    MINUTE,
    SECOND,
    ZERO,
    at,
    define,
    planned,
    row,
    running,
)

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
