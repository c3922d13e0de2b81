"""What a plan runs and what it leaves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from django_gocron.planning import (
    BATCH,
    Misfire,
    Plan,
    after_completion,
    due,
)
from django_gocron.schedules import Every, EveryRandom, OneTime
from tests.unit.planning.situations import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    ZERO,
    at,
    define,
    planned,
    row,
    running,
)

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


# Intervals that count from completion


AFTER_EACH: dict[str, Any] = {"schedule": Every(HOUR), "interval_from_completion": True}


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


def test_what_follows_a_passed_tick_has_its_jitter():
    job = define(**AFTER_EACH, starting_deadline=MINUTE, jitter=MINUTE)
    answer = planned(job, next_tick=at("09:07"), now=at("15:00"))
    assert (answer.next_tick_at, answer.next_due_at) == (at("16:00"), due(job, at("16:00")))
    assert due(job, at("16:00")) > at("16:00")


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
