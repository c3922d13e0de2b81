"""The pages of runs: to be read, and at most deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin import marks
from django_gocron.admin.base import ReadOnlyAdmin
from django_gocron.admin.moments import clock_time, in_zone, project_zone, short, time_tag
from django_gocron.admin.paginators import CappedPaginator
from django_gocron.admin.run_attempts import read_attempts
from django_gocron.admin.run_buttons import RunButtons
from django_gocron.admin.run_filters import (
    InstanceFilter,
    JobFilter,
    OriginFilter,
    PeriodFilter,
    StatusFilter,
)
from django_gocron.admin.run_page import make_run_page, origin_of
from django_gocron.admin.situation import situation_of
from django_gocron.models import Job, Run
from django_gocron.models.alias import database
from django_gocron.models.choices import LIVE, Reason

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

HEAVY = ("args", "kwargs", "traceback", "result", "output", "progress")
"""Columns that the list does not show."""

LONGEST_LINE = 120


class RunAdmin(RunButtons, ReadOnlyAdmin):
    list_display = [
        "outcome",
        "job_column",
        "scheduled",
        "started",
        "duration",
        "origin_column",
        "where",
        "error",
    ]
    list_display_links = ["outcome"]
    list_filter = [StatusFilter, OriginFilter, PeriodFilter, JobFilter, InstanceFilter]
    search_fields = ["job_name"]
    searched = gettext_lazy("In names of jobs")
    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        runs = self.model._default_manager.using(database()).select_related("job", "instance")
        ordered: QuerySet[Run] = runs.order_by(*self.get_ordering(request))
        return ordered

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """The latest first, by whichever key serves the question."""
        if "job" in request.GET:
            return ("-scheduled_for", "-attempt", "-pk")
        return ("-pk",)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        listed = super().get_changelist_instance(request)
        listed.result_list = list(listed.result_list.defer(*HEAVY))
        for run in listed.result_list:
            run.situation = situation_of(request)
        return listed

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Run], search_term: str
    ) -> tuple[QuerySet[Run], bool]:
        """Through the jobs of that name, which are few; where there are none, through the runs of deleted jobs."""
        if not search_term:
            return queryset, False
        jobs = Job.objects.using(database()).filter(name__icontains=search_term)
        ids = list(jobs.values_list("pk", flat=True)[:1000])
        if ids:
            return queryset.filter(job__in=ids), False
        return queryset.filter(job__isnull=True, job_name__icontains=search_term), False

    def has_output_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("gocron.view_run_output")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Run | None = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            may_see_output = self.has_output_permission(request)
            context["run"] = make_run_page(obj, situation_of(request), may_see_output=may_see_output)
            context["attempts"] = read_attempts(obj, lambda pk: self.run_url(request, pk))
            context["job_url"] = self._job_url(obj)
            context["runs_url"] = self.runs_url(request, job=obj.job_id) if obj.job_id else ""
            may_cancel = (
                obj.status in LIVE and not obj.cancel_requested_at and self.has_cancel_permission(request)
            )
            context["cancel_url"] = self.url("cancel", obj.pk) if may_cancel else ""
            context["title"] = _("Run of %(job)s") % {"job": obj.job_name}
            context["subtitle"] = None
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def _job_url(self, run: Run) -> str:
        if run.job is None:
            return ""
        return reverse("admin:gocron_job_change", args=[run.job_id], current_app=self.admin_site.name)

    @admin.display(description=gettext_lazy("Status"), ordering="status")
    def outcome(self, run: Run) -> SafeString:
        return marks.status_badge(run.status)

    @admin.display(description=gettext_lazy("Job"), ordering="job_name")
    def job_column(self, run: Run) -> SafeString | str:
        name = run.job.name if run.job else run.job_name
        address = self._job_url(run)
        return format_html('<a href="{}">{}</a>', address, name) if address else name

    @admin.display(description=gettext_lazy("Scheduled for"), ordering="scheduled_for")
    def scheduled(self, run: Run) -> SafeString:
        when = time_tag(run.scheduled_for, in_zone(run.scheduled_for, project_zone()))
        if run.count == 1:
            return when
        more = _("%(n)d ticks") % {"n": run.count}
        return format_html('{}<br><span class="gocron-quiet">{}</span>', when, more)

    @admin.display(description=gettext_lazy("Started"), ordering="started_at")
    def started(self, run: Run) -> SafeString | str:
        if run.started_at is None or run.lag is None:
            return "-"
        when = time_tag(run.started_at, clock_time(run.started_at, project_zone()))
        return format_html(
            '{} <span class="gocron-quiet">+{}</span>', when, short(max(timedelta(0), run.lag))
        )

    @admin.display(description=gettext_lazy("Took"))
    def duration(self, run: Run) -> str:
        return short(run.took) if run.took is not None else "-"

    @admin.display(description=gettext_lazy("Origin"), ordering="origin")
    def origin_column(self, run: Any) -> str:
        return origin_of(run, run.situation)

    @admin.display(description=gettext_lazy("Instance"))
    def where(self, run: Run) -> str:
        return run.instance.name if run.instance else "-"

    @admin.display(description=gettext_lazy("Error or reason"))
    def error(self, run: Run) -> str:
        return error_line(run)


def error_line(run: Run) -> str:
    """ "ValueError: what it says", shortened; else the reason of the status."""
    if run.error_type or run.error_message:
        first = (run.error_message.strip().splitlines() or [""])[0]
        line = ": ".join(filter(None, (run.error_type, first)))
        return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
    return str(Reason(run.reason).label) if run.reason in Reason else run.reason
