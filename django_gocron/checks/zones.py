"""Time zones: whether this system knows any, and those of the jobs."""

from __future__ import annotations

import zoneinfo
from typing import TYPE_CHECKING, Any

from django.core import checks
from django.db import DatabaseError

from django_gocron.checks.target import find_checked
from django_gocron.exceptions import ScheduleError
from django_gocron.models import Job
from django_gocron.schedules import find_zone
from django_gocron.tables import are_ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.core.checks import CheckMessage

MOST = 3
"""Jobs named for one zone."""


def check_zone_data(**kwargs: Any) -> list[CheckMessage]:
    """E003: neither the system nor a package brings the time zone database."""
    if _is_known("UTC") or zoneinfo.available_timezones():
        return []  # the first is quick, and the second reads every zone there is
    return [
        checks.Error(
            "This system has no time zone data: no zone can be loaded, so no job has a next run.",
            hint="Install the package tzdata: `pip install tzdata`, or that of the operating system.",
            id="gocron.E003",
        )
    ]


def check_stored_zones(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """W012: jobs whose zone this system does not know."""
    using = find_checked(databases)
    try:
        return _find_unknown(using) if using is not None and are_ready(using) else []
    except DatabaseError:
        return []  # whoever needs the database says better what is wrong with it


def _find_unknown(using: str) -> list[CheckMessage]:
    stored = Job.objects.using(using).exclude(timezone="").order_by("timezone")
    zones = stored.values_list("timezone", flat=True).distinct()
    return [_warn(using, zone) for zone in zones if not _is_known(zone)]


def _is_known(zone: str) -> bool:
    try:
        find_zone(zone)
    except ScheduleError:
        return False
    return True


def _warn(using: str, zone: str) -> CheckMessage:
    names = list(
        Job.objects.using(using).filter(timezone=zone).order_by("name").values_list("name", flat=True)
    )
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return checks.Warning(
        f"The time zone {zone!r} is not known on this system: {', '.join(map(repr, names[:MOST]))}{more} cannot run.",
        hint="Choose another zone for these jobs, or upgrade the time zone data: `pip install --upgrade tzdata`.",
        id="gocron.W012",
    )
