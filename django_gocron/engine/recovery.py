"""Recovery: runs of instances that are gone, and runs that this instance gives up.

A reaper looks for live runs and instances whose lease is over on the database's clock. In one transaction it marks the
instance as reaped, which only one can do, then: ``claimed`` runs, which have certainly not begun, go back to the
queue; ``running`` ones are lost, and tried again where their job asks for that; every lock the instance held is
freed. Runs that only this instance could have are not for others: what has not begun of them, claimed or queued, is
cancelled, what has is lost for good. What an instance commits late is found by the next look.

An instance reaps only after its own renewals have succeeded for some time without a gap: after an outage of the
database everyone renews before anyone reaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import OperationalError
from django.db.models import Exists, OuterRef, Q

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import is_contention, read, skips_locked, unit
from django_gocron.engine.everywhere import find_instance, scope_of
from django_gocron.engine.quarantine import enforce, note_losses
from django_gocron.engine.requeueing import OWNED, requeue
from django_gocron.engine.retrying import retry_lost
from django_gocron.engine.settling import lock_free_states, save_settled
from django_gocron.models import Instance, Run
from django_gocron.models.choices import Reason, Status
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

    from django_gocron.clock import Clock


class Recovery:
    """``reap`` is called from the loop's thread, ``reap_holders`` from the timer's."""

    def __init__(self, using: str, clock: Clock, may_reap: Callable[[], bool]) -> None:
        self._using = using
        self._clock = clock
        self._may_reap = may_reap

    def reap(self) -> int:
        """Recover the runs of every instance that is gone; answer how many instances were."""
        expired = Instance.objects.using(self._using).unreaped().filter(lease_expires_at__lt=DatabaseNow())
        late = Run.objects.using(self._using).filter(
            Q(instance__reaped_at__isnull=False) | Q(instance__stopped_at__isnull=False)
        )
        owned, locked = late.filter(status__in=OWNED), late.filter(held_lock__isnull=False)
        found = (
            expired.order_by()
            .values_list("pk")
            .union(owned.order_by().values_list("instance"), locked.order_by().values_list("instance"))
            .order_by()  # Django 6.1 gives a union the default order of its first part
        )
        gone = {instance_id for (instance_id,) in found} | self._find_orphaned()
        for instance_id in gone:
            self._reap_one(instance_id)
        return len(gone)

    def _find_orphaned(self) -> set[UUID]:
        """Instances that are gone, and whose own runs wait in the queue all the same: queued by what they committed
        late."""
        queued = Run.objects.using(self._using).filter(status=Status.QUEUED).exclude(scope="").order_by()
        scopes = queued.values_list("scope", flat=True).distinct()
        found = {instance_id for scope in scopes if (instance_id := find_instance(scope))}
        if not found:
            return set()
        gone = Instance.objects.using(self._using).exclude(reaped_at__isnull=True, stopped_at__isnull=True)
        return set(gone.filter(pk__in=found).values_list("pk", flat=True))

    def reap_holders(self, lock_keys: set[str]) -> set[str]:
        """Of these locks, free those whose holders' instances are gone, if we may judge others yet. Answers which locks
        such holders have, or had."""
        alive = Instance.objects.unreaped().filter(
            pk=OuterRef("instance"), lease_expires_at__gt=DatabaseNow()
        )
        locked = Run.objects.using(self._using).filter(instance__isnull=False, held_lock__in=lock_keys)
        abandoned = locked.filter(~Exists(alive))
        holders = dict(read(self._using, lambda: list(abandoned.values_list("held_lock", "instance"))))
        if self._may_reap():
            for instance_id in set(holders.values()):
                self._reap_one(instance_id)
        return {key for key in holders if key}

    def _reap_one(self, instance_id: UUID) -> None:
        """What somebody else has locked is left for the next look: it keeps no other instance from being reaped."""
        barriers.reach("reap.before")
        try:
            facts = unit(self._using, lambda: self._recover(instance_id), attempts=1)
        except OperationalError as error:
            if not is_contention(error):
                raise
            return
        for fact in facts:
            events.publish(fact)
        barriers.reach("reap.after")

    def _recover(self, instance_id: UUID) -> list[events.Event]:
        rows = Instance.objects.using(self._using).filter(pk=instance_id)
        expired = rows.unreaped().filter(lease_expires_at__lt=DatabaseNow())
        is_news = expired.update(reaped_at=DatabaseNow())
        row = rows.exclude(reaped_at__isnull=True, stopped_at__isnull=True).first()
        if row is None:
            return []
        now = self._clock.now()
        released = release_runs(
            self._using, instance_id, now, unbegun=Reason.RECOVERED, begun=Reason.INSTANCE_GONE
        )
        barriers.reach("reap.inside")
        if not is_news and not released.requeued and not released.lost:
            return released.facts
        reaped = events.InstanceReaped(
            at=now, instance=instance_id, name=row.name, requeued=released.requeued, lost=released.lost
        )
        return [reaped, *released.facts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """How many runs of an instance were queued again and how many were lost, and what there is to tell of it."""

    requeued: int
    lost: int
    facts: list[events.Event]


def stop_instance(using: str, instance_id: UUID, now: datetime) -> list[events.Event]:
    """The last transaction of an instance: what still executes is lost, its locks are freed, what waited for it alone
    is cancelled, its row says stopped."""

    def write() -> list[events.Event]:
        released = release_runs(using, instance_id, now, unbegun=Reason.GIVEN_BACK, begun=Reason.SHUTDOWN)
        Instance.objects.using(using).filter(pk=instance_id).update(stopped_at=DatabaseNow())
        barriers.reach("resign.inside")
        return released.facts

    barriers.reach("resign.before")
    return unit(using, write)


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
    return [_cancelled(run, reason, now) for run in rows.order_by("pk")]


def _lose(using: str, running: QuerySet[Run], reason: Reason, now: datetime) -> list[Run]:
    """Declare runs lost; answer them, with their jobs. The jobs are read, not locked."""
    ids = list(running.select_for_update().order_by("pk").values_list("pk", flat=True))
    rows = Run.objects.using(using).filter(pk__in=ids)
    rows.update(status=Status.LOST, reason=reason, finished_at=now)
    return list(rows.select_related("job").order_by("pk"))


def _lost(run: Run, reason: Reason, now: datetime) -> events.Event:
    return events.RunLost(at=now, reason=reason.value, **_identity(run))


def _cancelled(run: Run, reason: Reason, now: datetime) -> events.Event:
    return events.RunCancelled(at=now, reason=reason.value, **_identity(run))


def _identity(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.pk,
        "job_id": run.job_id or 0,
        "job_name": run.job_name,
        "task": run.task,
        "scheduled_for": run.scheduled_for,
    }
