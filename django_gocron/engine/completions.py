"""Completions: results go to the database as soon as it can take them.

One writer. It writes at once when idle and in batches under load: whatever has finished while the last batch was
being written is the next. A batch is one transaction: the state rows are locked, then the runs that are still running
and ours; these get their result, their locks are freed, and the states learn of it. A run that was declared lost
meanwhile keeps that status; its result is refused, with an event.

While the database is away, results wait in memory and are tried again. They are never dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.database import unit
from django_gocron.engine.replanning import upsert_targets
from django_gocron.engine.settling import save_settled
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_gocron.engine.clock import Clock
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.executors.outcome import Outcome

BATCH = 500

WRITTEN = (
    "status",
    "reason",
    "held_lock",
    "started_at",
    "finished_at",
    "error_type",
    "error_message",
    "traceback",
    "result",
    "output",
)


class Completions:
    """Takes results from executors (any thread) and writes them (the writer's thread only)."""

    def __init__(self, using: str, clock: Clock, memory: Memory) -> None:
        self._using = using
        self._clock = clock
        self._memory = memory
        self._waiting: deque[tuple[Entry, Outcome]] = deque()
        self._ready = threading.Event()

    def add(self, entry: Entry, outcome: Outcome) -> None:
        """Take the result of a run; returns at once."""
        self._waiting.append((entry, outcome))
        self._ready.set()

    def wait(self, seconds: float) -> None:
        """Return when there is something to write, or after ``seconds``."""
        self._ready.wait(seconds)

    def wake(self) -> None:
        self._ready.set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def flush(self) -> int:
        """Write one batch; answer how many results it had. Raises ``DatabaseError`` when the database is away: then
        nothing is lost, and the next call tries again."""
        self._ready.clear()
        batch = [self._waiting[i] for i in range(min(len(self._waiting), BATCH))]
        if not batch:
            return 0
        facts = unit(self._using, lambda: self._write(batch))
        for _ in batch:
            self._waiting.popleft()
        self._memory.forget([entry for entry, _outcome in batch])
        for fact in facts:
            events.publish(fact)
        if self._waiting:
            self._ready.set()
        return len(batch)

    def _write(self, batch: Sequence[tuple[Entry, Outcome]]) -> list[events.Event]:
        jobs = {entry.job_id for entry, _outcome in batch}
        locked = JobState.objects.using(self._using).select_for_update().filter(pk__in=jobs).order_by("pk")
        states = {state.pk: state for state in locked}
        runs = self._lock_runs(batch)
        facts: list[events.Event] = []
        for entry, outcome in batch:
            run = runs.get(entry.run_id)
            if run is None:
                facts.append(self._refused(entry, outcome))
                continue
            _fill(run, outcome)
            state = states.get(entry.job_id, JobState())
            _learn(state, entry, outcome)
            facts.append(_fact(entry, outcome, state.failures_in_row))
        self._save(list(runs.values()))
        latest = max((outcome.finished_at for _entry, outcome in batch), default=self._clock.now())
        written = {entry.job_id for entry, _outcome in batch if entry.run_id in runs}
        save_settled(self._using, [states[pk] for pk in sorted(written) if pk in states], latest)
        return facts

    def _lock_runs(self, batch: Sequence[tuple[Entry, Outcome]]) -> dict[int, Run]:
        mine = Run.objects.using(self._using).filter(
            pk__in=[entry.run_id for entry, _outcome in batch],
            instance__in={entry.instance_id for entry, _outcome in batch},
            status=Status.RUNNING,
        )
        return {run.pk: run for run in mine.select_for_update().order_by("pk")}

    def _save(self, runs: list[Run]) -> None:
        if runs:
            Run.objects.using(self._using).bulk_create(
                runs,
                update_conflicts=True,
                update_fields=list(WRITTEN),
                unique_fields=upsert_targets(self._using, "id"),
            )

    def _refused(self, entry: Entry, outcome: Outcome) -> events.Event:
        return events.ResultRefused(at=self._clock.now(), status=outcome.status, **entry.identity())


def _fill(run: Run, outcome: Outcome) -> None:
    run.held_lock = None
    for name in ("status", "reason", "started_at", "finished_at", "error_type", "error_message", "traceback"):
        setattr(run, name, getattr(outcome, name))
    run.result, run.output = outcome.result, outcome.output


def _learn(state: JobState, entry: Entry, outcome: Outcome) -> None:
    state.add_outcome(outcome.status, outcome.took.total_seconds())
    state.last_run, state.last_status = entry.run_id, outcome.status
    state.last_started_at, state.last_finished_at = outcome.started_at, outcome.finished_at
    state.crashes_in_row = 0
    if entry.attempt == 1 and not entry.is_counted:
        state.run_count += 1
    if outcome.status == Status.SUCCEEDED:
        state.failures_in_row = 0
        state.last_success, state.last_success_at = entry.run_id, outcome.finished_at
    elif outcome.status == Status.FAILED:
        state.failures_in_row += 1
        state.last_failure, state.last_failure_at = entry.run_id, outcome.finished_at


def _fact(entry: Entry, outcome: Outcome, failures_in_row: int) -> events.Event:
    if outcome.status == Status.SUCCEEDED:
        return events.RunSucceeded(at=outcome.finished_at, took=outcome.took, **entry.identity())
    return events.RunFailed(
        at=outcome.finished_at,
        took=outcome.took,
        reason=outcome.reason,
        error_type=outcome.error_type,
        error_message=outcome.error_message,
        traceback=outcome.traceback,
        failures_in_row=failures_in_row,
        **entry.identity(),
    )
