"""Retries: the next attempt of a tick is a run of its own, queued in the transaction that ends the one before.

So there is no moment at which a failed run has neither. The unique key of a run knows the attempt: an attempt is not
queued twice. A job that has been paused, disabled or deleted meanwhile is not tried again, unless it was run by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.everywhere import is_of_an_instance
from django_gocron.engine.identities import run_identity
from django_gocron.models import Job, Run
from django_gocron.models.choices import OnLost, Origin, Reason, Status
from django_gocron.planning import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

COPIED = (
    "job_id",
    "job_key",
    "job_name",
    "task",
    "args",
    "kwargs",
    "origin",
    "scheduled_for",
    "scope",
    "lock_key",
    "label",
    "priority",
    "requested_by",
)
"""What an attempt has from the one before: the arguments too, as they were used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that has failed at an instant. ``after`` is when its task asked to be tried again, None: it did not."""

    run_id: int
    at: datetime
    after: timedelta | None = None


def retry_failed(using: str, failures: Sequence[Failure]) -> list[events.Event]:
    """Queue the next attempt of each failed run that has one left; inside the transaction that ends the runs."""
    if not failures:
        return []
    rows = Run.objects.using(using).select_related("job__state")
    runs = rows.in_bulk([failure.run_id for failure in failures])
    retries = [
        _next_attempt(runs[failure.run_id], due_at)
        for failure in failures
        if failure.run_id in runs and (due_at := _due_at(runs[failure.run_id], failure))
    ]
    return _queue(using, retries, max(failure.at for failure in failures))


def retry_lost(using: str, runs: Sequence[Run], now: datetime) -> list[events.Event]:
    """Queue the next attempt, due at once, of each lost run whose job asks for it; not of jobs in quarantine, and not
    of runs that only the instance may have that has lost them. The rows are complete, their jobs loaded; inside the
    transaction that declares them lost."""
    return _queue(
        using,
        [
            _next_attempt(run, now)
            for run in runs
            if run.job and run.job.on_lost == OnLost.RETRY and not is_of_an_instance(run)
            if _may_retry(run, run.job, now)
        ],
        now,
    )


def _due_at(run: Run, failure: Failure) -> datetime | None:
    job = run.job
    if job is None or not _may_retry(run, job, failure.at):
        return None
    delay = job.retry_policy.delay_after(run.attempt, seed=str(job.identifier), tick=run.scheduled_for)
    if delay is None:
        return None
    return failure.at + min(delay if failure.after is None else failure.after, LONGEST)


def _may_retry(run: Run, job: Job, now: datetime) -> bool:
    """What somebody has asked to end is not tried again."""
    if run.cancel_requested_at is not None:
        return False
    is_quarantined = getattr(getattr(job, "state", None), "quarantined_at", None) is not None
    stopped = not job.enabled or job.is_paused_at(now) or is_quarantined
    return run.origin == Origin.MANUAL or not stopped


def _next_attempt(run: Run, due_at: datetime) -> Run:
    attempt = Run(**{name: getattr(run, name) for name in COPIED})
    attempt.attempt, attempt.parent_id = run.attempt + 1, run.pk
    attempt.status, attempt.reason = Status.QUEUED, Reason.RETRY
    attempt.available_at = due_at
    return attempt


def _queue(using: str, retries: Sequence[Run], now: datetime) -> list[events.Event]:
    if not retries:
        return []
    Run.objects.using(using).bulk_create(retries, ignore_conflicts=True)
    queued = Run.objects.using(using).filter(
        parent__in=[run.parent_id for run in retries], reason=Reason.RETRY
    )
    return [_fact(run, now) for run in queued.select_related("job").order_by("pk")]


def _fact(run: Run, now: datetime) -> events.Event:
    assert run.available_at is not None
    return events.RetryQueued(at=now, attempt=run.attempt, due_at=run.available_at, **run_identity(run))
