"""Days of a month as people give them: 1 to 31, -1 (the last) to -31, "first mon", "last friday"."""

from __future__ import annotations

from collections.abc import Iterable

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.days import DayPattern
from django_gocron.schedules.suggestions import shown
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.weekdays import SHORT, read_weekday

MonthDay = int | str

ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}


def read_month_days(value: object, field: str = "on") -> tuple[MonthDay, ...]:
    """The days, without doubles, in one order: from the front, from the end, numbered weekdays ("first mon").

    ``ScheduleError``: ``no_days``, ``day_out_of_range``, ``day_unreadable``, ``weekday_unknown``.
    """
    days = {_read_day(each, field) for each in as_list(value)}
    if not days:
        raise ScheduleError(_("Choose at least one day."), code="no_days", field=field)
    return tuple(sorted(days, key=_order))


def as_list(value: object) -> list[object]:
    """What may be one value, several or None, as a list."""
    if value is None:
        return []
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict):
        return list(value)
    return [value]


def day_pattern(days: Iterable[MonthDay]) -> DayPattern:
    """The pattern that picks days as ``read_month_days`` gives them."""
    given = list(days)
    return DayPattern(
        dates=frozenset(day for day in given if isinstance(day, int)),
        nth=frozenset(numbered_weekday(day) for day in given if isinstance(day, str)),
    )


def numbered_weekday(day: str) -> tuple[int, int]:
    """The pair ``(1, 1)`` for "first mon", ``(-1, 5)`` for "last fri"."""
    ordinal, weekday = day.split()
    return ORDINALS[ordinal], SHORT.index(weekday)


def _read_day(value: object, field: str) -> MonthDay:
    if isinstance(value, str):
        return _read_numbered(value, field)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _unreadable(value, field)
    if value == 0 or abs(value) > 31:
        message = _("Day must be from 1 to 31, or from -1 (the last) to -31; %(value)s is not.")
        raise ScheduleError(message % {"value": shown(value)}, code="day_out_of_range", field=field)
    return value


def _read_numbered(value: str, field: str) -> str:
    words = value.lower().split()
    if len(words) != 2 or words[0] not in ORDINALS:
        raise _unreadable(value, field)
    return f"{words[0]} {SHORT[read_weekday(words[1], field)]}"


def _unreadable(value: object, field: str) -> ScheduleError:
    message = _("%(value)s is not a day of the month. Write 15, -1 for the last day, or 'first mon'.")
    return ScheduleError(message % {"value": shown(value)}, code="day_unreadable", field=field)


def _order(day: MonthDay) -> tuple[int, int, int]:
    if isinstance(day, int):
        return (0 if day > 0 else 1, day, 0)
    ordinal, weekday = day.split()
    return (2, list(ORDINALS).index(ordinal), SHORT.index(weekday))
