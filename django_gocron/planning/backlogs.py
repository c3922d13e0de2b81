"""Ticks that are overdue, asked about without going through them one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from django_gocron.planning.ticks import due
from django_gocron.planning.values import Passed
from django_gocron.schedules import EveryRandom, OneTime, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django_gocron.planning.values import Definition, Progress

MOST = 1000
"""So many ticks are looked at one by one, where their jitter or a cap asks for it."""

LONGEST_CHAIN = 10_000
"""So many random ticks are followed one by one; the number of more of them is an estimate."""

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Overdue ticks, from ``first`` to ``last``: found by arithmetic, whatever their number."""

    schedule: Schedule
    calendar: dict[str, Any]
    first: datetime
    last: datetime

    def ticks(self, *, after: datetime | None) -> Iterator[datetime]:
        """Those later than ``after``, oldest first; with None all."""
        tick = self.schedule.next_after(after, **self.calendar) if after else self.first
        while tick and tick <= self.last:
            yield tick
            tick = self.schedule.next_after(tick, **self.calendar)

    def before(self, moment: datetime) -> datetime | None:
        """The latest of them earlier than ``moment``, or None."""
        return None if moment <= self.first else self.latest_by(moment - MICROSECOND)

    def latest_by(self, moment: datetime) -> datetime:
        """The latest of them at or before ``moment``, which is not before the first."""
        latest = self.schedule.latest_before(min(self.last, moment), **self.calendar)
        return max(self.first, latest or self.first)

    def newest(self, n: int) -> datetime:
        """The oldest of the newest ``n``."""
        tick = self.last
        for _ in range(n - 1):
            tick = self.before(tick) or self.first
        return tick

    def row(self, status: str, reason: str, last: datetime | None) -> Passed | None:
        """One row for those up to ``last``; none for None."""
        if last is None:
            return None
        count = 1 + self.schedule.count_between(self.first, last, **self.calendar)
        return Passed(status=status, reason=reason, first=self.first, last=last, count=count)


def find_backlog(definition: Definition, progress: Progress, *, now: datetime) -> Backlog | None:
    """The ticks whose time to start has come, or None: all up to the latest of them."""
    first = progress.next_tick_at
    if due(definition, first) > now:
        return None
    through = max(first, min(now, definition.ends_at or now))
    calendar = definition.calendar(progress.anchor_at)
    schedule = _countable(definition, first, through)
    backlog = Backlog(schedule=schedule, calendar=calendar, first=first, last=through)
    last = backlog.latest_by(through)
    for _ in range(MOST):
        if due(definition, last) <= now:
            break
        last = backlog.before(last) or first
    return replace(backlog, last=last)


def _countable(definition: Definition, first: datetime, through: datetime) -> Schedule:
    """A schedule that can be counted from ``first`` on. Ticks that hang on the one before are written out, unless they
    are very many."""
    schedule = definition.schedule
    if schedule is None or definition.interval_from_completion:
        return OneTime(first)
    if not isinstance(schedule, EveryRandom):
        return schedule
    chain = Backlog(schedule=schedule, calendar=definition.calendar(first), first=first, last=through)
    ticks = list(islice(chain.ticks(after=None), LONGEST_CHAIN))
    return OneTime(ticks) if len(ticks) < LONGEST_CHAIN else schedule
