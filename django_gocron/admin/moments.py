"""Instants and durations in words. Every instant is aware, and every text of one names its zone."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from django.utils import formats
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from django_gocron.conf import get_settings
from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import find_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from django.utils.safestring import SafeString

    from django_gocron.models import Job


def project_zone() -> ZoneInfo:
    return find_zone(get_settings().time_zone)


def zone_of(job: Job | None) -> ZoneInfo:
    """The zone a job's instants are shown in; the project's where its own cannot be read."""
    try:
        return job.zone if job else project_zone()
    except ScheduleError:
        return project_zone()


def in_zone(instant: datetime, zone: tzinfo) -> str:
    """ "Wed 2 Dec 2026 07:30 CET", with seconds where they are not 0."""
    local = instant.astimezone(zone)
    pattern = pgettext("format of a date and time", "D j M Y H:i")
    if local.second:
        pattern = pgettext("format of a date and time", "D j M Y H:i:s")
    return f"{formats.date_format(local, pattern)} {abbreviation(local)}"


def beside(instant: datetime, zone: tzinfo, other: datetime) -> str:
    """As ``in_zone``, without what goes without saying beside ``other``: the same year, the same day."""
    local, known = instant.astimezone(zone), other.astimezone(zone)
    if local.date() == known.date():
        return clock_time(instant, zone)
    if local.year != known.year:
        return in_zone(instant, zone)
    pattern = pgettext("format of a date and time", "D j M H:i")
    return f"{formats.date_format(local, pattern)} {abbreviation(local)}"


def clock_time(instant: datetime, zone: tzinfo) -> str:
    """ "07:30 CET", for when the day is plain."""
    local = instant.astimezone(zone)
    return f"{formats.date_format(local, 'H:i:s' if local.second else 'H:i')} {abbreviation(local)}"


def to_the_millisecond(instant: datetime, zone: tzinfo) -> str:
    """ "Wed 2 Dec 2026 07:30:00.012 CET"."""
    local = instant.astimezone(zone)
    day = formats.date_format(local, pgettext("format of a date and time", "D j M Y H:i:s"))
    return f"{day}.{local.microsecond // 1000:03d} {abbreviation(local)}"


def abbreviation(local: datetime) -> str:
    """ "CET"; where a zone has no letters, "UTC+03" or "UTC+05:45"."""
    name = local.tzname() or ""
    if not name.startswith(("+", "-")):
        return name
    hours, minutes = name[:3], name[3:]
    return f"UTC{hours}:{minutes}" if minutes else f"UTC{hours}"


def time_tag(instant: datetime, text: str) -> SafeString:
    return format_html('<time datetime="{}">{}</time>', instant.isoformat(), text)


def ago(elapsed: timedelta) -> str:
    if elapsed < timedelta(seconds=1):
        return _("just now")
    return _("%(duration)s ago") % {"duration": words(elapsed)}


def ahead(left: timedelta) -> str:
    if left < timedelta(seconds=1):
        return _("due now")
    return _("in %(duration)s") % {"duration": words(left)}


def words(duration: timedelta) -> str:
    """The largest unit alone, rounded down: "14 minutes"."""
    seconds = int(duration.total_seconds())
    if seconds < 60:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    if seconds < 3600:
        return ngettext("%(n)d minute", "%(n)d minutes", seconds // 60) % {"n": seconds // 60}
    if seconds < 86_400:
        return ngettext("%(n)d hour", "%(n)d hours", seconds // 3600) % {"n": seconds // 3600}
    return ngettext("%(n)d day", "%(n)d days", duration.days) % {"n": duration.days}


def short(duration: timedelta) -> str:
    """The two largest units: "12 ms", "4.5 s", "2 min 5 s", "1 h 5 min"."""
    seconds = duration.total_seconds()
    if abs(seconds) < 1:
        return _("%(n)d ms") % {"n": round(seconds * 1000)}
    if abs(seconds) < 10:
        return _("%(n)s s") % {"n": formats.number_format(round(seconds, 1))}
    sign, left = ("-" if seconds < 0 else ""), round(abs(seconds))
    parts = []
    for size, unit in ((86_400, _("%(n)d d")), (3600, _("%(n)d h")), (60, _("%(n)d min")), (1, _("%(n)d s"))):
        number, left = divmod(left, size)
        if number:
            parts.append(unit % {"n": number})
    return sign + " ".join(parts[:2])
