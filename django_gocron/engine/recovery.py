"""Recovery: runs of instances that are gone, and runs that this instance gives up.

A reaper looks for live runs and instances whose lease is over on the database's clock. In one transaction it marks the
instance as reaped, which only one can do, then: ``claimed`` runs, which have certainly not begun, go back to the
queue; ``running`` ones are lost; every lock the instance held is freed. What an instance commits late is found by the
next look.

An instance reaps only after its own renewals have succeeded for some time without a gap: after an outage of the
database everyone renews before anyone reaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q

from django_gocron import events
from django_gocron.engine.database import DatabaseNow, unit
from django_gocron.engine.refusals import claims_of
from django_gocron.engine.settling import save_settled
from django_gocron.models import Instance, JobState, Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from django_gocron.engine.clock import Clock
    from django_gocron.engine.memory import Entry

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
        gone = {*expired.values_list("pk", flat=True), *late.values_list("instance", flat=True)}
        for instance_id in gone:
            self._reap_one(instance_id)
        return len(gone)

    def _reap_one(self, instance_id: UUID) -> None:
        for fact in unit(self._using, lambda: self._recover(instance_id)):
            events.publish(fact)

    def _recover(self, instance_id: UUID) -> list[events.Event]:
        rows = Instance.objects.using(self._using).filter(pk=instance_id)
        rows.unreaped().filter(lease_expires_at__lt=DatabaseNow()).update(reaped_at=DatabaseNow())
        row = rows.exclude(reaped_at__isnull=True, stopped_at__isnull=True).first()
        if row is None:
            return []
        requeued = self._requeue(instance_id)
        lost = lose(self._using, instance_id, Reason.INSTANCE_GONE, self._clock)
        reaped = events.InstanceReaped(
            at=self._clock.now(), instance=instance_id, name=row.name, requeued=requeued, lost=len(lost)
        )
        return [reaped, *lost]

    def _requeue(self, instance_id: UUID) -> int:
        claimed = Run.objects.using(self._using).filter(instance=instance_id, status=Status.CLAIMED)
        return claimed.update(status=Status.QUEUED, reason=Reason.RECOVERED, **_OWNERLESS)


_OWNERLESS: dict[str, Any] = {"instance": None, "claim_id": None, "held_lock": None}


def lose(using: str, instance_id: UUID, reason: Reason, clock: Clock) -> list[events.RunLost]:
    """Declare the running runs of an instance lost and free its locks. Inside a transaction of the caller's."""
    running = Run.objects.using(using).filter(instance=instance_id, status=Status.RUNNING)
    jobs = list(running.values_list("job_id", flat=True))
    states = list(JobState.objects.using(using).select_for_update().filter(pk__in=jobs).order_by("pk"))
    runs = list(running.select_for_update().order_by("pk").defer("args", "kwargs"))
    now = clock.now()
    Run.objects.using(using).filter(pk__in=[run.pk for run in runs]).update(
        status=Status.LOST, reason=reason, finished_at=now
    )
    Run.objects.using(using).filter(instance=instance_id, held_lock__isnull=False).update(held_lock=None)
    lost_jobs = {run.job_id for run in runs}
    for state in states:
        if state.pk in lost_jobs:
            state.add_outcome(Status.LOST.value, None)
            state.crashes_in_row += 1
            state.last_status = Status.LOST.value
    save_settled(using, [state for state in states if state.pk in lost_jobs], now)
    return [_lost(run, reason, clock) for run in runs]


def _lost(run: Run, reason: Reason, clock: Clock) -> events.RunLost:
    return events.RunLost(
        at=clock.now(),
        run_id=run.pk,
        job_id=run.job_id or 0,
        job_name=run.job_name,
        task=run.task,
        scheduled_for=run.scheduled_for,
        reason=reason.value,
    )


def give_back(using: str, entries: Sequence[Entry]) -> int:
    """Return claimed runs to the queue; one statement, for those that are still ours."""
    if not entries:
        return 0
    mine = claims_of(using, entries).filter(status=Status.CLAIMED)
    return mine.update(status=Status.QUEUED, reason=Reason.GIVEN_BACK, **_OWNERLESS)


def stop_instance(using: str, instance_id: UUID, clock: Clock) -> list[events.RunLost]:
    """The last transaction of an instance: what still executes is lost, its locks are freed, its row says stopped."""

    def write() -> list[events.RunLost]:
        lost = lose(using, instance_id, Reason.SHUTDOWN, clock)
        Run.objects.using(using).filter(instance=instance_id, status=Status.CLAIMED).update(
            status=Status.QUEUED, reason=Reason.GIVEN_BACK, **_OWNERLESS
        )
        Instance.objects.using(using).filter(pk=instance_id).update(stopped_at=DatabaseNow())
        return lost

    return unit(using, write)
