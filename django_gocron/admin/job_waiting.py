"""What of a job waits in the queue: ticks for the end of its live run, and retries for their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_gocron.admin.moments import in_zone
from django_gocron.admin.standing import when_due
from django_gocron.models import Run
from django_gocron.models.choices import Overlap, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from django_gocron.models import Job

MOST = 5
"""Retries told one by one."""

QUEUES = (Overlap.QUEUE, Overlap.QUEUE_LATEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A retry that waits; ``page`` is its address, or ""."""

    name: str
    due: str
    moment: str
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """``ticks`` is a sentence, or "" where there is nothing to say."""

    ticks: str
    retries: Sequence[Retry]


def read_waiting(job: Job, zone: ZoneInfo, now: datetime, run_url: Callable[[int], str]) -> Waiting:
    """Two queries. ``run_url`` answers the address of a run by its key, or ""."""
    queued = Run.objects.using(job._state.db).filter(job=job, status=Status.QUEUED)
    retries = (
        queued.filter(reason=Reason.RETRY).order_by("available_at").only("attempt", "available_at")[:MOST]
    )
    return Waiting(
        ticks=_describe_ticks(job, queued.filter(reason=Reason.OVERLAP).count()),
        retries=[_describe_retry(run, job, zone, now, run_url(run.pk)) for run in retries],
    )


def _describe_ticks(job: Job, number: int) -> str:
    """Whatever the job says of overlap, ticks that are being caught up with may wait."""
    if number == 0 and job.overlap not in QUEUES:
        return ""
    text = ngettext("%(n)d tick waits in the queue", "%(n)d ticks wait in the queue", number) % {"n": number}
    if job.overlap not in QUEUES:
        return text
    return _("%(ticks)s (maximum queued: %(most)d)") % {"ticks": text, "most": job.max_queued}


def _describe_retry(run: Run, job: Job, zone: ZoneInfo, now: datetime, page: str) -> Retry:
    due_at = run.available_at or now
    return Retry(
        name=name_of_retry(run.attempt, job.retries),
        due=when_due(due_at, now),
        moment=in_zone(due_at, zone),
        page=page,
    )


def name_of_retry(attempt: int, retries: int) -> str:
    """ "retry 2 of 3"; what is tried again since its instance died may have no such number."""
    number = attempt - 1
    if number > retries:
        return _("retry %(n)d") % {"n": number}
    return _("retry %(n)d of %(most)d") % {"n": number, "most": retries}
