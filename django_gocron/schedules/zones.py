"""Time zones by name."""

from __future__ import annotations

from zoneinfo import ZoneInfo, available_timezones

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.suggestions import find_close, shown, with_suggestion
from django_gocron.schedules.text import gettext as _


def find_zone(name: object, field: str = "timezone") -> ZoneInfo:
    """The zone of that IANA name. ``ScheduleError``: ``timezone_unknown``, with a suggestion where one is close."""
    try:
        return ZoneInfo(name)  # type: ignore[arg-type]
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise ScheduleError(_unknown(name), code="timezone_unknown", field=field) from error


def _unknown(name: object) -> str:
    message = _("%(name)s is not a known time zone.") % {"name": shown(name)}
    return with_suggestion(message, _closest(str(name)))


def _closest(name: str) -> str | None:
    """The zone whose city, or else whose whole name, reads most like ``name``."""
    zones = sorted(available_timezones())
    cities = {zone.rpartition("/")[2].lower(): zone for zone in reversed(zones)}
    wanted = name.strip().lower().replace(" ", "_")
    for known in (cities, {zone.lower(): zone for zone in zones}):
        close = find_close(wanted, known, cutoff=0.75)
        if close:
            return known[close]
    return None
