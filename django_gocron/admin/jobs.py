"""The pages of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.http import HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin.base import GocronAdmin
from django_gocron.admin.everywhere import next_instant
from django_gocron.admin.job_actions import JobActions
from django_gocron.admin.job_buttons import JobButtons
from django_gocron.admin.job_facts import JobFacts
from django_gocron.admin.job_fieldsets import fieldsets_to_edit, fieldsets_to_view
from django_gocron.admin.job_filters import (
    CoordinationFilter,
    KindFilter,
    SourceFilter,
    StandingFilter,
)
from django_gocron.admin.job_form import JobForm
from django_gocron.admin.job_list import JobChangeList, JobColumns, state_of
from django_gocron.admin.job_panel import make_panel
from django_gocron.admin.job_preview import JobPreview, preview_form
from django_gocron.admin.next_run_filter import NextRunFilter
from django_gocron.admin.overrides import why_it_stays
from django_gocron.admin.situation import situation_of
from django_gocron.admin.standing import with_standing
from django_gocron.declarations import overridden_fields
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse

    from django_gocron.models import Job


class JobAdmin(JobColumns, JobFacts, JobActions, JobButtons, JobPreview, GocronAdmin):
    """The list, the form, and the buttons of both."""

    form = JobForm
    list_display = ["title", "status", "recent", "last_run", "next_run", "buttons"]
    list_display_links = None
    list_filter = [StandingFilter, KindFilter, SourceFilter, CoordinationFilter, NextRunFilter]
    search_fields = ["name", "task", "tags", "description", "timezone"]
    searched = gettext_lazy("In names, tasks, tags, descriptions and time zones")
    list_per_page = 100

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        jobs = self.model._default_manager.using(database()).select_related("state")
        return with_standing(jobs.order_by(*self.get_ordering(request)), situation_of(request))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobChangeList]:
        return JobChangeList

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        columns = list(self.list_display)
        if not (self.has_run_permission(request) or self.has_pause_permission(request)):
            columns.remove("buttons")
        return columns

    def get_fieldsets(self, request: HttpRequest, obj: Job | None = None) -> Any:
        may_edit = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return fieldsets_to_edit(obj.schedule if obj else None) if may_edit else fieldsets_to_view()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Job | None = None, **kwargs: Any
    ) -> HttpResponse:
        situation = situation_of(request)
        state = state_of(obj) if obj else None
        context["preview"] = preview_form(context["adminform"].form, state, situation.now)
        context["preview_url"] = self.url("preview")
        if obj is not None:
            context["panel"] = make_panel(obj, situation, lambda pk: self.run_url(request, pk))
            context["buttons"] = self._offered(request, obj)
            context["runs_url"] = self.runs_url(request, job=obj.pk)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def _offered(self, request: HttpRequest, job: Job) -> list[dict[str, str]]:
        """The buttons that this user may press on this job."""
        buttons = []
        if self.has_run_permission(request):
            buttons.append({"page": "run", "word": _("Run now")})
        if self.has_pause_permission(request):
            pause = (
                {"page": "resume", "word": _("Resume")}
                if job.paused_at
                else {"page": "pause", "word": _("Pause…")}
            )
            buttons.append({"ask": "" if job.paused_at else "1", **pause})
            if state_of(job).quarantined_at:
                buttons.append({"page": "release", "word": _("Release")})
            if state_of(job).next_tick_at or next_instant(job, state_of(job), situation_of(request).now):
                buttons.append({"page": "skip", "word": _("Skip next run")})
        if self.has_change_permission(request) and overridden_fields(job):
            buttons.append({"page": "reset", "word": _("Reset to code")})
        return [{**button, "address": self.url(button["page"], job.pk)} for button in buttons]

    def save_model(self, request: HttpRequest, obj: Job, form: JobForm, change: bool) -> None:
        """Write only what was edited: a pause pressed meanwhile stays."""
        if not change:
            super().save_model(request, obj, form, change)
        elif form.changed_fields:
            obj.save(update_fields=form.changed_fields)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job = self.get_object(request, unquote(object_id))
        why = why_it_stays(job) if job and self.has_delete_permission(request, job) else ""
        if job and why:
            self.message_user(request, why, messages.ERROR)
            return HttpResponseRedirect(self.url_of(request, job))
        return super().delete_view(request, object_id, extra_context)
