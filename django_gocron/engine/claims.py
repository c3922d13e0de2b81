"""Claims: taking ticks for this instance, a little ahead of their instants.

One transaction per batch. It locks the due state rows (passing over those another instance has locked), plans each
job, advances its state and inserts its runs as ``claimed`` by this instance (see drafts).

A job that cannot be planned is taken out of the schedule with its reason; the others go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import skips_locked, unit
from django_gocron.engine.drafts import Draft, budget_of, count_open
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.engine.identities import job_identity
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.replanning import PLANNED, save_states
from django_gocron.engine.runnable import my_jobs
from django_gocron.models import JobState
from django_gocron.planning import Progress

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry
    from django_gocron.models import Job
    from django_gocron.planning import Plan

BATCH = 500
"""Jobs claimed in one transaction, at most."""

MOST_FOREIGN = 5000
"""Due jobs of others that are passed over, at most."""


class Claims:
    """Takes ticks. Called from the loop's thread only."""

    def __init__(self, using: str, lease: Lease, *, ahead: timedelta) -> None:
        self._using = using
        self._lease = lease
        self._ahead = ahead

    def claim(self, now: datetime, *, room: int) -> list[Entry]:
        """Claim the ticks due within ``ahead`` of ``now``, of at most ``room`` jobs; answer the runs that are ours.

        Raises ``DatabaseError`` when the database is away.
        """
        if room <= 0 or not self._lease.is_trusted:
            return []
        barriers.reach("claim.before")
        draft = unit(self._using, lambda: self._claim_due(now, min(room, BATCH)))
        barriers.reach("claim.after")
        for fact in draft.facts:
            events.publish(fact)
        return draft.read_back(self._using) if draft.runs else []

    def next_due_at(self) -> datetime | None:
        """When the next tick that this instance could claim is due."""
        mine = JobState.objects.using(self._using).filter(
            next_run_at__isnull=False, job__in=my_jobs(self._lease)
        )
        return mine.order_by("next_run_at").values_list("next_run_at", flat=True).first()

    def _claim_due(self, now: datetime, limit: int) -> Draft:
        draft = Draft(instance_id=self._lease.instance_id)
        states = self._lock_due(now + self._ahead, limit)
        mine = my_jobs(self._lease).using(self._using).defer("description", "declared")
        draft.jobs = mine.in_bulk([state.pk for state in states])
        open_runs = count_open(self._using, draft.jobs)
        for state in states:
            if state.pk not in draft.jobs:
                continue
            self._plan(draft, state, open_runs[state.pk], now)
        if draft.states:
            save_states(self._using, draft.states, PLANNED)
            draft.insert(self._using)
        return draft

    def _lock_due(self, horizon: datetime, limit: int) -> list[JobState]:
        """Lock by a statement that reads the index alone (MariaDB would else lock every due row, or the jobs), then
        read. Jobs that are not ours are passed over, not to stand in the way of ours."""
        due = JobState.objects.using(self._using).filter(next_run_at__lte=horizon)
        foreign = list(
            due.exclude(job__in=my_jobs(self._lease))
            .order_by("next_run_at")
            .values_list("pk", flat=True)[:MOST_FOREIGN]
        )
        mine = (
            due.filter(lease_is_valid(self._lease.instance_id))
            .exclude(pk__in=foreign)
            .order_by("next_run_at")
        )
        ids = list(
            mine.select_for_update(skip_locked=skips_locked(self._using)).values_list("pk", flat=True)[:limit]
        )
        rows = JobState.objects.using(self._using).defer("outcomes").filter(pk__in=ids)
        states = list(rows.order_by("next_run_at"))
        for state in states:
            state.outcomes = []  # planning neither reads nor writes them, and they are the most of a row
        return states

    def _plan(self, draft: Draft, state: JobState, open_runs: int, now: datetime) -> None:
        job = draft.jobs[state.pk]
        draft.states.append(state)
        state.version += 1
        if state.anchor_at is None or state.next_tick_at is None or runs_everywhere(job):
            state.next_run_at = None  # not written by us: the sweep finds the job idle, and plans it
            return
        budget = budget_of(job, state, open_runs)
        progress = Progress(anchor_at=state.anchor_at, next_tick_at=state.next_tick_at, budget=budget)
        planned = draft.plan(job, state, progress, now=now, horizon=now + self._ahead)
        if planned is not None:
            is_exhausted = budget is not None and len(planned.ticks) >= budget
            self._advance(draft, job, state, planned, now, exhausted=is_exhausted)

    def _advance(
        self, draft: Draft, job: Job, state: JobState, planned: Plan, now: datetime, *, exhausted: bool
    ) -> None:
        state.planned_through = max(
            filter(None, (state.planned_through, planned.settled_through)), default=None
        )
        state.next_tick_at = planned.next_tick_at
        state.next_run_at = None if exhausted else planned.next_due_at
        if planned.next_tick_at is None and not job.interval_from_completion:
            state.finished_at = now
            draft.facts.append(events.JobFinished(at=now, **job_identity(job)))
