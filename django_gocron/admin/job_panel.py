"""What stands above the form of a job: how it is, what comes next, and what it did last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django_gocron.admin import marks
from django_gocron.admin.everywhere import describe_spread, next_instant
from django_gocron.admin.job_list import sentence, state_of
from django_gocron.admin.job_waiting import read_waiting
from django_gocron.admin.moments import ago, in_zone, short, zone_of
from django_gocron.admin.overrides import find_place
from django_gocron.admin.preview import RUNS, list_coming
from django_gocron.admin.standing import Standing, explain, when_due
from django_gocron.exceptions import ScheduleError
from django_gocron.models import Run
from django_gocron.operations import next_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django.utils.safestring import SafeString

    from django_gocron.admin.job_waiting import Waiting
    from django_gocron.admin.preview import Coming
    from django_gocron.admin.situation import Situation
    from django_gocron.models import Job

LAST = 10
"""Runs in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run in the table of the last ones."""

    run: Run
    status: SafeString
    scheduled_for: str
    started: str
    took: str
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    badge: SafeString
    reasons: Sequence[str]
    sentence: SafeString | str
    spread: str
    declared_in: str
    zone: str
    next_run: str
    waiting: Waiting
    coming: Sequence[Coming]
    strip: SafeString
    runs: Sequence[RunLine]
    last_error: Run | None
    last_error_ago: str
    last_error_page: str


def make_panel(job: Job, situation: Situation, run_url: Any) -> Panel:
    """``run_url`` answers the address of a run by its key, or ""."""
    state, zone, now = state_of(job), zone_of(job), situation.now
    standing = Standing(job.standing)  # type: ignore[attr-defined]
    is_planned = standing is not Standing.ORPHANED
    next_run_at = next_instant(job, state, now)
    runs = _latest(job)
    error = next((run for run in runs if run.pk == state.last_failure), None) or _find_run(
        job, state.last_failure
    )
    return Panel(
        badge=marks.standing_badge(standing),
        reasons=explain(job, state, standing, situation),
        sentence=sentence(job, zone),
        spread=describe_spread(job, situation),
        declared_in=find_place(job),
        zone=zone.key,
        next_run=when_due(next_run_at, now) if next_run_at and is_planned else "",
        waiting=read_waiting(job, zone, now, run_url),
        coming=list_coming(_coming(job, now) if is_planned else [], zone, now),
        strip=marks.strip(state.outcomes),
        runs=[_line(run, zone, run_url(run.pk)) for run in runs],
        last_error=error,
        last_error_ago=ago(now - error.finished_at) if error and error.finished_at else "",
        last_error_page=run_url(error.pk) if error else "",
    )


def _coming(job: Job, now: datetime) -> list[datetime]:
    try:
        return next_runs(job, RUNS, now=now)
    except ScheduleError:
        return []


def _latest(job: Job) -> list[Run]:
    runs = (
        Run.objects.using(job._state.db)
        .filter(job=job)
        .defer("traceback", "output", "result", "args", "kwargs")
    )
    return list(runs.order_by("-scheduled_for", "-attempt", "-pk")[:LAST])


def _find_run(job: Job, pk: int | None) -> Run | None:
    return Run.objects.using(job._state.db).filter(pk=pk).first() if pk else None


def _line(run: Run, zone: Any, page: str) -> RunLine:
    return RunLine(
        run=run,
        status=marks.status_badge(run.status),
        scheduled_for=in_zone(run.scheduled_for, zone),
        started=_lag(run.lag),
        took=short(run.took) if run.took is not None else "",
        page=page,
    )


def _lag(lag: timedelta | None) -> str:
    return f"+{short(max(timedelta(0), lag))}" if lag is not None else ""
