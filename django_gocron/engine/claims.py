"""Claims: taking ticks for this instance, a little ahead of their instants.

One transaction per batch. It locks the due state rows (passing over those another instance has locked), plans each
job, advances its state and inserts its runs as ``claimed`` by this instance. The unique key of a run is the last word:
a tick that has a row gets no second one. The rows that are really ours are read back by the claim's own id, and only
those are held in memory.

A job that cannot be planned is taken out of the schedule with its reason; the others go on.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import read, skips_locked, unit
from django_gocron.engine.entries import make_entry, new_run
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.replanning import PLANNED, break_state, check_shape, save_states
from django_gocron.engine.runnable import my_jobs
from django_gocron.exceptions import GocronError, ScheduleError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.definitions import read_definition
from django_gocron.planning import Progress, plan

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry
    from django_gocron.planning import Plan

BATCH = 500
"""Jobs claimed in one transaction, at most."""

MOST_FOREIGN = 5000
"""Due jobs of others that are passed over, at most."""


@dataclass(slots=True)
class _Draft:
    """What a claim is about to write."""

    claim_id: uuid.UUID
    states: list[JobState] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    missed: dict[tuple[int, datetime], tuple[datetime, datetime, int]] = field(default_factory=dict)
    facts: list[events.Event] = field(default_factory=list)


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
        return self._read_back(draft) if draft.runs else []

    def next_due_at(self) -> datetime | None:
        """When the next tick that this instance could claim is due."""
        mine = JobState.objects.using(self._using).filter(
            next_run_at__isnull=False, job__in=my_jobs(self._lease)
        )
        return mine.order_by("next_run_at").values_list("next_run_at", flat=True).first()

    def _claim_due(self, now: datetime, limit: int) -> _Draft:
        draft = _Draft(claim_id=uuid.uuid4())
        states = self._lock_due(now + self._ahead, limit)
        mine = my_jobs(self._lease).using(self._using).defer("description", "tags", "declared")
        draft.jobs = mine.in_bulk([state.pk for state in states])
        open_runs = self._count_open(draft.jobs)
        for state in states:
            if state.pk not in draft.jobs:
                continue
            self._plan(draft, state, open_runs[state.pk], now)
        if draft.states:
            save_states(self._using, draft.states, PLANNED)
            barriers.reach("record.before")
            Run.objects.using(self._using).bulk_create(draft.runs, ignore_conflicts=True)
            barriers.reach("record.after")
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

    def _count_open(self, jobs: dict[int, Job]) -> Counter[int]:
        """First attempts that are claimed or queued, of the jobs that have a limit of runs."""
        limited = [pk for pk, job in jobs.items() if job.max_runs is not None]
        if not limited:
            return Counter()
        waiting = Run.objects.using(self._using).filter(
            job__in=limited, attempt=1, status__in=(Status.CLAIMED, Status.QUEUED)
        )
        return Counter(waiting.values_list("job_id", flat=True))

    def _plan(self, draft: _Draft, state: JobState, open_runs: int, now: datetime) -> None:
        job = draft.jobs[state.pk]
        draft.states.append(state)
        state.version += 1
        if state.anchor_at is None or state.next_tick_at is None:
            state.next_run_at = None  # not written by us: the sweep finds the job idle, and plans it
            return
        budget = None if job.max_runs is None else max(0, job.max_runs - state.run_count - open_runs)
        progress = Progress(anchor_at=state.anchor_at, next_tick_at=state.next_tick_at, budget=budget)
        try:
            check_shape(job)
            planned = plan(read_definition(job), progress, now=now, horizon=now + self._ahead)
        except GocronError as error:
            draft.facts.append(break_state(state, job, error, now))
            return
        except Exception as error:  # noqa: BLE001 - whatever the schedule of one job raises, the others go on
            fault = ScheduleError(f"Planning raised {type(error).__name__}: {error}", code="planning_failed")
            draft.facts.append(break_state(state, job, fault, now))
            return
        self._record(draft, job, planned, now)
        self._advance(
            draft, job, state, planned, now, exhausted=budget is not None and len(planned.ticks) >= budget
        )

    def _record(self, draft: _Draft, job: Job, planned: Plan, now: datetime) -> None:
        for row in planned.passed:
            run = new_run(job, status=row.status, reason=row.reason, scheduled_for=row.first)
            run.count, run.window_end, run.finished_at = row.count, row.last, now
            draft.runs.append(run)
            fact: dict[str, Any] = {"at": now, "job_id": job.pk, "job_name": job.name, "count": row.count}
            if row.status == Status.COALESCED:
                for tick in planned.ticks[:1]:
                    draft.missed[job.pk, tick.scheduled_for] = (row.first, row.last, row.count)
                draft.facts.append(events.TicksCoalesced(first=row.first, last=row.last, **fact))
            else:
                draft.facts.append(
                    events.TicksMissed(reason=row.reason, first=row.first, last=row.last, **fact)
                )
        for tick in planned.ticks:
            run = new_run(
                job, status=Status.CLAIMED, scheduled_for=tick.scheduled_for, available_at=tick.due_at
            )
            run.instance_id, run.claim_id, run.claimed_at = self._lease.instance_id, draft.claim_id, now
            draft.runs.append(run)

    def _advance(
        self, draft: _Draft, job: Job, state: JobState, planned: Plan, now: datetime, *, exhausted: bool
    ) -> None:
        state.planned_through = max(
            filter(None, (state.planned_through, planned.settled_through)), default=None
        )
        state.next_tick_at = planned.next_tick_at
        state.next_run_at = None if exhausted else planned.next_due_at
        if planned.next_tick_at is None and not job.interval_from_completion:
            state.finished_at = now
            draft.facts.append(events.JobFinished(at=now, job_id=job.pk, job_name=job.name))

    def _read_back(self, draft: _Draft) -> list[Entry]:
        """The runs that are really ours: a tick that had a row already got none from this claim."""
        mine = Run.objects.using(self._using).filter(
            instance=self._lease.instance_id, claim_id=draft.claim_id, status=Status.CLAIMED
        )
        rows = read(self._using, lambda: list(mine.values_list("pk", "job_id", "scheduled_for")))
        keys = {(job_id, tick): pk for pk, job_id, tick in rows}
        entries: list[Entry] = []
        for run in draft.runs:
            key = (run.job_id, run.scheduled_for)
            if run.job is not None and key in keys:
                run.pk = keys[key]
                entries.append(make_entry(run, run.job, missed=draft.missed.get(key)))
        return entries
