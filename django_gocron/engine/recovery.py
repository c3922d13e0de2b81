"""Recovery: runs of instances that are gone, and runs that this instance gives up.

A reaper looks for live runs and instances whose lease is over on the database's clock. In one transaction it marks the
instance as reaped, which only one can do, then: ``claimed`` runs, which have certainly not begun, go back to the
queue; ``running`` ones are lost; every lock the instance held is freed. What an instance commits late is found by the
next look.

An instance reaps only after its own renewals have succeeded for some time without a gap: after an outage of the
database everyone renews before anyone reaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from django_gocron import events
from django_gocron.engine.database import DatabaseNow, unit
from django_gocron.engine.requeueing import OWNED, requeue
from django_gocron.engine.settling import lock_free_states, save_settled
from django_gocron.models import Instance, Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from django_gocron.engine.clock import Clock
    from django_gocron.models import JobState


class Recovery:
    """Called from the loop's thread."""

    def __init__(self, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock

    def reap(self) -> int:
        """Recover the runs of every instance that is gone; answer how many instances were."""
        expired = Instance.objects.using(self._using).unreaped().filter(lease_expires_at__lt=DatabaseNow())
        late = Run.objects.using(self._using).filter(
            Q(instance__reaped_at__isnull=False) | Q(instance__stopped_at__isnull=False),
            status__in=(Status.CLAIMED, Status.RUNNING),
        )
        found = expired.order_by().values_list("pk").union(late.order_by().values_list("instance"))
        gone = {instance_id for (instance_id,) in found}
        for instance_id in gone:
            self._reap_one(instance_id)
        return len(gone)

    def _reap_one(self, instance_id: UUID) -> None:
        for fact in unit(self._using, lambda: self._recover(instance_id)):
            events.publish(fact)

    def _recover(self, instance_id: UUID) -> list[events.Event]:
        rows = Instance.objects.using(self._using).filter(pk=instance_id)
        expired = rows.unreaped().filter(lease_expires_at__lt=DatabaseNow())
        is_news = expired.update(reaped_at=DatabaseNow())
        row = rows.exclude(reaped_at__isnull=True, stopped_at__isnull=True).first()
        if row is None:
            return []
        now = self._clock.now()
        requeued, lost = release_runs(
            self._using, instance_id, now, unbegun=Reason.RECOVERED, begun=Reason.INSTANCE_GONE
        )
        if not is_news and not requeued and not lost:
            return []
        reaped = events.InstanceReaped(
            at=now, instance=instance_id, name=row.name, requeued=requeued, lost=len(lost)
        )
        return [reaped, *lost]


def stop_instance(using: str, instance_id: UUID, now: datetime) -> list[events.RunLost]:
    """The last transaction of an instance: what still executes is lost, its locks are freed, its row says stopped."""

    def write() -> list[events.RunLost]:
        _requeued, lost = release_runs(
            using, instance_id, now, unbegun=Reason.GIVEN_BACK, begun=Reason.SHUTDOWN
        )
        Instance.objects.using(using).filter(pk=instance_id).update(stopped_at=DatabaseNow())
        return lost

    return unit(using, write)


def release_runs(
    using: str, instance_id: UUID, now: datetime, *, unbegun: Reason, begun: Reason
) -> tuple[int, list[events.RunLost]]:
    """Take its runs from an instance: what has not begun is queued, the rest is lost. Inside a transaction of the
    caller's. Runs of jobs that somebody is editing are left for the next look."""
    owned = Run.objects.using(using).filter(instance=instance_id, status__in=OWNED)
    states = lock_free_states(using, set(owned.filter(job__isnull=False).values_list("job_id", flat=True)))
    free = owned.filter(Q(job__isnull=True) | Q(job__in=states))
    requeued = requeue(free.filter(status=Status.CLAIMED), unbegun)
    lost = list(free.filter(status=Status.RUNNING).select_for_update().order_by("pk").defer("args", "kwargs"))
    Run.objects.using(using).filter(pk__in=[run.pk for run in lost]).update(
        status=Status.LOST, reason=begun, finished_at=now
    )
    locks = Run.objects.using(using).filter(instance=instance_id, held_lock__isnull=False)
    locks.exclude(status=Status.RUNNING).update(held_lock=None)
    _note_crashes(using, [states[run.job_id] for run in lost if run.job_id in states], now)
    return requeued, [_lost(run, begun, now) for run in lost]


def _note_crashes(using: str, states: Sequence[JobState], now: datetime) -> None:
    """One outcome for each lost run; a job may have had several."""
    for state in states:
        state.add_outcome(Status.LOST.value, None)
        state.crashes_in_row += 1
        state.last_status = Status.LOST.value
    save_settled(using, {state.pk: (state, now) for state in states})


def _lost(run: Run, reason: Reason, now: datetime) -> events.RunLost:
    return events.RunLost(
        at=now,
        run_id=run.pk,
        job_id=run.job_id or 0,
        job_name=run.job_name,
        task=run.task,
        scheduled_for=run.scheduled_for,
        reason=reason.value,
    )
