"""Edits: bringing each job's state in line with its definition.

``replan`` is the one operation behind every edit, pause, resume and sweep. In one transaction, under the lock of the
state rows: where nothing has changed that matters to a run, nothing is done; else the job's runs that were claimed or
queued for later are withdrawn (their rows deleted: none of them has begun, and the write that would begin one waits
for this transaction and then finds no row), and the next tick is set. Changed timing is planned from now. Where only
the manner of running changed, the next tick is the first that is not settled, the withdrawn ones included.

Jobs that every instance runs for itself have no next tick here: each instance plans theirs in memory (see
local_claims), and notices by the version that its plan is old. What it has claimed ahead is withdrawn all the same.

``planned_through`` comes down to the latest tick that kept its row, so that a withdrawn tick can have another.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from django.db import connections, transaction
from django.db.models import F, JSONField, Q, Value

from django_gocron import events, registry
from django_gocron.conf import get_settings
from django_gocron.engine.database import unit
from django_gocron.engine.everywhere import jobs_everywhere, runs_everywhere
from django_gocron.engine.identities import job_identity
from django_gocron.engine.unbegun import tell_skipped
from django_gocron.engine.wakeup import notify
from django_gocron.exceptions import ArgumentsError, GocronError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import LIVE, Origin, Reason, Status
from django_gocron.models.definitions import fingerprint, read_definition
from django_gocron.models.now import database_now
from django_gocron.planning import MICROSECOND, due, first_tick, next_tick

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from django_gocron.planning import Definition

BATCH = 500
"""Jobs replanned in one transaction."""

PLANNED = (
    "next_tick_at",
    "next_run_at",
    "planned_through",
    "anchor_at",
    "version",
    "planned_version",
    "planned_hash",
    "finished_at",
    "broken_code",
    "broken_text",
)
"""The columns of a state row that a plan writes."""

TIMING_LENGTH = 32


def replan(using: str, job_ids: Collection[int], *, force: bool = False) -> int:
    """Plan the jobs anew where they have changed (with ``force``: all of them, from now on); answer how many were."""
    ids = sorted(job_ids)
    replanned = 0
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        replanned += unit(using, lambda batch=batch: _replan_batch(using, batch, force=force))  # type: ignore[misc]
    return replanned


def find_changed(using: str, limit: int = BATCH) -> list[int]:
    """Jobs whose definition is newer than their plan, and jobs that have no state row."""
    newer = Q(state__isnull=True) | ~Q(state__planned_version=F("plan_version"))
    return list(Job.objects.using(using).filter(newer).order_by("pk").values_list("pk", flat=True)[:limit])


def find_idle(using: str, limit: int = BATCH) -> list[int]:
    """Enabled jobs with a schedule (neither SQL's NULL nor JSON's null), not finished nor broken, that have no next run
    and no row that would set one; of those that every instance runs, only what is not theirs to have so."""
    live = Run.objects.filter(status__in=LIVE, job__isnull=False, scope="").values("job")
    idle = (
        JobState.objects.using(using)
        .filter(
            next_run_at__isnull=True, finished_at__isnull=True, broken_code="", quarantined_at__isnull=True
        )
        .filter(job__enabled=True, job__schedule__isnull=False)
        .exclude(job__schedule=Value(None, JSONField()))
        .filter(Q(job__paused_at__isnull=True) | Q(job__paused_until__isnull=False))
        .exclude(pk__in=live)
        .exclude(anchor_at__isnull=False, next_tick_at__isnull=True, job__in=jobs_everywhere())
    )
    return list(idle.order_by("pk").values_list("pk", flat=True)[:limit])


@dataclass(slots=True)
class _Batch:
    using: str
    now: datetime
    zone_name: str
    kept: dict[int, datetime] = field(default_factory=dict)
    withdrawn: dict[int, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    busy: set[int] = field(default_factory=set)

    def planned_through(self, job_id: int, before: datetime) -> datetime:
        """The latest tick that has a row still; of those that are over, any may have had one."""
        withdrawn = [tick - MICROSECOND for tick in self.withdrawn[job_id]]
        return self.kept.get(job_id) or min([before, self.now, *withdrawn])

    def publish(self, event: events.Event) -> None:
        """Once the edit is committed."""
        transaction.on_commit(partial(events.publish, event), using=self.using, robust=True)


def _replan_batch(using: str, ids: Sequence[int], *, force: bool) -> int:
    states = lock_states(using, ids)
    jobs = Job.objects.using(using).in_bulk(ids)
    batch = _Batch(using=using, now=database_now(using), zone_name=get_settings().time_zone)
    changed = [
        state for state in states if state.pk in jobs and _has_changed(batch, jobs[state.pk], state, force)
    ]
    if changed:
        _withdraw(batch, [state.pk for state in changed])
        for state in changed:
            _plan_state(batch, jobs[state.pk], state, force=force)
        _end_unbegun(batch, [jobs[state.pk] for state in changed])
        save_states(using, changed, PLANNED)
        notify(using)
    _mark_seen(using, [state for state in states if state.pk in jobs], jobs)
    return len(changed)


def lock_states(using: str, ids: Sequence[int]) -> list[JobState]:
    """The state rows, made where they lack, locked in the order of their keys."""
    states = JobState.objects.using(using)
    existing = set(states.filter(pk__in=ids).values_list("pk", flat=True))
    if len(existing) < len(ids):
        known = Job.objects.using(using).filter(pk__in=set(ids) - existing).values_list("pk", flat=True)
        states.bulk_create([JobState(job_id=pk) for pk in known], ignore_conflicts=True)
    return list(states.select_for_update().filter(pk__in=ids).order_by("pk"))


def save_states(using: str, states: Sequence[JobState], columns: Sequence[str]) -> None:
    """Write the columns of state rows that this transaction has locked, in one statement."""
    manager = JobState.objects.using(using)
    targets = upsert_targets(using)
    manager.bulk_create(states, update_conflicts=True, update_fields=list(columns), unique_fields=targets)


def upsert_targets(using: str, *columns: str) -> list[str] | None:
    """``unique_fields`` for an upsert by ``columns`` (the key of a state row when none are named), or None where
    the database does not take them."""
    if not connections[using].features.supports_update_conflicts_with_target:
        return None
    return list(columns) or ["job"]


def _has_changed(batch: _Batch, job: Job, state: JobState, force: bool) -> bool:
    return force or state.planned_hash != fingerprint(job, job.timezone or batch.zone_name)


def _mark_seen(using: str, states: Sequence[JobState], jobs: dict[int, Job]) -> None:
    """States whose definition was edited without consequence need not be looked at again."""
    by_version: dict[int, list[int]] = defaultdict(list)
    for state in states:
        if state.planned_version != jobs[state.pk].plan_version:
            by_version[jobs[state.pk].plan_version].append(state.pk)
    for version, ids in by_version.items():
        JobState.objects.using(using).filter(pk__in=ids).update(planned_version=version)


def _withdraw(batch: _Batch, ids: Sequence[int]) -> None:
    """Delete the runs of these jobs that were to begin later; note which ticks they were, and which kept a row."""
    ticks = Run.objects.using(batch.using).filter(job__in=ids, origin=Origin.SCHEDULE)
    runs = ticks.filter(scope="")
    waiting = ticks.filter(status__in=(Status.CLAIMED, Status.QUEUED), attempt=1, available_at__gt=batch.now)
    rows = list(
        waiting.select_for_update().order_by("pk").values_list("pk", "job_id", "scheduled_for", "scope")
    )
    for _pk, job_id, scheduled_for, scope in rows:
        if not scope:
            batch.withdrawn[job_id].append(scheduled_for)
    Run.objects.using(batch.using).filter(pk__in=[row[0] for row in rows]).delete()
    later = runs.filter(scheduled_for__gt=batch.now).order_by("scheduled_for")
    for job_id, scheduled_for in later.values_list("job_id", "scheduled_for"):
        batch.kept[job_id] = scheduled_for
    live = runs.filter(status__in=LIVE, job__interval_from_completion=True)
    batch.busy = set(live.values_list("job_id", flat=True))


def _plan_state(batch: _Batch, job: Job, state: JobState, *, force: bool) -> None:
    new_hash = fingerprint(job, job.timezone or batch.zone_name)
    same_timing = state.planned_hash[:TIMING_LENGTH] == new_hash[:TIMING_LENGTH]
    was_broken = state.broken_code
    if not state.planned_hash:
        batch.publish(events.JobRegistered(at=batch.now, **job_identity(job)))
    state.broken_code = state.broken_text = ""
    state.planned_hash, state.planned_version = new_hash, job.plan_version
    state.version += 1
    if state.planned_through:
        state.planned_through = batch.planned_through(job.pk, state.planned_through)
    try:
        definition = read_definition(job)
        check_arguments(job)
        tick = _choose_tick(batch, job, state, definition, keep=same_timing and not (was_broken or force))
    except GocronError as error:
        batch.publish(break_state(state, job, error, batch.now))
    else:
        set_next(state, definition, None if runs_everywhere(job) else tick)
        _note_finish(batch, job, state, tick)


def check_arguments(job: Job) -> None:
    """Raise ``ArgumentsError`` when the job's arguments cannot be passed to its task, if that is known here."""
    check_shape(job)
    task = registry.find_task(job.task)
    if task is not None:
        task.check_arguments(job.args, job.kwargs)


def check_shape(job: Job) -> None:
    """Raise ``ArgumentsError`` when the arguments are not a list and an object, as an edit by SQL may leave them."""
    if not isinstance(job.args, list) or not isinstance(job.kwargs, dict):
        message = "The arguments cannot be read as a JSON list and a JSON object."
        raise ArgumentsError(message, code="arguments_not_json", field="kwargs")


def break_state(state: JobState, job: Job, error: GocronError, now: datetime) -> events.JobBroken:
    """Take the job out of the schedule, with the reason; the others go on. Answers what to publish."""
    state.broken_code, state.broken_text = error.code, error.message
    state.next_tick_at = state.next_run_at = None
    return events.JobBroken(at=now, code=error.code, text=error.message, **job_identity(job))


def set_next(state: JobState, definition: Definition, tick: datetime | None) -> None:
    state.next_tick_at = tick
    state.next_run_at = due(definition, tick) if tick else None


def _choose_tick(
    batch: _Batch, job: Job, state: JobState, definition: Definition, *, keep: bool
) -> datetime | None:
    if definition.schedule is None or not is_active(job, state):
        return None
    if job.pk in batch.busy:
        return None
    if job.max_runs is not None and state.run_count >= job.max_runs:
        return None
    if keep and (state.next_tick_at or batch.withdrawn[job.pk]):
        known: list[datetime] = [state.next_tick_at] if state.next_tick_at else []
        return min([*known, *batch.withdrawn[job.pk]])
    resumes_at = job.paused_until if job.is_paused_at(batch.now) else None
    after = resumes_at - MICROSECOND if resumes_at else batch.now
    is_first = state.anchor_at is None
    state.anchor_at = anchor = job.starts_at or state.anchor_at or batch.now
    if runs_everywhere(job):  # of which the first is each instance's own
        tick = next_tick(definition, anchor=anchor, after=after)
    elif is_first or (state.planned_through is None and state.run_count == 0):
        tick = first_tick(definition, anchor=anchor, now=after)
    else:
        tick = next_tick(definition, anchor=anchor, after=max(after, state.planned_through or after))
    return max(tick, resumes_at) if tick and resumes_at else tick


def is_active(job: Job, state: JobState) -> bool:
    """Whether the job has ticks: enabled, not quarantined, not paused without an end."""
    paused = job.paused_at is not None and job.paused_until is None
    return job.enabled and not paused and state.quarantined_at is None


def _note_finish(batch: _Batch, job: Job, state: JobState, tick: datetime | None) -> None:
    ended = tick is None and job.schedule is not None and is_active(job, state) and job.pk not in batch.busy
    if ended and state.finished_at is None:
        state.finished_at = batch.now
        batch.publish(events.JobFinished(at=batch.now, **job_identity(job)))
    elif not ended:
        state.finished_at = None


def _end_unbegun(batch: _Batch, jobs: Sequence[Job]) -> None:
    stopped = [job.pk for job in jobs if not job.enabled or job.is_paused_at(batch.now)]
    if stopped:
        end_waiting(batch.using, stopped, batch.now)


def end_waiting(using: str, job_ids: Collection[int], now: datetime) -> None:
    """A job that is paused, disabled or quarantined has no run that is still to begin, those started by hand
    excepted."""
    waiting = Run.objects.using(using).filter(job__in=job_ids, status__in=(Status.QUEUED, Status.CLAIMED))
    ended = {"status": Status.SKIPPED, "reason": Reason.PAUSED, "finished_at": now}
    if waiting.exclude(origin=Origin.MANUAL).update(**ended, held_lock=None):
        tell_skipped(Run.objects.using(using).filter(job__in=job_ids, **ended))
