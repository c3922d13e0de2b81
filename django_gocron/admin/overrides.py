"""Declared jobs: which fields people changed, what the code says of each, and whether the code still declares a job."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_gocron import registry
from django_gocron.admin.duration_field import write_duration
from django_gocron.admin.moments import in_zone, zone_of
from django_gocron.declarations import overridden_fields
from django_gocron.merging import declared_value
from django_gocron.models.fields import Unreadable
from django_gocron.schedules import Schedule

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from django_gocron.models import Job


def find_place(job: Job) -> str:
    """Where the code of this process declares the job, "shop/jobs.py:12"; "" where it does not."""
    if job.key is None:
        return ""
    return next((one.where for one in registry.declarations() if one.key == job.key), "")


def overrides(job: Job) -> dict[str, SafeString]:
    """For each field of a declared job that people changed, a note of what the code says."""
    return {name: _note(in_words(job, name, declared_value(job, name))) for name in overridden_fields(job)}


def _note(said: str) -> SafeString:
    return format_html(
        '<span class="gocron-overridden">{}</span>',
        _("Overridden: the code says %(value)s.") % {"value": said},
    )


def in_words(job: Job, name: str, value: Any) -> str:
    """A value of a field of the job, as people read it."""
    choices: dict[Any, Any] = dict(getattr(job._meta.get_field(name), "flatchoices", None) or ())
    match value:
        case None | "" | [] | {}:
            return _("only by hand") if name == "schedule" else _("nothing")
        case bool():
            return _("yes") if value else _("no")
        case Schedule() | Unreadable():
            return f"“{value.describe()}”"
        case timedelta():
            return write_duration(value)
        case datetime():
            return in_zone(value, zone_of(job))
        case list() if name == "tags":
            return ", ".join(value)
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return f"“{choices.get(value, value)}”"


def why_it_stays(job: Job) -> str:
    """Why the job cannot be deleted, or ""."""
    place = find_place(job)
    if not place:
        return ""
    message = _("%(job)s is defined in code and would come back. Pause it, or remove it from %(place)s.")
    return message % {"job": job.name, "place": place}
