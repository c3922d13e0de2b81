"""Times of the day as people give them: "HH:MM", "HH:MM:SS", a ``time``, or a list of those."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import time

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.suggestions import shown
from django_gocron.schedules.text import gettext as _

_TIME = re.compile(r"([0-9]{1,4}):([0-9]{1,4})(?::([0-9]{1,4}))?")

_LIMITS = (
    (23, "hour_out_of_range"),
    (59, "minute_out_of_range"),
    (59, "second_out_of_range"),
)


def read_times(value: object, field: str = "at") -> tuple[time, ...]:
    """The times, sorted, without doubles.

    ``ScheduleError``: ``no_times``, ``time_unreadable``, ``hour_out_of_range``, ``minute_out_of_range``,
    ``second_out_of_range``.
    """
    if value is None:
        raise _none_given(field)
    given = value if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict) else [value]
    times = sorted({_read_time(each, field) for each in given})
    if not times:
        raise _none_given(field)
    return tuple(times)


def time_text(moment: time) -> str:
    """As HH:MM, with seconds only if there are any."""
    return moment.isoformat("seconds" if moment.second else "minutes")


def second_of_day(moment: time) -> int:
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _read_time(value: object, field: str) -> time:
    if isinstance(value, time):
        return _plain(value, field)
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        message = _("Enter a time such as 07:30; %(value)s is not one.")
        raise ScheduleError(message % {"value": shown(value)}, code="time_unreadable", field=field)
    hour, minute, second = (int(number or 0) for number in found.groups())
    for number, (limit, code) in zip((hour, minute, second), _LIMITS, strict=True):
        if number > limit:
            raise ScheduleError(_too_high(code, found[0], limit), code=code, field=field)
    return time(hour, minute, second)


def _plain(value: time, field: str) -> time:
    if value.tzinfo is not None or value.microsecond:
        message = _("Enter a time of day in whole seconds and without a zone; %(value)s is not one.")
        raise ScheduleError(message % {"value": value.isoformat()}, code="time_unreadable", field=field)
    return value.replace(fold=0)


def _too_high(code: str, value: str, limit: int) -> str:
    messages = {
        "hour_out_of_range": _("Hour must be from 0 to %(limit)s in '%(value)s'."),
        "minute_out_of_range": _("Minute must be from 0 to %(limit)s in '%(value)s'."),
        "second_out_of_range": _("Second must be from 0 to %(limit)s in '%(value)s'."),
    }
    return messages[code] % {"limit": limit, "value": value}


def _none_given(field: str) -> ScheduleError:
    return ScheduleError(_("Enter at least one time such as 07:30."), code="no_times", field=field)
