"""Plans against a planner that goes through the ticks one by one, and accounts that have to add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import event, given, settings
from hypothesis import strategies as st

from django_gocron.planning import BATCH, Definition, Misfire, Passed, Plan, Progress, due, next_tick, plan
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly

MILLISECOND, SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (0.001, 1, 60, 3600, 86400))
MOST = 400  # ticks overdue in one example

quietly = settings(deadline=None, max_examples=150)


@dataclass(frozen=True)
class Fibonacci(Schedule):
    """As a third party would write one: it says what comes next, and no more."""

    def next_after(self, moment: datetime, *, anchor: datetime, **calendar: Any) -> datetime:
        steps = (1, 1)
        while anchor + steps[0] * MINUTE <= moment:
            steps = (steps[1], sum(steps))
        return anchor + steps[0] * MINUTE


@dataclass(frozen=True, kw_only=True)
class Situation:
    definition: Definition
    anchor: datetime
    first: datetime
    now: datetime
    horizon: datetime
    budget: int | None

    def plan(self) -> Plan:
        progress = Progress(anchor_at=self.anchor, next_tick_at=self.first, budget=self.budget)
        return plan(self.definition, progress, now=self.now, horizon=self.horizon)

    def ticks(self) -> Iterator[datetime]:
        """All ticks that are not settled, without end."""
        tick: datetime | None = self.first
        while tick:
            yield tick
            tick = next_tick(self.definition, anchor=self.anchor, after=tick)

    def due(self, tick: datetime) -> datetime:
        return due(self.definition, tick)


# Schedules, each with about how far its ticks are apart.
SCHEDULES: list[tuple[Schedule, timedelta]] = [
    (Every(timedelta(milliseconds=10)), timedelta(milliseconds=10)),
    (Every(timedelta(milliseconds=400)), timedelta(milliseconds=400)),
    (Every(7 * SECOND), 7 * SECOND),
    (Every(HOUR), HOUR),
    (EveryRandom(timedelta(milliseconds=20), timedelta(milliseconds=700)), timedelta(milliseconds=300)),
    (EveryRandom(MINUTE, HOUR), HOUR / 2),
    (Cron("* * * * * *"), SECOND),
    (Cron("*/5 * * * *"), 5 * MINUTE),
    (Cron("15,45 1-3 * * *"), 4 * HOUR),
    (Daily(at=["02:30", "12:00"]), 12 * HOUR),
    (Daily(every=3, at="00:00"), 3 * DAY),
    (Weekly(every=2, on=["mon", "thu"], at="09:00"), 7 * DAY),
    (Monthly(on=[1, -1], at="00:00"), 15 * DAY),
    (OneTime([datetime(2026, 3, 28, 12, tzinfo=UTC) + n**3 * MINUTE for n in range(30)]), DAY),
    (Fibonacci(), 5 * MINUTE),
]
ZONES = [ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "Australia/Lord_Howe")]
ANCHORS = [
    datetime(2026, 3, 28, 23, tzinfo=UTC),
    datetime(2026, 10, 24, 22, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 4, 4, 14, 59, 59, 999_999, tzinfo=UTC),
]


def spans(unit: timedelta, most: float) -> st.SearchStrategy[timedelta]:
    """Durations up to ``most`` units: often whole units, and often just beside them."""
    whole = st.integers(0, int(most)).map(lambda n: n * unit)
    beside = st.sampled_from(
        [timedelta(0), timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1)]
    )
    near = st.tuples(whole, beside).map(lambda pair: max(sum(pair, timedelta(0)), timedelta(0)))
    return st.one_of(near, st.floats(0, most).map(lambda n: n * unit))


def sometimes(strategy: st.SearchStrategy[Any], otherwise: Any = None) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(otherwise), strategy)


@st.composite
def definitions(draw: st.DrawFn, anchor: datetime) -> tuple[Definition, timedelta]:
    schedule, unit = draw(st.sampled_from(SCHEDULES))
    ends_after = draw(sometimes(spans(unit, MOST)))
    definition = Definition(
        schedule=schedule,
        zone=draw(st.sampled_from(ZONES)),
        seed=draw(st.sampled_from(["a", "b"])),
        ends_at=anchor + ends_after if ends_after else None,
        jitter=draw(sometimes(spans(unit, 3), timedelta(0))),
        gap=draw(st.sampled_from(["run_after", "skip"])),
        fold=draw(st.sampled_from(["first", "second", "both"])),
        misfire=draw(st.sampled_from(list(Misfire))),
        misfire_grace=draw(spans(unit, MOST / 2)),
        catchup_window=draw(sometimes(spans(unit, MOST / 2))),
        max_catchup=draw(st.one_of(st.integers(1, 5), st.integers(1, MOST))),
        starting_deadline=draw(sometimes(spans(unit, MOST / 2))),
    )
    return definition, unit


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    anchor = draw(st.sampled_from(ANCHORS))
    definition, unit = draw(definitions(anchor))
    reached = next_tick(
        replace(definition, ends_at=None), anchor=anchor, after=anchor + draw(spans(unit, 20))
    )
    first = reached or anchor + unit
    if draw(st.integers(0, 5)) == 0:
        first -= unit / 3  # a first run by hand: off the grid
    first = max(first, anchor)
    definition = replace(definition, ends_at=definition.ends_at and max(definition.ends_at, first))
    lateness = draw(st.one_of(spans(unit, 4), spans(unit, MOST), spans(SECOND, 2)))
    now = min(first + lateness - draw(sometimes(spans(unit, 3), timedelta(0))), first + MOST * unit)
    return Situation(
        definition=definition,
        anchor=anchor,
        first=first,
        now=now,
        horizon=now + draw(spans(unit, 5)),
        budget=draw(sometimes(st.integers(0, 4))),
    )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the naive planner says: the ticks of each row, those that run, and the first of the others."""

    policy: list[datetime]
    reason: str
    expired: list[datetime]
    running: list[datetime]
    following: datetime | None


def judge(situation: Situation) -> Verdict:
    """Every tick is looked at, one after the other."""
    ticks = list(up_to(situation.horizon, situation.ticks()))
    overdue = find_overdue(situation, ticks)
    if situation.budget == 0:
        return Verdict(policy=[], reason="", expired=[], running=[], following=ticks[0])
    policy, reason = apply_policy(situation, overdue)
    rest = ticks[len(policy) :]
    reached = list(takewhile(lambda tick: situation.due(tick) <= situation.horizon, rest))[:BATCH]
    deadline = situation.definition.starting_deadline
    expired = []
    if deadline is not None:
        expired = list(takewhile(lambda tick: situation.now - situation.due(tick) > deadline, reached))
    running = reached[len(expired) :][: situation.budget]
    left = rest[len(expired) + len(running) :]
    return Verdict(
        policy=policy, reason=reason, expired=expired, running=running, following=left[0] if left else None
    )


def up_to(horizon: datetime, ticks: Iterator[datetime]) -> Iterator[datetime]:
    """The ticks up to the horizon, and one more."""
    for tick in ticks:
        yield tick
        if tick > horizon:
            return


def find_overdue(situation: Situation, ticks: list[datetime]) -> list[datetime]:
    """All up to the last whose instant has come; none as long as the first one's has not."""
    come = [index for index, tick in enumerate(ticks) if situation.due(tick) <= situation.now]
    return ticks[: come[-1] + 1] if come and come[0] == 0 else []


def apply_policy(situation: Situation, overdue: list[datetime]) -> tuple[list[datetime], str]:
    definition, now = situation.definition, situation.now
    lateness = [now - situation.due(tick) for tick in overdue]

    def later_than(limit: timedelta) -> list[datetime]:
        return overdue[: len(list(takewhile(lambda late: late > limit, lateness)))]

    if definition.misfire is Misfire.SKIP:
        return later_than(definition.misfire_grace), "grace"
    if definition.misfire is Misfire.RUN_ALL:
        beyond = overdue[: max(0, len(overdue) - definition.max_catchup)]
        outside = [] if definition.catchup_window is None else later_than(definition.catchup_window)
        return (beyond, "cap") if len(beyond) > len(outside) else (outside, "window")
    return (overdue[:-1], "") if overdue and lateness[0] > SECOND else ([], "")


def row(status: str, reason: str, ticks: list[datetime]) -> list[Passed]:
    if not ticks:
        return []
    return [Passed(status=status, reason=reason, first=ticks[0], last=ticks[-1], count=len(ticks))]


@quietly
@given(situations())
def test_a_plan_is_what_looking_at_every_tick_would_give(situation: Situation):
    verdict, answer = judge(situation), situation.plan()
    note(answer, situation)
    assert [tick.scheduled_for for tick in answer.ticks] == verdict.running
    status = "coalesced" if situation.definition.misfire is Misfire.RUN_ONCE else "missed"
    rows = row(status, verdict.reason, verdict.policy) + row("missed", "deadline", verdict.expired)
    assert list(answer.passed) == rows
    assert answer.next_tick_at == verdict.following


def note(answer: Plan, situation: Situation) -> None:
    """What the examples are about, for hypothesis's statistics."""
    reasons = " and ".join(passed.reason or passed.status for passed in answer.passed) or "nothing"
    event(f"{situation.definition.misfire}: passes {reasons}, runs {min(len(answer.ticks), 2)}")


@quietly
@given(situations())
def test_every_tick_has_exactly_one_place_in_a_plan(situation: Situation):
    answer = situation.plan()
    upcoming = situation.ticks()
    consume(answer, upcoming)
    assert next(upcoming, None) == answer.next_tick_at
    assert answer.next_due_at == (answer.next_tick_at and situation.due(answer.next_tick_at))


@quietly
@given(situations(), st.lists(st.floats(0.1, 40), min_size=1, max_size=12))
def test_a_history_of_plans_settles_every_tick_once_and_in_order(situation: Situation, pauses: list[float]):
    """The scheduler comes round at odd times, as it does between stalls and outages."""
    upcoming = situation.ticks()
    unit = max(situation.horizon - situation.now, 10 * MILLISECOND)
    for pause in [0.0, *pauses]:
        now = situation.now + pause * unit
        situation = replace(situation, now=now, horizon=now + unit)
        answer = situation.plan()
        consume(answer, upcoming)
        if answer.next_tick_at is None:
            assert next(upcoming, None) is None
            return
        situation = replace(situation, first=answer.next_tick_at)
    assert next(upcoming) == situation.first


def consume(answer: Plan, upcoming: Iterator[datetime]) -> None:
    """Take the ticks that a plan settles off those to come: the rows first, then the runs, none left out."""
    places = [(row.first, row.last, row.count) for row in answer.passed]
    places += [(tick.scheduled_for, tick.scheduled_for, 1) for tick in answer.ticks]
    for first, last, count in places:
        ticks = list(islice(upcoming, count))
        assert (ticks[0], ticks[-1], len(ticks)) == (first, last, count)


@quietly
@given(situations())
def test_a_tick_runs_when_its_jitter_is_over(situation: Situation):
    for tick in situation.plan().ticks:
        assert tick.due_at == situation.due(tick.scheduled_for)
        assert timedelta(0) <= tick.due_at - tick.scheduled_for <= situation.definition.jitter


@quietly
@given(situations())
def test_planning_again_at_once_finds_nothing_more_unless_there_was_too_much(situation: Situation):
    answer = replace(situation, budget=None).plan()
    if answer.next_tick_at is None or len(answer.ticks) == BATCH:
        return
    again = replace(situation, first=answer.next_tick_at, budget=None).plan()
    assert (again.ticks, again.passed) == ((), ())
