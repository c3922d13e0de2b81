"""Lengths of time as people give them: a ``timedelta``, a number of seconds, or Go's text (``1h30m``)."""

from __future__ import annotations

import re
from datetime import timedelta

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.suggestions import shown
from django_gocron.schedules.text import gettext as _

SHORTEST = timedelta(milliseconds=10)

_PART = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_GO_DURATION = re.compile(rf"([+-]?)((?:{_PART})+)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def read_duration(value: object, field: str) -> timedelta:
    """A ``timedelta`` as it is, a number as seconds.

    ``ScheduleError``: ``duration_unreadable`` for anything else, ``interval_too_long`` beyond a timedelta's range.
    """
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        message = _("Enter a duration: a timedelta or a number of seconds, not %(value)s.")
        raise ScheduleError(message % {"value": shown(value)}, code="duration_unreadable", field=field)
    try:
        return timedelta(seconds=value)
    except OverflowError as error:
        raise too_long(field) from error


def read_go_duration(text: str, field: str) -> timedelta:
    """Go's notation, as in ``@every 1h30m``. ``ScheduleError``: ``duration_unreadable``, ``interval_too_long``."""
    found = _GO_DURATION.fullmatch(text)
    if found is None:
        message = _("%(text)s is not a duration. Write it as 90s, 15m or 1h30m.")
        raise ScheduleError(message % {"text": shown(text)}, code="duration_unreadable", field=field)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, found[2]))
    return read_duration(-seconds if found[1] == "-" else seconds, field)


def check_interval(interval: timedelta, field: str) -> None:
    """``ScheduleError``: ``zero_interval``, ``negative_interval``, ``interval_too_short`` (less than 10 ms)."""
    if not interval:
        raise ScheduleError(_("Interval must be more than 0."), code="zero_interval", field=field)
    if interval < timedelta(0):
        message = _("Interval must be more than 0, not negative.")
        raise ScheduleError(message, code="negative_interval", field=field)
    if interval < SHORTEST:
        message = _("Interval must be at least 10 milliseconds.")
        raise ScheduleError(message, code="interval_too_short", field=field)


def too_long(field: str) -> ScheduleError:
    message = _("Interval is too long: the calendar ends before it does.")
    return ScheduleError(message, code="interval_too_long", field=field)


def seconds(duration: timedelta) -> int | float:
    """The duration as a JSON number of seconds, whole where it is."""
    total = duration.total_seconds()
    return int(total) if total.is_integer() else total
