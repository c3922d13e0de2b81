"""Looking jobs up, and what they have done."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from django_gocron.exceptions import JobError, JobNotFoundError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.alias import database
from django_gocron.models.choices import Reason, Status
from django_gocron.models.now import database_now
from django_gocron.operations.rows import database_of

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.models.edits import JobQuerySet


def jobs(*tags: str, match: str = "any", using: str | None = None) -> list[Job]:
    """All jobs by name, or those with any of the tags, or with ``match="all"`` with all of them.

    Raises ``JobError`` (``match_unknown``).
    """
    return list(tagged(tags, match, using)) if tags else list(_rows(using))


def tagged(tags: tuple[str, ...], match: str, using: str | None) -> JobQuerySet:
    """Raises ``JobError`` (``match_unknown``)."""
    try:
        return _rows(using).tagged(*tags, match=match)
    except ValueError as error:
        raise JobError(str(error), code="match_unknown", field="match") from None


def get_job(job: Job | uuid.UUID | str, *, using: str | None = None) -> Job:
    """The job as the database has it now. Raises ``JobNotFoundError`` (``job_not_found``)."""
    rows = Job.objects.using(using or database_of(job))
    match job:
        case Job():
            found = rows.filter(identifier=job.identifier)
        case uuid.UUID():
            found = rows.filter(identifier=job)
        case _:
            found = rows.filter(name=job)
    for one in found:
        return one
    raise JobNotFoundError(_("There is no job %(job)s.") % {"job": job}, code="job_not_found", field="job")


def jobs_waiting_in_queue(*, using: str | None = None) -> int:
    """How many runs could begin now but for a free slot: their instant has come, and nothing of their own job is in
    their way."""
    alias = using or database()
    waiting = Run.objects.using(alias).filter(status__in=(Status.QUEUED, Status.CLAIMED))
    return waiting.filter(available_at__lte=database_now(alias)).exclude(reason=Reason.OVERLAP).count()


def last_run(job: Job) -> Run | None:
    """The run of the job that began last, as long as it is kept; None before the first."""
    begun = Run.objects.using(database_of(job)).filter(job=job.pk, started_at__isnull=False)
    return begun.order_by("-started_at", "-pk").first()


def last_run_started_at(job: Job) -> datetime | None:
    """When the job's last run began, those by hand included; None before the first."""
    run = last_run(job)
    instant: datetime | None = run.started_at if run else _state(job).last_started_at
    return instant


def last_run_completed_at(job: Job) -> datetime | None:
    """When a run of the job last came to its end; None before."""
    instant: datetime | None = _state(job).last_finished_at
    return instant


def is_running(job: Job) -> bool:
    """Whether a run of the job executes now, anywhere."""
    return Run.objects.using(database_of(job)).filter(job=job.pk, status=Status.RUNNING).exists()


def _state(job: Job) -> JobState:
    return JobState.objects.using(database_of(job)).filter(pk=job.pk).first() or JobState()


def _rows(using: str | None) -> JobQuerySet:
    return Job.objects.using(using or database())
