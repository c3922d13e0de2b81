"""Completions: results go to the database as soon as it can take them.

One writer. It writes at once when idle and in batches under load: whatever has finished while the last batch was
being written is the next. A batch is one transaction: the state rows are locked, then the runs that are still running
and ours; these get their result, their locks are freed (but of runs that have timed out and execute on, see overruns),
and the states learn of it. A run that was declared lost
meanwhile keeps that status; its result is refused, with an event. A run of a job that somebody is editing waits for
the next batch.

While the database is away, results wait in memory and are tried again. They are never dropped.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeAlias

from django.db import DataError, IntegrityError

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import unit
from django_gocron.engine.outcomes import learn, make_fact, make_row, may_be_retried
from django_gocron.engine.overruns import Overruns
from django_gocron.engine.replanning import upsert_targets
from django_gocron.engine.retrying import Failure, retry_failed
from django_gocron.engine.settling import lock_free_states, save_settled
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from django_gocron.clock import Clock
    from django_gocron.engine.external_locks import ExternalLocks
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.executors.outcome import Outcome

logger = logging.getLogger("django_gocron")

Result: TypeAlias = "tuple[Entry, Outcome]"

BATCH = 500
REFUSED = (DataError, IntegrityError, ValueError)
"""What is raised when the database does not take a value."""

MOST_CHARACTERS = 2_000_000
"""Of results in one batch; MariaDB takes statements of 16 MB unless told otherwise."""

WRITTEN = (
    "status",
    "reason",
    "held_lock",
    "lock_lost",
    "started_at",
    "finished_at",
    "error_type",
    "error_message",
    "traceback",
    "result",
    "output",
)


@dataclass(frozen=True, slots=True)
class _Report:
    """What came of a batch: what there is to tell, and the runs of jobs that somebody has locked."""

    facts: list[events.Event] = field(default_factory=list)
    blocked: set[int] = field(default_factory=set)

    @classmethod
    def sum(cls, reports: Iterable[Self]) -> Self:
        total = cls()
        for report in reports:
            total.facts.extend(report.facts)
            total.blocked.update(report.blocked)
        return total


class Completions:
    """Takes results from executors (any thread) and writes them (the writer's thread only)."""

    def __init__(self, using: str, clock: Clock, memory: Memory, locks: ExternalLocks) -> None:
        self._using = using
        self._clock = clock
        self._memory = memory
        self._locks = locks
        self._overruns = Overruns(using, clock, memory, locks)
        self._waiting: deque[Result] = deque()
        self._ready = threading.Event()

    def add(self, entry: Entry, outcome: Outcome) -> None:
        """Take the result of a run; returns at once."""
        self._waiting.append((entry, outcome))
        self._ready.set()

    def add_overrun(self, entry: Entry, outcome: Outcome) -> None:
        """Take the result of a run that had timed out, which comes too late; returns at once."""
        self._overruns.add(entry, outcome)
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
        """Write one batch, and free the locks of overruns; answer how many results that settled. Raises
        ``DatabaseError`` when the database is away: then nothing is lost, and the next call tries again."""
        self._ready.clear()
        return self._flush_batch() + self._overruns.free()

    def _flush_batch(self) -> int:
        batch = self._next_batch()
        if not batch:
            return 0
        barriers.reach("finish.before", [entry for entry, _outcome in batch])
        self._locks.release(entry for entry, outcome in batch if not outcome.still_executes)
        report = self._write_readily(batch)
        barriers.reach("finish.after", [entry for entry, _outcome in batch])
        for item in batch:
            self._waiting.popleft()
            if item[0].run_id in report.blocked:
                self._waiting.append(item)
        settled = [entry for entry, _outcome in batch if entry.run_id not in report.blocked]
        self._forget(batch, report.blocked)
        for fact in report.facts:
            events.publish(fact)
        if settled and self._waiting:
            self._ready.set()
        return len(settled)

    def _forget(self, batch: Sequence[Result], blocked: set[int]) -> None:
        """What is settled, and has really ended."""
        settled = [item for item in batch if item[0].run_id not in blocked]
        self._overruns.note_recorded(entry for entry, outcome in settled if outcome.still_executes)
        self._memory.forget(entry for entry, outcome in settled if not outcome.still_executes)

    def _next_batch(self) -> list[Result]:
        """The oldest results, as many as make a statement that every database takes."""
        batch: list[Result] = []
        size = 0
        for place in range(min(len(self._waiting), BATCH)):
            item = self._waiting[place]
            size += item[1].size
            if batch and size > MOST_CHARACTERS:
                break
            batch.append(item)
        return batch

    def _write_readily(self, batch: list[Result]) -> _Report:
        """Where the database refuses what is in a batch, its results go one by one, and the refused one plainer."""
        try:
            return unit(self._using, lambda: self._write(batch))
        except REFUSED as error:
            if len(batch) == 1:
                logger.warning("The result of run %d is kept in ASCII: %s", batch[0][0].run_id, error)
                return self._write_plainly(*batch[0])
            return _Report.sum(self._write_readily([item]) for item in batch)

    def _write_plainly(self, entry: Entry, outcome: Outcome) -> _Report:
        try:
            return unit(self._using, lambda: self._write([(entry, outcome.in_ascii())]))
        except REFUSED as error:
            logger.warning("Of the result of run %d only the status is kept: %s", entry.run_id, error)
            return unit(self._using, lambda: self._write([(entry, outcome.bare())]))

    def _write(self, batch: Sequence[Result]) -> _Report:
        states = self._lock_states({entry.job_id for entry, _outcome in batch})
        rows = self._lock_runs(batch)
        report = _Report()
        written: list[Run] = []
        settled: dict[int, tuple[JobState, datetime]] = {}
        failures: list[Failure] = []
        for entry, outcome in batch:
            status, finished_at = rows.get(entry.run_id, ("", None))
            is_running = status == Status.RUNNING
            if not is_running and (status, finished_at) != (outcome.status, outcome.finished_at):
                report.facts.append(self._refused(entry, outcome))
                continue
            state = states.get(entry.job_id)
            if state is None:
                report.blocked.add(entry.run_id)
                continue
            failures_before = state.failures_in_row
            if is_running:  # else it is written already, by a write whose answer got lost
                learn(state, entry, outcome)
                written.append(make_row(entry, outcome))
                if may_be_retried(outcome):
                    failures.append(
                        Failure(run_id=entry.run_id, at=outcome.finished_at, after=outcome.retry_after)
                    )
                if state.pk:
                    settled[state.pk] = (state, outcome.finished_at)
            report.facts.append(make_fact(entry, outcome, state.failures_in_row, failures_before))
        self._save(written)
        report.facts.extend(retry_failed(self._using, failures))
        save_settled(self._using, settled)
        barriers.reach("finish.inside")
        return report

    def _lock_states(self, job_ids: set[int]) -> dict[int, JobState]:
        """Those that nobody else has locked. A job that is gone has a state that nobody keeps."""
        states = lock_free_states(self._using, job_ids)
        missing = job_ids - states.keys()
        if missing:
            there = JobState.objects.using(self._using).filter(pk__in=missing).values_list("pk", flat=True)
            states |= {pk: JobState() for pk in missing - set(there)}
        return states

    def _lock_runs(self, batch: Sequence[Result]) -> dict[int, tuple[str, datetime | None]]:
        """Status and end of the runs that are ours."""
        mine = Run.objects.using(self._using).filter(
            pk__in=[entry.run_id for entry, _outcome in batch],
            instance__in={entry.instance_id for entry, _outcome in batch},
        )
        rows = mine.select_for_update().order_by("pk").values_list("pk", "status", "finished_at")
        return {pk: (status, finished_at) for pk, status, finished_at in rows}

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
