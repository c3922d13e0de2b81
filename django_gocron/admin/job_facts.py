"""What people who may not change a job see of it, in place of form fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.translation import gettext_lazy

from django_gocron.admin.job_list import sentence
from django_gocron.admin.moments import in_zone, zone_of
from django_gocron.masking import mask_arguments
from django_gocron.models.fields import Unreadable

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from django_gocron.models import Job


class JobFacts:
    """Read-only fields, for a ``ModelAdmin``."""

    @admin.display(description=gettext_lazy("Schedule"))
    def schedule_in_words(self, job: Job) -> SafeString | str:
        return sentence(job, zone_of(job))

    @admin.display(description=gettext_lazy("Starts at"))
    def starts(self, job: Job) -> str | None:
        return in_zone(job.starts_at, zone_of(job)) if job.starts_at else None

    @admin.display(description=gettext_lazy("Ends at"))
    def ends(self, job: Job) -> str | None:
        return in_zone(job.ends_at, zone_of(job)) if job.ends_at else None

    @admin.display(description=gettext_lazy("Tags"))
    def tags_in_words(self, job: Job) -> str:
        return ", ".join(job.tags)

    @admin.display(description=gettext_lazy("Arguments"))
    def arguments(self, job: Job) -> SafeString:
        return format_html('<code dir="ltr">{}</code>', arguments_text(job.args, job.kwargs))


def arguments_text(args: Any, kwargs: Any) -> str:
    """As JSON, with secrets masked: the list, if there is one, then the object."""
    if isinstance(args, Unreadable) or isinstance(kwargs, Unreadable):
        return "; ".join(value.reason for value in (args, kwargs) if isinstance(value, Unreadable))
    named = mask_arguments(kwargs) if isinstance(kwargs, dict) else kwargs
    shown = [json.dumps(value, ensure_ascii=False) for value in (args, named) if value]
    return " ".join(shown) or "-"
