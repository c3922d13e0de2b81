"""From a job to a row of the ledger, and from a claimed row to what this instance holds of it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from django_gocron.context import Cancellation, Cause
from django_gocron.engine.everywhere import is_of_an_instance
from django_gocron.engine.memory import Entry
from django_gocron.models import Run
from django_gocron.models.choices import Coordination, Origin, Overlap, Reason
from django_gocron.planning import Misfire

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django_gocron.models import Job

DEFAULT_LOCKER = "default"
"""The alias of jobs that name no locker. Where none is configured, the ledger's own lock is all they need."""


def lock_key(job: Job) -> str:
    """What two runs of a job that may not overlap have in common, or "" where they may."""
    return "" if job.overlap == Overlap.ALLOW else job_key(job)


def job_key(job: Job) -> str:
    """The lock of a job that one instance runs at a time."""
    return str(job.pk)


def instance_key(job_id: int, instance_id: UUID) -> str:
    """The lock of a job that every instance runs for itself: it excludes only runs of the same instance."""
    return f"{job_id}@{instance_id}"


def new_run(job: Job, *, status: str, scheduled_for: datetime, reason: str = "", **values: object) -> Run:
    """A row for the ledger, with what it takes over from its job; the arguments are its own, since a task may change
    them."""
    return Run(
        job=job,
        job_key=job.key or "",
        job_name=job.name,
        task=job.task,
        args=deepcopy(job.args),
        kwargs=deepcopy(job.kwargs),
        status=status,
        reason=reason,
        scheduled_for=scheduled_for,
        lock_key=lock_key(job),
        label=job.label,
        priority=job.priority,
        **values,
    )


def make_entry(run: Run, job: Job, missed: tuple[datetime, datetime, int] | None = None) -> Entry:
    """What this instance holds of a run it has claimed."""
    assert run.claim_id is not None
    assert run.instance_id is not None
    due_at = run.available_at or run.scheduled_for
    return Entry(
        run_id=run.pk,
        job_id=job.pk,
        job_name=run.job_name,
        task=run.task,
        args=run.args,
        kwargs=run.kwargs,
        origin=run.origin,
        scheduled_for=run.scheduled_for,
        due_at=due_at,
        attempt=run.attempt,
        priority=run.priority,
        lock_key=run.lock_key,
        instance_id=run.instance_id,
        claim_id=run.claim_id,
        tags=tuple(job.tags),
        starting_deadline=job.starting_deadline if run.origin == Origin.SCHEDULE else None,
        timeout=job.timeout,
        max_runs=job.max_runs,
        missed=missed,
        locker=(job.locker or DEFAULT_LOCKER) if job.coordination == Coordination.LOCKED else "",
        on_lock_error=job.on_lock_error,
        overlap=job.overlap,
        max_queued=job.max_queued,
        claimed_at=run.claimed_at,
        is_local=is_of_an_instance(run),
        has_queued=run.reason == Reason.OVERLAP,
        is_caught_up=job.misfire == Misfire.RUN_ALL and due_at < (run.claimed_at or due_at),
        cancellation=_cancellation_of(run),
    )


def _cancellation_of(run: Run) -> Cancellation:
    """A run that went back to the queue when somebody had cancelled it already is cancelled still."""
    cancellation = Cancellation()
    if run.cancel_requested_at is not None:
        cancellation.ask(Cause.BY_USER, run.error_message)
    return cancellation
