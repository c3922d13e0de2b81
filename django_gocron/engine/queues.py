"""The queue of a job: ticks that wait for the end of its live run.

A tick joins it at its instant, under the lock of the job's state row, where it finds the job's lock held or other ticks
waiting. ``queue``: no more than ``max_queued`` wait, a further one is skipped. ``queue_latest``: a further one takes
the place of the oldest. Ticks that are being caught up with all wait. Whoever is free takes the oldest once the lock
is. Where every instance runs the job, each has a lock and a queue of its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from django_gocron import events
from django_gocron.engine.database import unit
from django_gocron.engine.locks import held_keys, waiting_ticks
from django_gocron.engine.requeueing import claims_of
from django_gocron.engine.settling import lock_free_states, settle
from django_gocron.models import Run
from django_gocron.models.choices import Overlap, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from django_gocron.clock import Clock
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.models import JobState

IDENTITY = ("job_id", "job_name", "task", "scheduled_for")


@dataclass(slots=True)
class _Moves:
    """What becomes of ticks: those that wait now, those that are skipped, and the waiting ones they push out."""

    joining: list[Entry] = field(default_factory=list)
    refused: list[Entry] = field(default_factory=list)
    superseded: list[dict[str, Any]] = field(default_factory=list)

    @property
    def over(self) -> list[Entry]:
        return [*self.joining, *self.refused]


class Queues:
    """Called from the timer's thread only. ``wake`` tells the loop that something waits."""

    def __init__(self, using: str, clock: Clock, memory: Memory, wake: Callable[[], None]) -> None:
        self._using = using
        self._clock = clock
        self._memory = memory
        self._wake = wake

    def join(self, entries: Sequence[Entry]) -> None:
        """Let ticks wait, as far as their jobs allow, and forget them. What is free meanwhile, or of a job that
        somebody is editing, is left to be looked at again."""
        if not entries:
            return
        now = self._clock.now()
        moves = unit(self._using, lambda: self._join(entries, now))
        self._memory.forget(moves.over)
        for fact in _facts(moves, now):
            events.publish(fact)
        if moves.joining:
            self._wake()

    def _join(self, entries: Sequence[Entry], now: datetime) -> _Moves:
        states = lock_free_states(self._using, {entry.job_id for entry in entries})
        claimed = set(self._claimed(entries).values_list("pk", flat=True))
        busy = held_keys(self._using, entries)
        waiting = self._read_waiting([entry for entry in entries if entry.job_id in states])
        moves = _Moves()
        for entry in sorted(entries, key=lambda entry: entry.scheduled_for):
            line = waiting[entry.lock_key]
            must_wait = entry.lock_key in busy or (entry.must_queue and line)
            if must_wait and entry.job_id in states and entry.run_id in claimed:
                _join_line(moves, entry, line)
        self._write(moves, states, now)
        return moves

    def _claimed(self, entries: Sequence[Entry]) -> QuerySet[Run]:
        return (
            claims_of(self._using, entries).filter(status=Status.CLAIMED).order_by("pk").select_for_update()
        )

    def _read_waiting(self, entries: Sequence[Entry]) -> dict[str, deque[dict[str, Any]]]:
        """The other ticks that wait, by lock key, the oldest first; locked, since one that was just taken may be
        starting."""
        waiting: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
        others = waiting_ticks(self._using, entries).exclude(pk__in=[entry.run_id for entry in entries])
        rows = others.order_by("pk").select_for_update().values("pk", "lock_key", *IDENTITY)
        for row in sorted(rows, key=itemgetter("scheduled_for")):
            waiting[row["lock_key"]].append(row)
        return waiting

    def _write(self, moves: _Moves, states: dict[int, JobState], now: datetime) -> None:
        runs = Run.objects.using(self._using)
        runs.filter(pk__in=[entry.run_id for entry in moves.joining]).update(
            status=Status.QUEUED, reason=Reason.OVERLAP, instance=None, claim_id=None
        )
        for reason, ids in (
            (Reason.QUEUE_FULL, [entry.run_id for entry in moves.refused]),
            (Reason.SUPERSEDED, [row["pk"] for row in moves.superseded]),
        ):
            runs.filter(pk__in=ids).update(status=Status.SKIPPED, reason=reason, finished_at=now)
        skipped = [entry.job_id for entry in moves.refused] + [row["job_id"] for row in moves.superseded]
        settle(self._using, [(states[job_id], Status.SKIPPED.value) for job_id in skipped], now)


def _join_line(moves: _Moves, entry: Entry, line: deque[dict[str, Any]]) -> None:
    """Let one tick wait, or not; ``line`` is who waits already."""
    is_full = len(line) >= entry.max_queued and not entry.is_caught_up and not entry.has_queued
    if is_full and entry.overlap != Overlap.QUEUE_LATEST:
        moves.refused.append(entry)
        return
    if is_full:
        moves.superseded.append({**line.popleft(), "tags": entry.tags})
    moves.joining.append(entry)
    line.append({"pk": entry.run_id, **{name: getattr(entry, name) for name in IDENTITY}})


def _facts(moves: _Moves, now: datetime) -> list[events.Event]:
    queued = [entry.identity() for entry in moves.joining if not entry.has_queued]
    full = [entry.identity() for entry in moves.refused]
    superseded = [
        {"run_id": row["pk"], "tags": row["tags"], **{name: row[name] for name in IDENTITY}}
        for row in moves.superseded
    ]
    return [
        *(events.RunQueued(at=now, **run) for run in queued),
        *(events.RunSkipped(at=now, reason=Reason.QUEUE_FULL.value, **run) for run in full),
        *(events.RunSkipped(at=now, reason=Reason.SUPERSEDED.value, **run) for run in superseded),
    ]
