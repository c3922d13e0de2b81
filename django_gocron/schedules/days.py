"""Sets of days: every n days or weeks, and days picked out of months. Days are ordinals (``date.toordinal``)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import isleap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol

LAST_DAY = date(9998, 12, 31).toordinal()
"""No schedule looks further than this: the calendar of Python ends a year later."""

FIRST_DAY = date(2, 1, 1).toordinal()

SEARCHED_MONTHS = 400 * 12
"""How far a search goes: after 400 years the calendar repeats itself."""


LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LEAP_FEBRUARY = 29


class PeriodicDays:
    """Some days of a period, again and again. A period begins on ``origin``; ``offsets`` count from its beginning."""

    __slots__ = ("_offsets", "_origin", "_period")

    def __init__(self, *, origin: int, period: int, offsets: list[int]) -> None:
        self._origin, self._period, self._offsets = origin, period, sorted(set(offsets))

    def next(self, day: int) -> int | None:
        return self._nth(self._rank(day))

    def previous(self, day: int) -> int | None:
        return self._nth(self._rank(day + 1) - 1)

    def count(self, first: int, last: int) -> int:
        return self._rank(last + 1) - self._rank(first)

    def _rank(self, day: int) -> int:
        """How many of the days, counted from the origin, are earlier than ``day``."""
        periods, rest = divmod(day - self._origin, self._period)
        return periods * len(self._offsets) + bisect_left(self._offsets, rest)

    def _nth(self, rank: int) -> int | None:
        periods, index = divmod(rank, len(self._offsets))
        day = self._origin + periods * self._period + self._offsets[index]
        return day if FIRST_DAY <= day <= LAST_DAY else None


class Months(Protocol):
    """A set of months, each known by its number: ``year * 12 + month - 1``."""

    def next(self, month: int) -> int:
        """The first one at or after ``month``."""

    def previous(self, month: int) -> int:
        """The last one at or before ``month``."""


@dataclass(frozen=True, slots=True)
class SteppedMonths:
    """Every n months, counted from ``origin``."""

    origin: int
    every: int

    def next(self, month: int) -> int:
        return month + (self.origin - month) % self.every

    def previous(self, month: int) -> int:
        return month - (month - self.origin) % self.every


@dataclass(frozen=True, slots=True)
class NamedMonths:
    """The months of every year whose number (1 to 12) is in ``numbers``."""

    numbers: frozenset[int]

    def next(self, month: int) -> int:
        while month % 12 + 1 not in self.numbers:
            month += 1
        return month

    def previous(self, month: int) -> int:
        while month % 12 + 1 not in self.numbers:
            month -= 1
        return month


@dataclass(frozen=True, slots=True, kw_only=True)
class DayPattern:
    """Which days of a month: by date, by weekday (0 = Sunday), or both.

    ``dates`` are 1 to 31, or -31 to -1 counted from the end; ``nearest`` are dates moved to the nearest of Monday to
    Friday inside the month (a date that the month lacks counts as its last day); ``nth`` are pairs ``(n, weekday)``,
    n from 1 to 5 or -1 for the last. A day that a month lacks is no day of that month.
    ``either``: a day by date or by weekday matches; ``both``: it has to match by date and by weekday.
    """

    dates: frozenset[int] = frozenset()
    nearest: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    nth: frozenset[tuple[int, int]] = frozenset()
    combine: Literal["either", "both"] = "either"

    def days(self, length: int, first: int) -> list[int]:
        """The matching days of a month of ``length`` days whose 1st falls on the weekday ``first``, ascending."""
        by_date, by_weekday = self._by_date(length, first), self._by_weekday(length, first)
        return sorted(by_date | by_weekday if self.combine == "either" else by_date & by_weekday)

    def _by_date(self, length: int, first: int) -> set[int]:
        counted = {day if day > 0 else length + 1 + day for day in self.dates}
        nearest = {_nearest_weekday(min(day, length), length, first) for day in self.nearest}
        return {day for day in counted if 1 <= day <= length} | nearest

    def _by_weekday(self, length: int, first: int) -> set[int]:
        every = {day for day in range(1, length + 1) if (first + day - 1) % 7 in self.weekdays}
        numbered = {_nth_weekday(n, weekday, length, first) for n, weekday in self.nth}
        return every | {day for day in numbered if day <= length}


def ever_picks(pattern: DayPattern, months: Iterable[int]) -> bool:
    """Whether there is such a day in one of the months (1 to 12), in any year."""
    lengths = {LENGTHS[month - 1] for month in months}
    if LENGTHS[1] in lengths:
        lengths.add(LEAP_FEBRUARY)
    return any(pattern.days(length, first) for length in lengths for first in range(7))


def _nth_weekday(n: int, weekday: int, length: int, first: int) -> int:
    """The day of the nth such weekday, beyond the month's end if it has fewer; -1 is the last."""
    day = 1 + (weekday - first) % 7
    return day + 7 * ((length - day) // 7 if n == -1 else n - 1)


def _nearest_weekday(day: int, length: int, first: int) -> int:
    match (first + day - 1) % 7:
        case 6:
            return day - 1 if day > 1 else day + 2
        case 0:
            return day + 1 if day < length else day - 2
        case _:
            return day


class MonthDays:
    """The days of some months that a pattern picks. A search ends after 400 years."""

    __slots__ = ("_months", "_pattern", "_picked")

    def __init__(self, months: Months, pattern: DayPattern) -> None:
        self._months, self._pattern = months, pattern
        self._picked: dict[tuple[int, int], list[int]] = {}

    def next(self, day: int) -> int | None:
        month = _month_of(day)
        for candidate in self._forward(month):
            eve, days = self._days(candidate)
            index = bisect_left(days, day - eve) if candidate == month else 0
            if index < len(days):
                return eve + days[index]
        return None

    def previous(self, day: int) -> int | None:
        month = _month_of(day)
        for candidate in self._backward(month):
            eve, days = self._days(candidate)
            index = bisect_right(days, day - eve) if candidate == month else len(days)
            if index:
                return eve + days[index - 1]
        return None

    def count(self, first: int, last: int) -> int:
        total, month, end = 0, self._months.next(_month_of(first)), _month_of(last)
        while month <= end:
            eve, days = self._days(month)
            total += bisect_right(days, last - eve) - bisect_left(days, first - eve)
            month = self._months.next(month + 1)
        return total

    def _forward(self, month: int) -> Iterator[int]:
        limit = min(month + SEARCHED_MONTHS, _month_of(LAST_DAY))
        while (month := self._months.next(month)) <= limit:
            yield month
            month += 1

    def _backward(self, month: int) -> Iterator[int]:
        limit = max(month - SEARCHED_MONTHS, _month_of(FIRST_DAY))
        while (month := self._months.previous(month)) >= limit:
            yield month
            month -= 1

    def _days(self, month: int) -> tuple[int, list[int]]:
        """The day before the month begins, and the matching days of the month. Ordinals divisible by 7 are Sundays."""
        year, index = divmod(month, 12)
        eve = date(year, index + 1, 1).toordinal() - 1
        length = LEAP_FEBRUARY if index == 1 and isleap(year) else LENGTHS[index]
        shape = (length, (eve + 1) % 7)
        days = self._picked.get(shape)
        if days is None:
            days = self._picked[shape] = self._pattern.days(*shape)
        return eve, days


def _month_of(day: int) -> int:
    found = date.fromordinal(day)
    return found.year * 12 + found.month - 1
