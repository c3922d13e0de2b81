"""Claims: taking ticks for this instance, a little ahead of their instants.

One transaction per batch. It locks the due state rows (passing over those another instance has locked), plans each
job, advances its state and inserts its runs as ``claimed`` by this instance; then it takes queued runs into free
slots. The unique key of a run is the last word: a tick that has a row gets no second one. The rows that are really
ours are read back by the claim's own id, and only those are held in memory.

A job that cannot be planned is taken out of the schedule with its reason; the others go on.
"""

from __future__ import annotations

import uuid
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import connections
from django.db.models import Exists, OuterRef, Q

from django_gocron import events, registry
from django_gocron.context import Cancellation, Cause
from django_gocron.engine import barriers
from django_gocron.engine.database import read, statement, unit
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.memory import Entry
from django_gocron.engine.overdue import find_overdue, plan_again
from django_gocron.engine.replanning import PLANNED, break_state, save_states
from django_gocron.engine.requeueing import give_back
from django_gocron.exceptions import GocronError, ScheduleError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Origin, Overlap, Reason, Status
from django_gocron.models.definitions import read_definition
from django_gocron.planning import Misfire, Progress, plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from django_gocron.engine.lease import Lease
    from django_gocron.planning import Plan

BATCH = 500
"""Jobs claimed in one transaction, at most."""

PAGE = 100
"""Queued runs looked at in one go, at least."""

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
    """Takes ticks and queued runs. Called from the loop's thread only."""

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

    def claim_queued(self, now: datetime, *, slots: int) -> list[Entry]:
        """Claim runs that wait in the queue, at most as many as there are free ``slots``; the oldest of each job."""
        if slots <= 0 or not self._lease.is_trusted:
            return []
        chosen = self._choose_queued(now, slots)
        overdue = self._find_overdue(chosen, now)
        if overdue:
            late = plan_again(self._using, set(overdue.values()), now)
            chosen = self._choose_queued(now, slots)
            overdue = self._find_overdue(set(chosen) - late, now)
        chosen = [pk for pk in chosen if pk not in overdue]
        barriers.reach("take.before")
        return unit(self._using, lambda: self._take_queued(chosen, now)) if chosen else []

    def give_back(self, entries: Sequence[Entry], now: datetime) -> None:
        """Return claimed runs that have not begun in time, as far as they are still ours: to the queue, and from there
        to their jobs' states where they can be planned again, lest rows pile up while there is more to do than can be."""
        if entries:
            statement(self._using, lambda: give_back(self._using, entries))
            plan_again(self._using, {entry.job_id for entry in entries}, now)

    def is_anything_queued(self, by: datetime) -> bool:
        """Whether a run waits in the queue whose time will have come by then."""
        waiting = Run.objects.using(self._using).filter(status=Status.QUEUED, available_at__lte=by)
        return waiting.exists()

    def next_due_at(self) -> datetime | None:
        """When the next tick that this instance could claim is due."""
        mine = JobState.objects.using(self._using).filter(next_run_at__isnull=False, job__in=self._my_jobs())
        return mine.order_by("next_run_at").values_list("next_run_at", flat=True).first()

    def _claim_due(self, now: datetime, limit: int) -> _Draft:
        draft = _Draft(claim_id=uuid.uuid4())
        states = self._lock_due(now + self._ahead, limit)
        mine = self._my_jobs().using(self._using).defer("description", "tags", "declared")
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
        skip_locked = connections[self._using].features.has_select_for_update_skip_locked
        due = JobState.objects.using(self._using).filter(next_run_at__lte=horizon)
        foreign = list(
            due.exclude(job__in=self._my_jobs())
            .order_by("next_run_at")
            .values_list("pk", flat=True)[:MOST_FOREIGN]
        )
        mine = (
            due.filter(lease_is_valid(self._lease.instance_id))
            .exclude(pk__in=foreign)
            .order_by("next_run_at")
        )
        ids = list(mine.select_for_update(skip_locked=skip_locked).values_list("pk", flat=True)[:limit])
        rows = JobState.objects.using(self._using).defer("outcomes").filter(pk__in=ids)
        states = list(rows.order_by("next_run_at"))
        for state in states:
            state.outcomes = []  # planning neither reads nor writes them, and they are the most of a row
        return states

    def _my_jobs(self) -> QuerySet[Job]:
        """Jobs whose task this process has registered, whose label it serves, and, if code has declared them, which
        its code still declares: during a deploy the old process runs what only the old code has."""
        known = [task.name for task in registry.tasks()]
        mine = Q(key__isnull=True) | Q(key__in=registry.declared_keys())
        return Job.objects.filter(mine, task__in=known, label__in=("", *self._lease.labels))

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

    def _choose_queued(self, now: datetime, slots: int) -> list[int]:
        """The oldest queued runs whose jobs have no holder, one of each job; nothing is locked."""
        busy = Run.objects.filter(held_lock=OuterRef("lock_key"))
        waiting = (
            Run.objects.using(self._using)
            .filter(Q(lock_key="") | ~Exists(busy))
            .filter(status=Status.QUEUED, available_at__lte=now + self._ahead, job__in=self._my_jobs())
            .order_by("-priority", "available_at", "pk")
            .values_list("pk", "lock_key")
        )
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

    def _find_overdue(self, ids: Collection[int], now: datetime) -> dict[int, int]:
        """Which of these runs the misfire policy is to be asked about again, and the job of each."""
        return dict(find_overdue(self._using, now).filter(pk__in=ids).values_list("pk", "job_id"))

    def _take_queued(self, ids: Sequence[int], now: datetime) -> list[Entry]:
        """Those that nobody else has taken, or is taking."""
        skip_locked = connections[self._using].features.has_select_for_update_skip_locked
        rows = Run.objects.using(self._using).filter(pk__in=ids, status=Status.QUEUED)
        mine = rows.filter(lease_is_valid(self._lease.instance_id)).select_for_update(skip_locked=skip_locked)
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


def lock_key(job: Job) -> str:
    """What two runs of a job that may not overlap have in common, or "" where they may."""
    return "" if job.overlap == Overlap.ALLOW else str(job.pk)


def new_run(job: Job, *, status: str, scheduled_for: datetime, reason: str = "", **values: object) -> Run:
    """A row for the ledger, with what it takes over from its job; the arguments are its own, since a task may change
    them."""
    return Run(
        job=job,
        job_key=job.key or "",
        job_name=job.name,
        task=job.task,
        args=deepcopy(job.args),
        kwargs=deepcopy(job.kwargs),
        status=status,
        reason=reason,
        scheduled_for=scheduled_for,
        lock_key=lock_key(job),
        label=job.label,
        priority=job.priority,
        **values,
    )


def make_entry(run: Run, job: Job, missed: tuple[datetime, datetime, int] | None = None) -> Entry:
    """What this instance holds of a run it has claimed."""
    assert run.claim_id is not None
    assert run.instance_id is not None
    due_at = run.available_at or run.scheduled_for
    return Entry(
        run_id=run.pk,
        job_id=job.pk,
        job_name=run.job_name,
        task=run.task,
        args=run.args,
        kwargs=run.kwargs,
        origin=run.origin,
        scheduled_for=run.scheduled_for,
        due_at=due_at,
        attempt=run.attempt,
        priority=run.priority,
        lock_key=run.lock_key,
        instance_id=run.instance_id,
        claim_id=run.claim_id,
        starting_deadline=job.starting_deadline if run.origin == Origin.SCHEDULE else None,
        timeout=job.timeout,
        max_runs=job.max_runs,
        missed=missed,
        overlap=job.overlap,
        max_queued=job.max_queued,
        claimed_at=run.claimed_at,
        has_queued=run.reason == Reason.OVERLAP,
        is_caught_up=job.misfire == Misfire.RUN_ALL and due_at < (run.claimed_at or due_at),
        cancellation=_cancellation_of(run),
    )


def _cancellation_of(run: Run) -> Cancellation:
    """A run that went back to the queue when somebody had cancelled it already is cancelled still."""
    cancellation = Cancellation()
    if run.cancel_requested_at is not None:
        cancellation.ask(Cause.BY_USER, run.error_message)
    return cancellation
