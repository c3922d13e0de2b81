"""How wall times become instants: what gaps and folds do to them.

A **wildcard** schedule fires at every real instant whose wall clock matches: nothing in a gap, both passes of a fold.
A **fixed** one fires each wall time once: one that a gap swallowed at the first instant after it (or not at all), one
that a fold repeats at its first pass (or the second, or both). Equal instants collapse to one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache

from django_gocron.schedules.daytimes import WallTimes
from django_gocron.schedules.wallclock import MARGIN, MICROSECOND, PROBE, Stretch, offset_at, stretches

REACH = PROBE - 2 * MARGIN
"""How far one look at the zone's clock sees reliably.

From wall times farther away, instants are only guessed until they are looked at. No zone ever changed its offset by as
much as ``2 * MARGIN`` in all, so neither is a guess that far wrong.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """What fires where the clock was moved: after a gap, in the first pass of a fold, in the second."""

    after_gap: bool
    first: bool
    second: bool


WILDCARD = Passes(after_gap=False, first=True, second=True)


@cache
def fixed(gap: str, fold: str) -> Passes:
    """The passes of a fixed schedule under the policies ``gap`` and ``fold``."""
    return Passes(after_gap=gap == "run_after", first=fold != "second", second=fold != "first")


@dataclass(frozen=True, slots=True)
class Firing:
    """Wall times read on a zone's clock. Instants in and out are naive UTC."""

    times: WallTimes
    zone: tzinfo
    passes: Passes

    def next(self, moment: datetime) -> datetime | None:
        """The first tick strictly later than ``moment``, or None."""
        return self._next_on_a_quiet_clock(moment) or self._next_by_stretches(moment)

    def _next_on_a_quiet_clock(self, moment: datetime) -> datetime | None:
        """The answer if nobody moves the clock near ``moment`` nor near the tick; None says to look closer.

        Then all later wall times are later than the moment's, and the first that matches fires once.
        """
        offset = offset_at(self.zone, moment - MARGIN)
        wall = self.times.next(moment + offset)
        if wall is None:
            return None
        tick = wall - offset
        if tick - moment <= REACH:
            return tick if offset_at(self.zone, tick + MARGIN) == offset else None
        if offset_at(self.zone, moment + MARGIN) != offset:
            return None
        offset = offset_at(self.zone, tick - 2 * MARGIN)
        tick = wall - offset
        return tick if offset_at(self.zone, tick + MARGIN) == offset else None

    def _next_by_stretches(self, moment: datetime) -> datetime | None:
        """The same, wherever the clock is moved: look by look, leaping to where wall times match."""
        begin = moment
        while True:
            end = begin + REACH
            tick = _found(self._first(stretch, begin) for stretch in stretches(self.zone, begin, end))
            if tick is not None and tick <= end:
                return tick
            offset = offset_at(self.zone, end)
            wall = self.times.next(end + offset - MARGIN)
            if wall is None:
                return None
            begin = max(end, wall - offset - 2 * MARGIN)

    def latest(self, moment: datetime, floor: datetime) -> datetime | None:
        """The last tick at or before ``moment`` and later than ``floor``, or None."""
        end = moment
        while end > floor:
            begin = end - REACH
            look = reversed([*stretches(self.zone, begin, end)])
            tick = _found(self._last(stretch, end) for stretch in look)
            if tick is not None and tick >= begin:
                return tick if tick > floor else None
            offset = offset_at(self.zone, begin)
            wall = self.times.previous(begin + offset + MARGIN)
            if wall is None:
                return None
            end = min(begin, wall - offset + 2 * MARGIN)
        return None

    def count(self, after: datetime, through: datetime) -> int:
        """How many ticks lie in ``(after, through]``, which is not empty."""
        return sum(self._count(stretch, after, through) for stretch in stretches(self.zone, after, through))

    def _first(self, stretch: Stretch, after: datetime) -> datetime | None:
        """The first tick of the stretch that is later than ``after``."""
        if stretch.start > after and self._fires_after_gap(stretch):
            return stretch.start
        wall = self.times.next(max(after + stretch.offset, self._opens(stretch) - MICROSECOND))
        if wall is None or wall >= self._closes(stretch):
            return None
        return wall - stretch.offset

    def _last(self, stretch: Stretch, through: datetime) -> datetime | None:
        """The last tick of the stretch at or before ``through``."""
        wall = self.times.previous(min(through + stretch.offset, self._closes(stretch) - MICROSECOND))
        if wall is not None and wall >= self._opens(stretch):
            return wall - stretch.offset
        if stretch.start <= through and self._fires_after_gap(stretch):
            return stretch.start
        return None

    def _count(self, stretch: Stretch, after: datetime, through: datetime) -> int:
        first = max(after + stretch.offset, self._opens(stretch) - MICROSECOND)
        last = min(through + stretch.offset, self._closes(stretch) - MICROSECOND)
        inside = self.times.count(first, last)
        if not after < stretch.start <= through or not self._fires_after_gap(stretch):
            return inside
        gap_end = stretch.start + stretch.offset
        return inside + 1 - self.times.count(gap_end - MICROSECOND, gap_end)

    def _opens(self, stretch: Stretch) -> datetime:
        """The wall time from which matches fire: what a fold repeats does not, unless second passes do."""
        repeated = stretch.offset if self.passes.second else max(stretch.before, stretch.offset)
        return stretch.start + repeated

    def _closes(self, stretch: Stretch) -> datetime:
        """The wall time up to which matches fire: what a fold will repeat may be left to the second pass."""
        return stretch.end + (stretch.offset if self.passes.first else min(stretch.offset, stretch.after))

    def _fires_after_gap(self, stretch: Stretch) -> bool:
        """Whether the gap that ends where the stretch starts swallowed a matching wall time."""
        if not self.passes.after_gap or stretch.before >= stretch.offset:
            return False
        wall = self.times.next(stretch.start + stretch.before - MICROSECOND)
        return wall is not None and wall < stretch.start + stretch.offset


def _found(ticks: Iterable[datetime | None]) -> datetime | None:
    """The first that is not None."""
    return next((tick for tick in ticks if tick is not None), None)
