"""What becomes of the runs of an instance that is gone or stops: those that have begun are lost, the others are for
somebody else, or, where no other may have them, cancelled.

Inside a transaction of the caller's. What somebody else has locked is left for the next look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q

from django_gocron import events
from django_gocron.engine.database import skips_locked
from django_gocron.engine.everywhere import scope_of
from django_gocron.engine.identities import run_identity
from django_gocron.engine.quarantine import enforce, note_losses
from django_gocron.engine.requeueing import OWNED, requeue
from django_gocron.engine.retrying import retry_lost
from django_gocron.engine.settling import lock_free_states, save_settled
from django_gocron.models import Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """How many runs of an instance were queued again and how many were lost, and what there is to tell of it."""

    requeued: int
    lost: int
    facts: list[events.Event]


def release_runs(using: str, instance_id: UUID, now: datetime, *, unbegun: Reason, begun: Reason) -> Released:
    """Take its runs from an instance: what has not begun is queued (or cancelled, where no other may have it), the rest
    is lost. Inside a transaction of the caller's. Runs of jobs that somebody is editing are left for the next look."""
    owned = Run.objects.using(using).filter(instance=instance_id, status__in=OWNED)
    states = lock_free_states(using, set(owned.filter(job__isnull=False).values_list("job_id", flat=True)))
    free = owned.filter(Q(job__isnull=True) | Q(job__in=states))
    own = scope_of(instance_id)
    requeued = requeue(free.filter(status=Status.CLAIMED).exclude(scope=own), unbegun)
    lost = _lose(using, free.filter(status=Status.RUNNING), begun, now)
    locks = Run.objects.using(using).filter(instance=instance_id, held_lock__isnull=False)
    locks.exclude(status=Status.RUNNING).update(held_lock=None)
    losses = [(states[run.job_id], run.job) for run in lost if run.job and run.job_id in states]
    bad = note_losses(losses, now, is_crash=begun is Reason.INSTANCE_GONE)
    sane = [run for run in lost if run.job_id in states and states[run.job_id].quarantined_at is None]
    retries = retry_lost(using, sane, now)
    save_settled(using, {state.pk: (state, now) for state, _job in losses})
    quarantined = enforce(using, bad, states, now)
    cancelled = _cancel_own(using, instance_id, begun, now)
    return Released(
        requeued=requeued,
        lost=len(lost),
        facts=[*(_lost(run, begun, now) for run in lost), *retries, *quarantined, *cancelled],
    )


def _cancel_own(using: str, instance_id: UUID, reason: Reason, now: datetime) -> list[events.Event]:
    """End what has not begun of the runs that only this instance could have. What somebody else has locked is left for
    the next look."""
    own = Run.objects.using(using).filter(scope=scope_of(instance_id))
    claimed, queued = (
        own.filter(instance=instance_id, status=Status.CLAIMED),
        own.filter(status=Status.QUEUED),
    )
    found = [pk for rows in (claimed, queued) for pk in rows.values_list("pk", flat=True)]
    unbegun = own.filter(pk__in=found, status__in=(Status.CLAIMED, Status.QUEUED)).order_by("pk")
    free = unbegun.select_for_update(skip_locked=skips_locked(using))
    rows = own.filter(pk__in=list(free.values_list("pk", flat=True)))
    rows.update(status=Status.CANCELLED, reason=reason, finished_at=now, held_lock=None, instance=instance_id)
    return [_cancelled(run, reason, now) for run in rows.select_related("job").order_by("pk")]


def _lose(using: str, running: QuerySet[Run], reason: Reason, now: datetime) -> list[Run]:
    """Declare runs lost; answer them, with their jobs. The jobs are read, not locked."""
    ids = list(running.select_for_update().order_by("pk").values_list("pk", flat=True))
    rows = Run.objects.using(using).filter(pk__in=ids)
    rows.update(status=Status.LOST, reason=reason, finished_at=now)
    return list(rows.select_related("job").order_by("pk"))


def _lost(run: Run, reason: Reason, now: datetime) -> events.Event:
    return events.RunLost(at=now, reason=reason.value, **run_identity(run))


def _cancelled(run: Run, reason: Reason, now: datetime) -> events.Event:
    return events.RunCancelled(at=now, reason=reason.value, **run_identity(run))
