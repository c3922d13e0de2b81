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

from typing import TYPE_CHECKING

from django.db import OperationalError
from django.db.models import Exists, OuterRef, Q

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import is_contention, read, unit
from django_gocron.engine.everywhere import BY_HAND, find_instance
from django_gocron.engine.releasing import release_runs
from django_gocron.engine.requeueing import OWNED
from django_gocron.models import Instance, Run
from django_gocron.models.choices import Reason, Status
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

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
        queued = Run.objects.using(self._using).filter(status=Status.QUEUED).exclude(scope="")
        scopes = (
            queued.exclude(scope__startswith=BY_HAND).order_by().values_list("scope", flat=True).distinct()
        )
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
        is_news = expired.update(reaped_at=DatabaseNow(), term=None)
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
