"""Weekday names as people write them; 0 is Sunday, as in cron and in gocron."""

from __future__ import annotations

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.suggestions import find_close, shown, with_suggestion
from django_gocron.schedules.text import gettext as _

SHORT = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONG = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_NUMBERS = {name: number for names in (SHORT, _LONG) for number, name in enumerate(names)}


def read_weekday(value: object, field: str) -> int:
    """The number of a weekday given as "mon" or "Monday". ``ScheduleError``: ``weekday_unknown``."""
    if not isinstance(value, str):
        message = _(
            "Write the weekday as a name, such as mon: numbers mean different days to different people."
        )
        raise ScheduleError(message, code="weekday_unknown", field=field)
    number = _NUMBERS.get(value.strip().lower())
    if number is None:
        message = _("%(value)s is not a weekday; write sun, mon, tue, wed, thu, fri or sat.")
        message = with_suggestion(message % {"value": shown(value)}, find_close(value.lower(), _NUMBERS))
        raise ScheduleError(message, code="weekday_unknown", field=field)
    return number
