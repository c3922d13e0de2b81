"""Claims of queued runs: retries, runs by hand, ticks that wait for their job or have lost their instance.

Any free instance takes them, the oldest of each job, and only as many as it has slots free: what waits here waits for
whoever is first. Runs that one instance alone may have wait for that one; a run by hand of a job that every instance
runs is for any, and excludes what that one runs. Rows are chosen without a lock, then taken by one conditional update.
Ticks that have waited too long are planned again instead (see overdue).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.db.models import Case, Exists, OuterRef, Q, Value, When

from django_gocron.engine import barriers
from django_gocron.engine.database import skips_locked, statement, unit
from django_gocron.engine.entries import instance_key, job_key, make_entry
from django_gocron.engine.everywhere import BY_HAND, jobs_everywhere, may_have, runs_everywhere
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
    from django_gocron.models import Job

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

    def claim(self, now: datetime, *, slots: int, shared: bool = True) -> list[Entry]:
        """Claim runs that wait in the queue, at most as many as there are free ``slots``; the oldest of each job.
        Without ``shared`` those only that no other instance may have."""
        if not self._lease.is_trusted:
            return []
        late = self._plan_overdue(now, shared)
        chosen = self._choose(now, slots, late, shared) if slots > 0 else []
        barriers.reach("take.before")
        return unit(self._using, lambda: self._take(chosen, now)) if chosen else []

    def give_back(self, entries: Sequence[Entry], now: datetime) -> None:
        """Return claimed runs that have not begun in time, as far as they are still ours: to the queue, and from there
        to their jobs' states where they can be planned again, lest rows pile up while there is too much to do."""
        if entries:
            statement(self._using, lambda: give_back(self._using, entries))
            plan_again(self._using, {entry.job_id for entry in entries}, now)

    def is_anything_waiting(self, by: datetime, *, shared: bool = True) -> bool:
        """Whether a run that we can run waits in the queue, whose time will have come by then."""
        waiting = Run.objects.using(self._using).filter(status=Status.QUEUED, available_at__lte=by)
        return waiting.filter(self._is_for_us(shared)).exists()

    def _is_for_us(self, shared: bool) -> Q:
        return may_have(self._lease.instance_id, shared=shared) & Q(job__in=my_jobs(self._lease))

    def _choose(self, now: datetime, slots: int, late: Collection[int], shared: bool) -> list[int]:
        """The oldest queued runs whose jobs have no holder, one of each job; nothing is locked. Of those overdue only
        the ones that are to run ``late``."""
        waiting = (
            Run.objects.using(self._using)
            .filter(self._is_lock_free(), ~is_overdue(now) | Q(pk__in=late))
            .filter(self._is_for_us(shared), status=Status.QUEUED, available_at__lte=now + self._ahead)
            .exclude(lock_key__in=self._find_starting())
            .order_by("-priority", "available_at", "pk")
            .values_list("pk", "lock_key", "job_id", Case(When(_locks_here(), then=True), default=False))
        )
        chosen: dict[str, int] = {}
        jobs: set[int] = set()
        page = max(PAGE, slots)
        while len(chosen) < slots:
            others = waiting.exclude(lock_key__in=chosen).exclude(pk__in=chosen.values())
            batch = list(others.exclude(_locks_here(), job__in=jobs)[:page])
            for pk, lock_key, job_id, locks_here in batch:
                key = instance_key(job_id, self._lease.instance_id) if locks_here else lock_key
                chosen.setdefault(key or f"run {pk}", pk)
                jobs.update([job_id] if locks_here else [])
            if len(batch) < page:
                break
        return list(chosen.values())[:slots]

    def _is_lock_free(self) -> Q:
        """The condition for queued runs whose lock nobody holds, or which take none."""
        holders = Run.objects.filter(held_lock=OuterRef("lock_key"))
        here = Run.objects.filter(
            job=OuterRef("job"),
            instance=self._lease.instance_id,
            status=Status.RUNNING,
            held_lock__isnull=False,
        )
        return Q(lock_key="") | (_locks_here() & ~Exists(here)) | (~_locks_here() & ~Exists(holders))

    def _find_starting(self) -> list[str]:
        """The lock keys of ticks that have just been taken from the queue: they come before those behind them."""
        starting = Run.objects.using(self._using).filter(status=Status.CLAIMED, reason=Reason.OVERLAP)
        return list(starting.values_list("lock_key", flat=True))

    def _plan_overdue(self, now: datetime, shared: bool) -> set[int]:
        """Ask the misfire policy again about ticks that have waited too long, slots or no slots; answer those that stay
        in the queue all the same, and run late."""
        mine = find_overdue(self._using, now).filter(self._is_for_us(shared)).order_by("available_at")
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
        rows = Run.objects.using(self._using).select_related("job").filter(pk__in=taken, claim_id=claim_id)
        runs = [(run, run.job) for run in rows if run.job is not None]
        self._change_locks(runs)
        barriers.reach("take.inside", taken)
        return [make_entry(run, job) for run, job in runs]

    def _change_locks(self, runs: Sequence[tuple[Run, Job]]) -> None:
        """A run by hand takes the lock that its job's runs have where it runs."""
        changed: dict[int, str] = {}
        for run, job in runs:
            key = instance_key(job.pk, self._lease.instance_id) if runs_everywhere(job) else job_key(job)
            if run.lock_key and run.scope.startswith(BY_HAND) and run.lock_key != key:
                run.lock_key = changed[run.pk] = key
        if changed:
            keys = Case(*(When(pk=pk, then=Value(key)) for pk, key in changed.items()))
            Run.objects.using(self._using).filter(pk__in=changed).update(lock_key=keys)


def _locks_here() -> Q:
    """The condition for queued runs that will take the lock of the instance that takes them: runs by hand of jobs that
    every instance runs."""
    return Q(job__in=jobs_everywhere(), scope__startswith=BY_HAND) & ~Q(lock_key="")
