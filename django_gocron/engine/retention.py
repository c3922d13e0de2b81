"""Retention: the history is pruned a little at a time: runs that have ended and hold no lock, and instances that have
been gone for longer than any run of theirs is kept."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Exists, F, Max, OuterRef, Q, Window
from django.db.models.functions import Coalesce, RowNumber

from django_gocron.conf import get_settings
from django_gocron.engine.database import statement
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import LIVE

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from django_gocron.clock import Clock

PERIOD = 60.0
"""Seconds between two steps that found little to prune."""

BATCH = 1000
"""Runs deleted in one transaction."""

JOBS = 100
"""Jobs whose number of runs is looked at in one step."""


class Retention:
    """Called from the loop's thread only."""

    def __init__(self, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._next_step = clock.boottime() + PERIOD
        self._after = 0

    def step(self) -> None:
        """Prune a batch if it is time. Raises ``DatabaseError`` when the database is away."""
        now = self._clock.boottime()
        if now < self._next_step:
            return
        pruned = self.prune(self._clock.now())
        self._next_step = now + (1.0 if pruned >= BATCH else PERIOD)

    def prune(self, now: datetime) -> int:
        """Delete one batch of what is too old and one of what is too many; answer how many runs that were."""
        self._prune_instances(now)
        self._prune_states()
        return self._delete(self._too_old(now)) + self._delete(self._too_many())

    def _prune_instances(self, now: datetime) -> None:
        """Without a look at runs: none that old is left."""
        longest = Job.objects.using(self._using).aggregate(days=Max("keep_days"))["days"] or 0
        before = self._cutoff(now, max(longest, get_settings().keep_days)) - timedelta(days=1)
        gone = Instance.objects.using(self._using).filter(Q(stopped_at__lt=before) | Q(reaped_at__lt=before))
        statement(self._using, lambda: gone.filter(heartbeat_at__lt=before)._raw_delete(self._using))

    def _prune_states(self) -> None:
        """Of jobs that were deleted behind Django's back: the database does not see to it."""
        orphans = JobState.objects.using(self._using).filter(~Exists(Job.objects.filter(pk=OuterRef("pk"))))
        if orphans.exists():
            statement(self._using, lambda: orphans._raw_delete(self._using))

    def _ended(self) -> QuerySet[Run]:
        return Run.objects.using(self._using).exclude(status__in=LIVE).filter(held_lock__isnull=True)

    def _too_old(self, now: datetime) -> list[int]:
        """By the job's days, else the settings'."""
        own = Job.objects.using(self._using).filter(keep_days__isnull=False)
        days = {
            number
            for number in own.order_by().values_list("keep_days", flat=True).distinct()
            if number is not None
        }
        shortest = self._cutoff(now, min(days | {get_settings().keep_days}))
        old = Q(Q(job__isnull=True) | Q(job__keep_days__isnull=True), finished_at__lt=self._cutoff(now, None))
        for number in days:
            old |= Q(job__keep_days=number, finished_at__lt=self._cutoff(now, number))
        candidates = self._ended().filter(old, finished_at__lt=shortest).order_by("finished_at")
        return list(candidates.values_list("pk", flat=True)[:BATCH])

    def _cutoff(self, now: datetime, days: int | None) -> datetime:
        return now - timedelta(days=get_settings().keep_days if days is None else days)

    def _too_many(self) -> list[int]:
        """By the job's number of runs, else the settings', for the next few jobs in turn."""
        jobs = Job.objects.using(self._using).filter(pk__gt=self._after).order_by("pk")
        ids = list(jobs.values_list("pk", flat=True)[:JOBS])
        self._after = ids[-1] if len(ids) == JOBS else 0
        ranked = (
            self._ended()
            .filter(job__in=ids)
            .annotate(
                place=Window(RowNumber(), partition_by=F("job"), order_by=F("pk").desc()),
                kept=Coalesce(F("job__keep_runs"), get_settings().keep_runs),
            )
        )
        return list(ranked.filter(place__gt=F("kept")).order_by("pk").values_list("pk", flat=True)[:BATCH])

    def _delete(self, ids: list[int]) -> int:
        if not ids:
            return 0
        return statement(self._using, lambda: Run.objects.using(self._using).filter(pk__in=ids).delete()[0])
