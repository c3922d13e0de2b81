"""Wall times as days multiplied by times of the day, in arithmetic: next, previous and count, without walking.

Days are proleptic ordinals (``date.toordinal``), times of the day are whole seconds since midnight.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

FIRST = datetime(1, 1, 1)  # noqa: DTZ001 - a wall time
"""Midnight of the day whose ordinal is 1."""


class WallTimes(Protocol):
    """A set of naive local wall times, on whole seconds."""

    def next(self, wall: datetime) -> datetime | None:
        """The first one strictly later than ``wall``; None: there is none."""

    def previous(self, wall: datetime) -> datetime | None:
        """The last one at or before ``wall``; None: there is none."""

    def count(self, after: datetime, through: datetime) -> int:
        """How many lie in ``(after, through]``."""


class Days(Protocol):
    """A set of days."""

    def next(self, day: int) -> int | None:
        """The first one at or after ``day``."""

    def previous(self, day: int) -> int | None:
        """The last one at or before ``day``."""

    def count(self, first: int, last: int) -> int:
        """How many lie in ``[first, last]``."""


class TimesOfDay(Protocol):
    """A non-empty set of times of the day, known by rank and by number."""

    size: int

    def rank(self, second: int) -> int:
        """How many are earlier than ``second``."""

    def nth(self, rank: int) -> int:
        """The one that ``rank`` others precede; ``-1`` is the last."""


class ListedTimes:
    """Times of the day one by one."""

    __slots__ = ("_seconds", "size")

    def __init__(self, seconds: list[int]) -> None:
        self._seconds = sorted(set(seconds))
        self.size = len(self._seconds)

    def rank(self, second: int) -> int:
        return bisect_left(self._seconds, second)

    def nth(self, rank: int) -> int:
        return self._seconds[rank]


class ClockTimes:
    """Every combination of some hours, minutes and seconds; up to 86,400 of them cost no memory."""

    __slots__ = ("_hours", "_minutes", "_per_hour", "_seconds", "size")

    def __init__(self, hours: list[int], minutes: list[int], seconds: list[int]) -> None:
        self._hours, self._minutes, self._seconds = hours, minutes, seconds
        self._per_hour = len(minutes) * len(seconds)
        self.size = len(hours) * self._per_hour

    def rank(self, second: int) -> int:
        hour, rest = divmod(second, 3600)
        hours = bisect_left(self._hours, hour)
        if hours == len(self._hours) or self._hours[hours] != hour:
            return hours * self._per_hour
        minute, rest = divmod(rest, 60)
        minutes = bisect_left(self._minutes, minute)
        rank = hours * self._per_hour + minutes * len(self._seconds)
        if minutes == len(self._minutes) or self._minutes[minutes] != minute:
            return rank
        return rank + bisect_left(self._seconds, rest)

    def nth(self, rank: int) -> int:
        hours, rest = divmod(rank % self.size, self._per_hour)
        minutes, seconds = divmod(rest, len(self._seconds))
        return self._hours[hours] * 3600 + self._minutes[minutes] * 60 + self._seconds[seconds]


@dataclass(frozen=True, slots=True)
class DayTimes:
    """The wall times that fall on one of ``days`` at one of ``times``."""

    days: Days
    times: TimesOfDay

    def next(self, wall: datetime) -> datetime | None:
        today, rank = self._position(wall)
        day = self.days.next(today if rank < self.times.size else today + 1)
        if day is None:
            return None
        return _wall(day, self.times.nth(rank if day == today else 0))

    def previous(self, wall: datetime) -> datetime | None:
        today, rank = self._position(wall)
        day = self.days.previous(today if rank else today - 1)
        if day is None:
            return None
        return _wall(day, self.times.nth(rank - 1 if day == today else -1))

    def count(self, after: datetime, through: datetime) -> int:
        if through <= after:
            return 0
        first, skipped = self._position(after)
        last, taken = self._position(through)
        whole = self.days.count(first, last) * self.times.size
        untaken = self.times.size - taken
        return whole - skipped * self.days.count(first, first) - untaken * self.days.count(last, last)

    def _position(self, wall: datetime) -> tuple[int, int]:
        """The day of ``wall`` and how many times of the day are at or before it."""
        second = wall.hour * 3600 + wall.minute * 60 + wall.second
        return wall.toordinal(), self.times.rank(second + 1)


def _wall(day: int, second: int) -> datetime:
    return FIRST + timedelta(day - 1, second)
