"""The list of jobs: each row with what it takes to draw it, and the columns that do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db.models import F
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin import marks
from django_gocron.admin.everywhere import next_instant
from django_gocron.admin.moments import ago, beside, short, time_tag, zone_of
from django_gocron.admin.situation import situation_of
from django_gocron.admin.standing import Standing, explain, when_due
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.models import JobState
from django_gocron.models.fields import Unreadable

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from django.db.models import QuerySet
    from django.http import HttpRequest

    from django_gocron.admin.situation import Situation
    from django_gocron.models import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as one user sees it now. Addresses are "" where the user may not go there."""

    job: Job
    state: JobState
    standing: Standing
    situation: Situation
    zone: ZoneInfo
    next_run_at: datetime | None
    is_everywhere: bool
    page: str
    last_run: str
    tags: list[tuple[str, str]]
    run: str
    pause: str
    resume: str
    release: str


class JobChangeList(ChangeList):
    """A stock list that begins with what matters, and whose jobs carry their :class:`JobRow` as ``row``."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Job]) -> list[Any]:
        if self.params.get(ORDER_VAR):
            return super().get_ordering(request, queryset)
        return ["standing", F("state__next_run_at").asc(nulls_last=True), "name", "pk"]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: Any = list(self.result_list)
        for job in self.result_list:
            job.row = self._make_row(request, job)

    def _make_row(self, request: HttpRequest, job: Job) -> JobRow:
        model_admin: Any = self.model_admin
        may_run = model_admin.has_run_permission(request)
        may_pause = model_admin.has_pause_permission(request)
        state = state_of(job)
        is_quarantined = state.quarantined_at is not None
        may_stop = may_pause and not job.paused_at and not is_quarantined
        return JobRow(
            job=job,
            state=state,
            standing=Standing(job.standing),  # type: ignore[attr-defined]
            situation=situation_of(request),
            zone=zone_of(job),
            next_run_at=next_instant(job, state, situation_of(request).now),
            is_everywhere=runs_everywhere(job),
            page=model_admin.url_of(request, job),
            last_run=model_admin.run_url(request, state.last_run),
            tags=[(tag, self.get_query_string({"q": tag}, ["p"])) for tag in job.tags],
            run=model_admin.url("run", job.pk) if may_run else "",
            pause=model_admin.url("pause", job.pk) if may_stop else "",
            resume=model_admin.url("resume", job.pk) if may_pause and job.paused_at else "",
            release=model_admin.url("release", job.pk) if may_pause and is_quarantined else "",
        )


def state_of(job: Job) -> JobState:
    """The job's state; an empty one where the row came by SQL and has none yet."""
    state: JobState | None = getattr(job, "state", None)
    return state or JobState(job_id=job.pk)


class JobColumns:
    """The columns, for a ``ModelAdmin``."""

    @admin.display(description=gettext_lazy("Job"), ordering="name")
    def title(self, job: Any) -> SafeString:
        row: JobRow = job.row
        badges = [_("from code")] if job.key else []
        badges += [_("every instance")] if row.is_everywhere else []
        badge = format_html_join(" ", '<span class="gocron-tag">{}</span>', [(word,) for word in badges])
        tags = format_html_join(" ", '<a class="gocron-tag" href="{1}">{0}</a>', row.tags)
        return format_html(
            '<a class="gocron-name" href="{}">{}</a> {} {}<br><span class="gocron-quiet">{}</span>',
            row.page,
            job.name,
            badge,
            tags,
            sentence(job, row.zone),
        )

    @admin.display(description=gettext_lazy("Status"), ordering="standing")
    def status(self, job: Any) -> SafeString:
        row: JobRow = job.row
        reasons = format_html_join(
            "",
            '<br><span class="gocron-quiet">{}</span>',
            [(reason,) for reason in explain(job, row.state, row.standing, row.situation)],
        )
        return format_html("{}{}", marks.standing_badge(row.standing), reasons)

    @admin.display(description=gettext_lazy("Last 20 runs"), ordering="state__failures_in_row")
    def recent(self, job: Any) -> SafeString:
        return marks.strip(job.row.state.outcomes)

    @admin.display(description=gettext_lazy("Last run"), ordering="state__last_started_at")
    def last_run(self, job: Any) -> SafeString | str:
        row: JobRow = job.row
        started, finished = row.state.last_started_at, row.state.last_finished_at
        if started is None or finished is None:
            return _("never")
        when = time_tag(started, ago(row.situation.now - started))
        took = _("took %(duration)s") % {"duration": short(max(timedelta(0), finished - started))}
        link = format_html('<a href="{}">{}</a>', row.last_run, when) if row.last_run else when
        return format_html('{}<br><span class="gocron-quiet">{}</span>', link, took)

    @admin.display(description=gettext_lazy("Next run"), ordering="state__next_run_at")
    def next_run(self, job: Any) -> SafeString | str:
        row: JobRow = job.row
        due_at = row.next_run_at
        if due_at is None or row.standing is Standing.ORPHANED:
            return "-"
        when = time_tag(due_at, when_due(due_at, row.situation.now))
        moment = beside(due_at, row.zone, row.situation.now)
        return format_html('{}<br><span class="gocron-quiet">{}</span>', when, moment)

    @admin.display(description=gettext_lazy("Actions"))
    def buttons(self, job: Any) -> SafeString:
        row: JobRow = job.row
        offered = (
            (row.run, _("Run now")),
            (row.pause, _("Pause")),
            (row.resume, _("Resume")),
            (row.release, _("Release")),
        )
        return format_html_join(
            " ",
            '<button type="submit" class="gocron-button" formaction="{}" aria-label="{}: {}">{}</button>',
            [(address, word, job.name, word) for address, word in offered if address],
        )


def sentence(job: Job, zone: ZoneInfo) -> SafeString | str:
    """ "Weekdays at 07:30 (Europe/Berlin)"; an expression keeps its direction in every script."""
    if job.schedule is None:
        return _("By hand only")
    if isinstance(job.schedule, Unreadable):
        return _("The schedule cannot be read")
    text = job.schedule.describe()
    name = job.timezone or zone.key
    if text == getattr(job.schedule, "expression", None):
        return format_html('<code dir="ltr"><bdi>{}</bdi></code> ({})', text, name)
    return f"{text} ({name})"
