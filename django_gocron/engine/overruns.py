"""Overruns: runs that have timed out and whose code has ended at last.

Each is settled by one statement, which can be repeated: where the row says timed out and is ours, its lock is freed.
That is sent once both are so, in whichever order they come: the time-out has been recorded, and the code has ended.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.database import statement
from django_gocron.engine.requeueing import claims_of
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django_gocron.clock import Clock
    from django_gocron.engine.external_locks import ExternalLocks
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.executors.outcome import Outcome


class Overruns:
    """``add`` is called from executors' threads, the rest from the writer's."""

    def __init__(self, using: str, clock: Clock, memory: Memory, locks: ExternalLocks) -> None:
        self._locks = locks
        self._using = using
        self._clock = clock
        self._memory = memory
        self._ended: deque[tuple[Entry, Outcome]] = deque()
        self._recorded: set[int] = set()

    def add(self, entry: Entry, outcome: Outcome) -> None:
        """Its code has ended, with an outcome that comes too late; returns at once."""
        self._ended.append((entry, outcome))

    def note_recorded(self, entries: Iterable[Entry]) -> None:
        """Their time-outs have been written, or refused by their rows."""
        self._recorded.update(entry.run_id for entry in entries)

    def free(self) -> int:
        """Free the locks of those whose code has ended and whose time-out is recorded; answer how many those were.
        Raises ``DatabaseError`` when the database is away: then nothing is lost, and the next call tries again."""
        ended = [item for item in list(self._ended) if item[0].run_id in self._recorded]
        if not ended:
            return 0
        entries = [entry for entry, _outcome in ended]
        self._locks.release(entries)
        timed_out = claims_of(self._using, entries).filter(status=Status.TIMED_OUT)
        statement(self._using, lambda: timed_out.update(held_lock=None))
        for item in ended:
            self._ended.remove(item)
            self._recorded.discard(item[0].run_id)
        self._memory.forget(entries)
        for entry, outcome in ended:
            self._tell(entry, outcome)
        return len(ended)

    def _tell(self, entry: Entry, outcome: Outcome) -> None:
        """A task that has ended because its time was over has no result to refuse."""
        if outcome.status != Status.TIMED_OUT:
            events.publish(
                events.ResultRefused(at=self._clock.now(), status=outcome.status, **entry.identity())
            )
