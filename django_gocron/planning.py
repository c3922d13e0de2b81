"""What to run, what to skip and what comes next: a pure function of a job, its progress and the instant.

No Django, no clock, no I/O. Instants are aware UTC, durations are ``timedelta``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django_gocron.schedules import Schedule

PUNCTUAL = timedelta(seconds=1)
"""Several overdue ticks all run while the earliest of them is no later than this."""

BATCH = 1000
"""At most this many ticks of one job are planned in one go; the rest are planned in the next."""

MICROSECOND = timedelta(microseconds=1)


class Misfire(StrEnum):
    """What becomes of ticks that are found overdue."""

    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"
    SKIP = "skip"


class FirstRun(StrEnum):
    """When a job runs first."""

    ON_SCHEDULE = "on_schedule"
    IMMEDIATELY = "immediately"
    AT_STARTS_AT = "at_starts_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What people decided about a job, as far as its ticks are concerned."""

    schedule: Schedule | None
    zone: ZoneInfo
    seed: str
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    first_run: FirstRun = FirstRun.ON_SCHEDULE
    max_runs: int | None = None
    interval_from_completion: bool = False
    jitter: timedelta = timedelta(0)
    gap: str = "run_after"
    fold: str = "first"
    misfire: Misfire = Misfire.RUN_ONCE
    misfire_grace: timedelta = timedelta(seconds=60)
    catchup_window: timedelta | None = None
    max_catchup: int = 100
    starting_deadline: timedelta | None = None
    skip_until: datetime | None = None

    def calendar(self, anchor: datetime) -> dict[str, Any]:
        """The keyword arguments that every question to the schedule takes."""
        return {"zone": self.zone, "anchor": anchor, "gap": self.gap, "fold": self.fold, "seed": self.seed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a job has come. ``next_tick_at`` is the first tick that is not settled; ``budget`` is how many more
    first attempts ``max_runs`` leaves (None: no limit)."""

    anchor_at: datetime
    next_tick_at: datetime
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A planned instant that is to run at ``due_at`` (jitter included)."""

    scheduled_for: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Ticks from ``first`` to ``last``, ``count`` of them, that do not run, in one row: ``status`` with ``reason``."""

    status: str
    reason: str
    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer: ticks to run, oldest first; ticks that are settled without; and the next one (None: no more)."""

    ticks: tuple[Tick, ...] = ()
    passed: tuple[Passed, ...] = ()
    next_tick_at: datetime | None = None
    next_due_at: datetime | None = None

    @property
    def settled_through(self) -> datetime | None:
        """The latest tick this plan gives a row."""
        return max((*(tick.scheduled_for for tick in self.ticks), *(row.last for row in self.passed)), default=None)


def first_tick(definition: Definition, *, anchor: datetime, now: datetime) -> datetime | None:
    """The first tick of a job that is planned for the first time at ``now``, or None.

    A start in the past is allowed: ticks count from there, and none is made up for.
    """
    if definition.first_run is FirstRun.IMMEDIATELY:
        return within(definition, max(now, definition.starts_at or now))
    if definition.first_run is FirstRun.AT_STARTS_AT and definition.starts_at and definition.starts_at >= now:
        return within(definition, definition.starts_at)
    return next_tick(definition, anchor=anchor, after=now)


def next_tick(definition: Definition, *, anchor: datetime, after: datetime) -> datetime | None:
    """The first tick strictly later than ``after`` inside the job's window, or None when there is none.

    ``starts_at`` and ``ends_at`` are inclusive; ticks up to ``skip_until`` are passed over.
    """
    if definition.schedule is None:
        return None
    if definition.skip_until:
        after = max(after, definition.skip_until)
    if definition.starts_at and after < definition.starts_at:
        if _fires_at(definition.schedule, definition, definition.starts_at):
            return within(definition, definition.starts_at)
        after = definition.starts_at
    return within(definition, definition.schedule.next_after(after, **definition.calendar(anchor)))


def _fires_at(schedule: Schedule, definition: Definition, moment: datetime) -> bool:
    """Whether a wall-clock schedule has a tick at ``moment`` itself: the window includes its start, an anchor does not."""
    before = moment - MICROSECOND
    return schedule.next_after(before, **definition.calendar(before)) == moment


def within(definition: Definition, tick: datetime | None) -> datetime | None:
    """The tick itself unless it lies after the end of the job's window."""
    return None if tick and definition.ends_at and tick > definition.ends_at else tick


def after_completion(definition: Definition, *, finished_at: datetime) -> datetime | None:
    """The next tick of a job whose interval counts from the completion of its last run."""
    return next_tick(definition, anchor=finished_at, after=finished_at)


def due(definition: Definition, tick: datetime) -> datetime:
    """The instant at which a tick is to start: never before the tick, later by at most ``jitter``."""
    if not definition.jitter:
        return tick
    digest = hashlib.blake2b(f"{definition.seed}|{tick.isoformat()}".encode(), digest_size=8).digest()
    return tick + definition.jitter * (int.from_bytes(digest) / 2**64)


def plan(definition: Definition, progress: Progress, *, now: datetime, horizon: datetime) -> Plan:
    """Settle every tick that is due by ``horizon``: those overdue at ``now`` by the misfire policy, the rest run."""
    if definition.interval_from_completion:
        return _plan_one(definition, progress)
    passed, ticks = _overdue(definition, progress, now=now)
    resume_after = max((row.last for row in passed), default=None)
    if ticks:
        resume_after = max(ticks[-1], resume_after or ticks[-1])
    upcoming = _upcoming(definition, progress, after=resume_after)
    for tick in islice(upcoming, BATCH):
        if due(definition, tick) > horizon:
            return _answer(definition, progress, ticks, passed, tick)
        ticks.append(tick)
    return _answer(definition, progress, ticks, passed, next(upcoming, None))


def _plan_one(definition: Definition, progress: Progress) -> Plan:
    """A job whose interval counts from completion has one tick at a time: the next is known when this one ends."""
    tick = progress.next_tick_at
    return Plan(ticks=(Tick(scheduled_for=tick, due_at=due(definition, tick)),))


def _upcoming(definition: Definition, progress: Progress, *, after: datetime | None) -> Iterator[datetime]:
    tick = progress.next_tick_at if after is None else _following(definition, progress, after)
    while tick is not None:
        yield tick
        tick = _following(definition, progress, tick)


def _following(definition: Definition, progress: Progress, tick: datetime) -> datetime | None:
    return next_tick(definition, anchor=progress.anchor_at, after=tick)


def _overdue(definition: Definition, progress: Progress, *, now: datetime) -> tuple[list[Passed], list[datetime]]:
    """What the misfire policy makes of the ticks whose instant has come: rows without a run, and ticks that run."""
    first, last, count = _backlog(definition, progress, now=now)
    if not count:
        return [], []
    backlog = _Backlog(definition=definition, progress=progress, first=first, last=last, count=count, now=now)
    passed, ticks = _expire(backlog, *_apply_misfire(backlog))
    return passed, ticks


def _backlog(definition: Definition, progress: Progress, *, now: datetime) -> tuple[datetime, datetime, int]:
    """First, last and number of the overdue ticks; arithmetic, whatever the span."""
    first = progress.next_tick_at
    if due(definition, first) > now or definition.schedule is None:
        return first, first, 0
    through = min(now, definition.ends_at or now)
    calendar = definition.calendar(progress.anchor_at)
    later = definition.schedule.count_between(first, through, **calendar)
    last = definition.schedule.latest_before(through, **calendar) if later else first
    return first, max(first, last or first), 1 + later


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backlog:
    definition: Definition
    progress: Progress
    first: datetime
    last: datetime
    count: int
    now: datetime

    def newest(self, n: int) -> list[datetime]:
        """The last ``n`` ticks, oldest first."""
        ticks = [self.last]
        while len(ticks) < min(n, self.count) and ticks[-1] > self.first:
            ticks.append(self._before(ticks[-1]) or self.first)
        return ticks[::-1]

    def since(self, moment: datetime) -> int:
        """How many ticks lie at or after ``moment``."""
        if moment <= self.first:
            return self.count
        return self._count(moment - MICROSECOND, self.last)

    def row(self, status: str, reason: str, count: int) -> list[Passed]:
        """One row for the oldest ``count`` ticks, or none."""
        if not count:
            return []
        return [Passed(status=status, reason=reason, first=self.first, last=self._oldest(count), count=count)]

    def _oldest(self, count: int) -> datetime:
        """The tick that ends the oldest ``count``."""
        if count == self.count:
            return self.last
        boundary = self.newest(self.count - count)[0]
        return self._before(boundary) or self.first

    def _before(self, tick: datetime) -> datetime | None:
        assert self.definition.schedule is not None
        calendar = self.definition.calendar(self.progress.anchor_at)
        earlier = self.definition.schedule.latest_before(tick - MICROSECOND, **calendar)
        return max(earlier, self.first) if earlier else None

    def _count(self, after: datetime, through: datetime) -> int:
        assert self.definition.schedule is not None
        return self.definition.schedule.count_between(
            after, through, **self.definition.calendar(self.progress.anchor_at)
        )


def _apply_misfire(backlog: _Backlog) -> tuple[list[Passed], list[datetime]]:
    punctual = backlog.now - due(backlog.definition, backlog.first) <= PUNCTUAL
    match backlog.definition.misfire:
        case Misfire.RUN_ONCE if punctual or backlog.count == 1:
            return [], backlog.newest(backlog.count)
        case Misfire.RUN_ONCE:
            return backlog.row("coalesced", "", backlog.count - 1), [backlog.last]
        case Misfire.RUN_ALL:
            return _catch_up(backlog)
        case Misfire.SKIP:
            running = backlog.since(backlog.now - backlog.definition.misfire_grace)
            return _drop(backlog, "grace", running)


def _catch_up(backlog: _Backlog) -> tuple[list[Passed], list[datetime]]:
    """The newest ``max_catchup`` ticks inside the window run, oldest first; the others are one missed row."""
    window, cap = backlog.definition.catchup_window, backlog.definition.max_catchup
    inside = backlog.count if window is None else backlog.since(backlog.now - window)
    running = min(inside, cap)
    return _drop(backlog, "cap" if running < inside else "window", running)


def _drop(backlog: _Backlog, reason: str, running: int) -> tuple[list[Passed], list[datetime]]:
    running = min(running, BATCH)
    ticks = backlog.newest(running) if running else []
    return backlog.row("missed", reason, backlog.count - running), ticks


def _expire(
    backlog: _Backlog, passed: list[Passed], ticks: list[datetime]
) -> tuple[list[Passed], list[datetime]]:
    """Ticks that may not start any more, however they came to be late."""
    deadline = backlog.definition.starting_deadline
    if deadline is None:
        return passed, ticks
    late = [tick for tick in ticks if due(backlog.definition, tick) + deadline < backlog.now]
    if late:
        row = Passed(status="missed", reason="deadline", first=late[0], last=late[-1], count=len(late))
        passed = [*passed, row]
    return passed, ticks[len(late) :]


def _answer(
    definition: Definition,
    progress: Progress,
    ticks: list[datetime],
    passed: list[Passed],
    following: datetime | None,
) -> Plan:
    """Ticks beyond the budget of ``max_runs`` stay unsettled: they run if the limit is raised, else the job ends."""
    if progress.budget is not None and len(ticks) > progress.budget:
        following, ticks = ticks[progress.budget], ticks[: progress.budget]
    return Plan(
        ticks=tuple(Tick(scheduled_for=tick, due_at=due(definition, tick)) for tick in ticks),
        passed=tuple(passed),
        next_tick_at=following,
        next_due_at=due(definition, following) if following else None,
    )
