"""Overdue ticks, however many: random ones too, and with bounded work."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from django_gocron.planning import (
    BATCH,
    Misfire,
    due,
)
from django_gocron.schedules import Cron, Every, EveryRandom, Schedule
from tests.unit.planning.situations import (
    BERLIN,
    DAY,
    MINUTE,
    SECOND,
    START,
    ZERO,
    at,
    define,
    planned,
    row,
    running,
)

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
        tick: datetime | None = self._ask("next_after", moment, **calendar)
        return tick

    def latest_before(self, moment: datetime, **calendar: Any) -> datetime | None:
        tick: datetime | None = self._ask("latest_before", moment, **calendar)
        return tick

    def count_between(self, after: datetime, through: datetime, **calendar: Any) -> int:
        number: int = self._ask("count_between", after, through, **calendar)
        return number


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
        ({"jitter": TEN_YEARS, "misfire": Misfire.SKIP}, 5 * BATCH),
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
