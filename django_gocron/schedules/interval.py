"""Schedules in elapsed time: no wall clock, no gaps, no folds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.base import TermedSchedule
from django_gocron.schedules.durations import check_interval, read_duration, seconds, too_long
from django_gocron.schedules.phrases import duration_phrase, interval_phrase
from django_gocron.schedules.search import count_by_walking
from django_gocron.schedules.terms import LATEST, Terms
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.wallclock import MICROSECOND

CHAIN = 1000
"""How many of the longest intervals a chain of random ticks spans before it is begun anew."""


@dataclass(frozen=True, slots=True, init=False)
class Every(TermedSchedule, kind="every"):
    """``anchor + k * interval`` for k = 1, 2, ...: a grid that late and missed runs do not shift.

    ``Every(timedelta(minutes=5))``, ``Every(300)`` (seconds) and ``Every(minutes=5)`` are equal. At least 10 ms.
    ``ScheduleError``: ``zero_interval``, ``negative_interval``, ``interval_too_short``, ``interval_too_long``,
    ``duration_unreadable``.
    """

    interval: timedelta

    def __init__(
        self,
        interval: timedelta | float | None = None,
        *,
        weeks: float = 0,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> None:
        parts = {"weeks": weeks, "days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        total = timedelta(0) if interval is None else read_duration(interval, "interval")
        total = _add(total, parts)
        check_interval(total, "interval")
        self._assign(interval=total)

    def _next(self, moment: datetime, terms: Terms) -> datetime | None:
        return self._nth((moment - terms.anchor) // self.interval + 1, terms)

    def _latest(self, moment: datetime, terms: Terms) -> datetime | None:
        number = (moment - terms.anchor) // self.interval
        return self._nth(number, terms) if number else None

    def _count(self, after: datetime, through: datetime, terms: Terms) -> int:
        return (through - terms.anchor) // self.interval - (after - terms.anchor) // self.interval

    def _nth(self, number: int, terms: Terms) -> datetime | None:
        try:
            tick = terms.anchor + number * self.interval
        except OverflowError:
            return None
        return tick if tick <= LATEST else None

    def describe(self) -> str:
        return _("Every %(duration)s") % {"duration": interval_phrase(self.interval)}

    def to_data(self) -> dict[str, Any]:
        return {"seconds": seconds(self.interval)}


def _add(total: timedelta, parts: dict[str, float]) -> timedelta:
    for name, value in parts.items():
        read_duration(value, name)
    try:
        return total + timedelta(**parts)
    except OverflowError as error:
        raise too_long("interval") from error


@dataclass(frozen=True, slots=True, init=False)
class EveryRandom(TermedSchedule, kind="every_random"):
    """Each tick follows the one before by at least ``min`` and less than ``max``.

    The draw depends on the job's seed and the previous tick alone, so every instance, process and preview sees the
    same ticks. ``next_after`` takes the moment it is asked about for the previous tick. ``latest_before`` follows the
    chain from the anchor over a span of 1,000 times ``max``; later moments have chains of their own, begun anew every
    such span. ``count_between`` follows the chain from ``after`` for 10,000 ticks and estimates what lies beyond.
    ``ScheduleError``: ``min_not_below_max``, and those of ``Every`` for ``min`` and ``max``.
    """

    min: timedelta
    max: timedelta

    def __init__(self, min: timedelta | float, max: timedelta | float) -> None:
        shortest, longest = read_duration(min, "min"), read_duration(max, "max")
        if shortest >= longest:
            message = _("The shortest interval must be less than the longest.")
            raise ScheduleError(message, code="min_not_below_max", field="min")
        check_interval(shortest, "min")
        self._assign(min=shortest, max=longest)

    def _next(self, moment: datetime, terms: Terms) -> datetime | None:
        try:
            tick = moment + self.min + self._draw(moment, terms.seed)
        except OverflowError:
            return None
        return tick if tick <= LATEST else None

    def _draw(self, previous: datetime, seed: str) -> timedelta:
        """A whole number of microseconds in ``[0, max - min)``."""
        digest = hashlib.blake2b(f"{seed}|{previous.isoformat()}".encode(), digest_size=8).digest()
        span = (self.max - self.min) // MICROSECOND
        return (int.from_bytes(digest) * span >> 64) * MICROSECOND

    def _latest(self, moment: datetime, terms: Terms) -> datetime | None:
        block = CHAIN * self.max
        tick = terms.anchor + (moment - terms.anchor) // block * block
        while (later := self._next(tick, terms)) and later <= moment:
            tick = later
        return tick if tick > terms.anchor else None

    def _count(self, after: datetime, through: datetime, terms: Terms) -> int:
        return count_by_walking(partial(self._next, terms=terms), after, through)

    def describe(self) -> str:
        bounds = {"min": duration_phrase(self.min), "max": duration_phrase(self.max)}
        return _("At random, %(min)s to %(max)s apart") % bounds

    def to_data(self) -> dict[str, Any]:
        return {"min": seconds(self.min), "max": seconds(self.max)}
