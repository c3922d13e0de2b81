"""Which moves of a zone's clock touch the fixed times of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from django_gocron.schedules.firing import Firing
from django_gocron.schedules.wallclock import MICROSECOND, Stretch, stretches


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """At ``instant`` (aware UTC) the clock of ``zone`` goes from one reading to another, both naive local.

    ``time`` is the first fixed time that a move forward swallows, or that a move back repeats.
    """

    zone: tzinfo
    instant: datetime
    before: datetime
    after: datetime
    time: datetime

    @property
    def is_gap(self) -> bool:
        return self.before < self.after

    def name_of_pass(self, *, second: bool) -> str:
        """What the zone's time is called when a repeated time comes: "CEST" at first, then "CET"."""
        return self.zone.tzname(self.time.replace(fold=int(second))) or ""


def clock_changes(firing: Firing, after: datetime, through: datetime) -> Iterator[ClockChange]:
    """The changes in ``(after, through]`` (naive UTC) that matter to a fixed schedule."""
    for stretch in stretches(firing.zone, after, through):
        if after < stretch.start <= through:
            yield from _touching(firing, stretch)


def _touching(firing: Firing, stretch: Stretch) -> Iterator[ClockChange]:
    before, new = stretch.start + stretch.before, stretch.start + stretch.offset
    time = firing.times.next(min(before, new) - MICROSECOND)
    if time is not None and time < max(before, new):
        instant = stretch.start.replace(tzinfo=UTC)
        yield ClockChange(zone=firing.zone, instant=instant, before=before, after=new, time=time)
