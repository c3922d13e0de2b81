"""What this instance holds: one dict of entries by run id, under one lock.

States of an entry, and who moves it:

    held ──timer──> starting ──timer──> hold ──executor──> executing ──executor──> done ──writer──> (forgotten)
      │                 │                 │                   └──timer──> overrun ──executor──> done
      │                 │                 └──at the stop──> giving_back ──> (forgotten)
      │                 └──timer (its lock is taken: to be looked at again)──> held
      └──at the stop──> giving_back ──> (forgotten)

``held``: claimed in the database, waiting for its instant. ``starting``: the write that makes it running is under
way. ``hold``: running in the database, in the hands of an executor until the instant. ``executing``: user code runs.
``overrun``: it has timed out, and user code runs on. ``done``: user code has ended; the result waits to be written, or
the lock of an overrun to be freed. ``giving_back``: it goes back to the queue; only what user code has not begun for
may. When the lease is lost, what has not begun is forgotten at once. A crash loses the memory: the
rows say which instance had them, and another one recovers them when the lease is over.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django_gocron.context import Cancellation
from django_gocron.models.choices import Origin, Overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime, timedelta
    from uuid import UUID


class State(Enum):
    HELD = auto()
    STARTING = auto()
    HOLD = auto()
    EXECUTING = auto()
    OVERRUN = auto()
    DONE = auto()
    GIVING_BACK = auto()


BEGUN = (State.EXECUTING, State.OVERRUN)
"""The states in which user code runs."""

IN_A_SLOT = (State.STARTING, State.HOLD, *BEGUN)
"""The states in which an entry occupies one of the instance's workers."""


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """A run in the hands of this instance. Only ``state`` changes, and only the memory changes it."""

    run_id: int
    job_id: int
    job_name: str
    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    origin: str
    scheduled_for: datetime
    due_at: datetime
    attempt: int
    priority: int
    lock_key: str
    instance_id: UUID
    claim_id: UUID
    tags: tuple[str, ...] = ()
    starting_deadline: timedelta | None = None
    timeout: timedelta | None = None
    max_runs: int | None = None
    missed: tuple[datetime, datetime, int] | None = None
    locker: str = ""
    """The alias of the locker it needs a lock of, or "": none."""
    on_lock_error: str = ""
    overlap: str = ""
    max_queued: int = 1
    is_caught_up: bool = False
    is_local: bool = False
    """Whether this instance alone may have the run; others have runs of their own of its tick."""
    has_queued: bool = False
    """Whether it has waited in the queue for the end of the job's live run."""
    claimed_at: datetime | None = None
    state: State = State.HELD
    lease_lost: threading.Event = field(default_factory=threading.Event)
    lock_lost: threading.Event = field(default_factory=threading.Event)
    cancellation: Cancellation = field(default_factory=Cancellation)
    order: tuple[datetime, int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.order = (self.due_at, -self.priority, self.run_id)

    @property
    def waits_since(self) -> datetime:
        """From when on it could have started here."""
        return max(self.due_at, self.claimed_at or self.due_at)

    @property
    def is_tick(self) -> bool:
        """Whether it is the first attempt of a planned tick."""
        return self.origin == Origin.SCHEDULE and self.attempt == 1

    @property
    def must_queue(self) -> bool:
        """Whether it waits behind the ticks of its job that are queued already."""
        return self.is_tick and self.overlap in (Overlap.QUEUE, Overlap.QUEUE_LATEST) and not self.has_queued

    def identity(self) -> dict[str, Any]:
        """What every event about this run says of it."""
        return {
            "run_id": self.run_id,
            "job_id": self.job_id,
            "job_name": self.job_name,
            "task": self.task,
            "scheduled_for": self.scheduled_for,
            "tags": self.tags,
        }

    @property
    def is_counted(self) -> bool:
        """Whether its start is counted against ``max_runs``."""
        return self.max_runs is not None and self.attempt == 1


class Memory:
    """All entries of this instance. ``generation`` grows whenever something appears or goes, or is to be looked at
    again."""

    def __init__(self) -> None:
        self.generation = 0
        self._changed = threading.Condition()
        self._entries: dict[int, Entry] = {}
        self._tally: Counter[State] = Counter()
        self._held: list[Entry] | None = []

    def wait(self, generation: int, seconds: float) -> None:
        """Return once there is another generation, or after ``seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: self.generation != generation, seconds)

    def add(self, entries: Iterable[Entry]) -> None:
        """Hold entries; a newer claim of a run replaces an older one."""
        with self._changed:
            for entry in entries:
                self._drop(self._entries.get(entry.run_id))
                self._entries[entry.run_id] = entry
                self._count(entry, 1)
            self._note_change()

    def move(self, entry: Entry, origin: State, target: State) -> bool:
        """Move an entry from one state to another; False when it is not in ``origin``, or not ours any more."""
        with self._changed:
            if self._entries.get(entry.run_id) is not entry or entry.state is not origin:
                return False
            self._set(entry, target)
            if target is State.DONE:
                self._note_change()
            return True

    def forget(self, entries: Iterable[Entry]) -> None:
        with self._changed:
            for entry in entries:
                if self._entries.get(entry.run_id) is entry:
                    self._drop(entry)
            self._note_change()

    def entries(self, *states: State) -> list[Entry]:
        """Entries in any of the states (none given: all), soonest first, higher priority first."""
        with self._changed:
            found = [entry for entry in self._entries.values() if not states or entry.state in states]
        return sorted(found, key=attrgetter("order"))

    def held(self) -> list[Entry]:
        """The entries that are held, in the same order. Asked for again and again, so it is kept."""
        with self._changed:
            if self._held is None:
                self._held = self.entries(State.HELD)
            return self._held

    def has(self, entry: Entry) -> bool:
        """Whether this very entry is here: not forgotten, and not replaced by a newer claim of its run."""
        with self._changed:
            return self._entries.get(entry.run_id) is entry

    def count(self, *states: State) -> int:
        """How many entries are in any of the states (none given: in all)."""
        with self._changed:
            return sum(self._tally[state] for state in states) if states else len(self._entries)

    def withdraw(self, *states: State) -> list[Entry]:
        """Move everything in these states, none of which has begun, to ``giving_back``, and answer it."""
        with self._changed:
            found = self.entries(*states)
            for entry in found:
                self._set(entry, State.GIVING_BACK)
        return found

    def withdraw_held(self, where: Callable[[Entry], bool]) -> list[Entry]:
        """Move what is held and for which ``where`` holds to ``giving_back``, and answer it."""
        with self._changed:
            found = [entry for entry in self.held() if where(entry)]
            for entry in found:
                self._set(entry, State.GIVING_BACK)
        return found

    def wake(self) -> None:
        """Let whoever waits look again."""
        with self._changed:
            self._note_change()

    def _drop(self, entry: Entry | None) -> None:
        if entry is not None:
            del self._entries[entry.run_id]
            self._count(entry, -1)

    def _set(self, entry: Entry, state: State) -> None:
        self._count(entry, -1)
        entry.state = state
        self._count(entry, 1)

    def _count(self, entry: Entry, step: int) -> None:
        self._tally[entry.state] += step
        if entry.state is State.HELD:
            self._held = None

    def _note_change(self) -> None:
        self.generation += 1
        self._changed.notify_all()
