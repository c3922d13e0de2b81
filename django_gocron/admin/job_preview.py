"""The next runs of a schedule as it stands in the form of a job, before it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from django_gocron.admin.job_list import state_of
from django_gocron.admin.preview import Preview, preview
from django_gocron.admin.situation import situation_of
from django_gocron.models import Job

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

    from django_gocron.admin.base import GocronAdmin
    from django_gocron.models import JobState

    _Base = GocronAdmin
else:
    _Base = object

SCHEDULE_FIELDS = (
    "kind",
    "timezone",
    "starts_at",
    "ends_at",
    "max_runs",
    "interval_from_completion",
    "jitter",
)
"""Fields besides those of the kind whose faults keep a preview from being shown."""


class JobPreview(_Base):
    """A view for a ``ModelAdmin``."""

    def get_urls(self) -> list[URLPattern]:
        return [self.path("preview/", "preview", self.preview_view), *super().get_urls()]

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """The next runs of a schedule as it stands in the form. By GET a fragment, for the script, with the fields of
        the schedule alone; by POST a page, for the button that stands in for the script."""
        data = request.POST if request.method == "POST" else request.GET
        job = self.get_object(request, data["job"]) if data.get("job") else None
        allowed = self.has_change_permission(request, job) if job else self.has_add_permission(request)
        if not allowed:
            raise PermissionDenied
        shown = self._read_preview(request, data, job)
        if request.method == "POST":
            return self.own_page(request, "job/preview_page.html", title=_("Next runs"), preview=shown)
        return TemplateResponse(request, "admin/gocron/parts/preview.html", {"preview": shown})

    def _read_preview(self, request: HttpRequest, data: Any, job: Job | None) -> Preview:
        form = self.get_form(request, job, change=job is not None)(data, instance=job or Job())
        return preview_form(form, state_of(job) if job else None, situation_of(request).now)


def preview_form(form: Any, state: JobState | None, now: datetime) -> Preview:
    """Of what is filled in, or of the row where nothing is; else what keeps it from being shown."""
    faults = _faults(form)
    if faults:
        return Preview(problems=faults)
    if not form.is_bound and form.instance.pk is None:
        return Preview(sentence=_("Fill in when the job is to run."))
    return preview(form.instance, state, now)


def _faults(form: Any) -> list[str]:
    """What is wrong with the schedule, by the labels of its fields."""
    own = f"{form['kind'].value()}_"
    return [
        f"{form.fields[name].label}: {' '.join(map(str, errors))}"
        for name, errors in form.errors.items()
        if name in SCHEDULE_FIELDS or name.startswith(own)
    ]
