"""Claims of queued runs: retries, runs by hand, ticks that wait for their job or have lost their instance.

Any free instance takes them, the oldest of each job, and only as many as it has slots free: what waits here waits for
whoever is first. Rows are chosen without a lock, then taken by one conditional update. Ticks that have waited too long
are planned again instead (see overdue).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q

from django_gocron.engine import barriers
from django_gocron.engine.database import skips_locked, statement, unit
from django_gocron.engine.entries import make_entry
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.overdue import find_overdue, is_overdue, plan_again
from django_gocron.engine.requeueing import give_back
from django_gocron.engine.runnable import my_jobs
from django_gocron.models import Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime, timedelta

    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry

BATCH = 500
"""Ticks that are planned again in one go."""

PAGE = 100
"""Queued runs looked at in one go, at least."""


class QueueClaims:
    """Called from the loop's thread only."""

    def __init__(self, using: str, lease: Lease, *, ahead: timedelta) -> None:
        self._using = using
        self._lease = lease
        self._ahead = ahead

    def claim(self, now: datetime, *, slots: int) -> list[Entry]:
        """Claim runs that wait in the queue, at most as many as there are free ``slots``; the oldest of each job."""
        if not self._lease.is_trusted:
            return []
        late = self._plan_overdue(now)
        chosen = self._choose(now, slots, late) if slots > 0 else []
        barriers.reach("take.before")
        return unit(self._using, lambda: self._take(chosen, now)) if chosen else []

    def give_back(self, entries: Sequence[Entry], now: datetime) -> None:
        """Return claimed runs that have not begun in time, as far as they are still ours: to the queue, and from there
        to their jobs' states where they can be planned again, lest rows pile up while there is too much to do."""
        if entries:
            statement(self._using, lambda: give_back(self._using, entries))
            plan_again(self._using, {entry.job_id for entry in entries}, now)

    def is_anything_waiting(self, by: datetime) -> bool:
        """Whether a run that we can run waits in the queue, whose time will have come by then."""
        waiting = Run.objects.using(self._using).filter(status=Status.QUEUED, available_at__lte=by)
        return waiting.filter(job__in=my_jobs(self._lease)).exists()

    def _choose(self, now: datetime, slots: int, late: Collection[int]) -> list[int]:
        """The oldest queued runs whose jobs have no holder, one of each job; nothing is locked. Of those overdue only
        the ones that are to run ``late``."""
        busy = Run.objects.filter(held_lock=OuterRef("lock_key"))
        waiting = (
            Run.objects.using(self._using)
            .filter(Q(lock_key="") | ~Exists(busy), ~is_overdue(now) | Q(pk__in=late))
            .filter(status=Status.QUEUED, available_at__lte=now + self._ahead, job__in=my_jobs(self._lease))
            .order_by("-priority", "available_at", "pk")
            .values_list("pk", "lock_key")
        )
        waiting = waiting.exclude(lock_key__in=self._find_starting())
        chosen: dict[str, int] = {}
        page = max(PAGE, slots)
        while len(chosen) < slots:
            others = waiting.exclude(lock_key__in=set(chosen) - {""}).exclude(pk__in=chosen.values())
            batch = list(others[:page])
            for pk, lock_key in batch:
                chosen.setdefault(lock_key or f"run {pk}", pk)
            if len(batch) < page:
                break
        return list(chosen.values())[:slots]

    def _find_starting(self) -> list[str]:
        """The lock keys of ticks that have just been taken from the queue: they come before those behind them."""
        starting = Run.objects.using(self._using).filter(status=Status.CLAIMED, reason=Reason.OVERLAP)
        return list(starting.values_list("lock_key", flat=True))

    def _plan_overdue(self, now: datetime) -> set[int]:
        """Ask the misfire policy again about ticks that have waited too long, slots or no slots; answer those that stay
        in the queue all the same, and run late."""
        mine = find_overdue(self._using, now).filter(job__in=my_jobs(self._lease)).order_by("available_at")
        job_ids = set(mine.values_list("job_id", flat=True)[:BATCH])
        return plan_again(self._using, job_ids, now) if job_ids else set()

    def _take(self, ids: Sequence[int], now: datetime) -> list[Entry]:
        """Those that nobody else has taken, or is taking."""
        rows = Run.objects.using(self._using).filter(pk__in=ids, status=Status.QUEUED)
        free = rows.select_for_update(skip_locked=skips_locked(self._using))
        mine = free.filter(lease_is_valid(self._lease.instance_id))
        taken = list(mine.order_by("pk").values_list("pk", flat=True))
        claim_id = uuid.uuid4()
        rows.filter(pk__in=taken).update(
            status=Status.CLAIMED,
            instance=self._lease.instance_id,
            claim_id=claim_id,
            claimed_at=now,
        )
        barriers.reach("take.inside", taken)
        runs = Run.objects.using(self._using).select_related("job").filter(pk__in=taken, claim_id=claim_id)
        return [make_entry(run, run.job) for run in runs if run.job is not None]
