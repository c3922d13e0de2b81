"""The timer: brings each run that is held to its start, just ahead of its instant.

It wakes when the first of them is due less the lead, or when the memory changes, starts all that are due within the
lead in one go, and hands them to the executor, which holds them until the instant itself. A run whose lock was taken
comes back as ``held`` and is looked at again at its instant. It also ends what executes past its timeout.

The lead is twice what start writes have taken of late, between 5 and 100 milliseconds.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from django_gocron.engine.memory import IN_A_SLOT, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django_gocron.clock import Clock
    from django_gocron.engine.capacity import Capacity
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.engine.starts import Starts
    from django_gocron.engine.timeouts import Timeouts

SHORTEST_LEAD = timedelta(milliseconds=5)
LONGEST_LEAD = timedelta(milliseconds=100)

LONGEST_WAIT = 1.0
"""Seconds: the clock is looked at again at least as often, in case it was set."""

BUSY_PAUSE = 0.02
"""Seconds before a run whose lock is about to be freed is looked at again."""


class Timer:
    """Called from the timer's thread only."""

    def __init__(
        self,
        clock: Clock,
        memory: Memory,
        starts: Starts,
        timeouts: Timeouts,
        capacity: Capacity,
        execute: Callable[[Entry], None],
        *,
        slots: int,
        drops: bool = False,
    ) -> None:
        self._clock = clock
        self._memory = memory
        self._starts = starts
        self._timeouts = timeouts
        self._capacity = capacity
        self._execute = execute
        self._slots = slots
        self._drops = drops
        self._met_full: set[int] = set()
        self._writes: deque[timedelta] = deque(maxlen=100)
        self._set_aside: set[int] = set()
        self.lead = SHORTEST_LEAD
        """How long ahead of the instant a start is written."""

    def tick(self) -> None:
        """End what has had its time and start what is due, then wait until something else is, or until the memory
        changes."""
        generation = self._memory.generation
        self._timeouts.step()
        self.start_due(self._clock.now())
        wait = min(self._seconds_to_next(self._clock.now()), self._timeouts.seconds_to_next())
        self._memory.wait(generation, wait)

    def start_due(self, now: datetime) -> None:
        """Start what is due at ``now``. Raises ``DatabaseError`` when the database is away: then it is still held."""
        self._meet_full(now)
        due = self._due(now)
        if not due:
            return
        began = self._clock.boottime()
        busy = self._starts.start(due, self._execute)
        self._note_write(timedelta(seconds=self._clock.boottime() - began))
        self._capacity.note_start(len(due) - len(busy), began, is_behind=self._is_behind(now))
        self._starts.refuse(busy)
        self._set_aside = {entry.run_id for entry in due if entry.state is State.HELD}

    def _meet_full(self, now: datetime) -> None:
        """Instants that come while no slot is free: whether a tick overlaps is decided all the same, once, and what
        waits for no slot is dropped."""
        if self._free_slots > 0:
            self._met_full.clear()
            return
        due = list(takewhile(lambda entry: entry.due_at <= now, self._memory.held()))
        self._starts.meet_full(
            [entry for entry in due if entry.run_id not in self._met_full], drop=self._drops
        )
        self._met_full = {entry.run_id for entry in due}

    def _is_behind(self, now: datetime) -> bool:
        """Whether anything that is held should have started already."""
        return any(entry.due_at < now for entry in self._memory.held()[:1])

    def _due(self, now: datetime) -> list[Entry]:
        """What is to be started now, as far as there are slots; what comes within another lead shares the write. Those
        whose lock was found taken come last, not to stand in the way of others."""
        free = self._free_slots
        held = self._memory.held() if free > 0 else []
        near = list(takewhile(lambda entry: entry.due_at <= now + 2 * self.lead, held))
        if not any(self._starts_at(entry) <= now for entry in near):
            return []
        ripe = [entry for entry in near if self._starts_at(entry) <= now + self.lead]
        return sorted(ripe, key=lambda entry: entry.run_id in self._set_aside)[:free]

    @property
    def _free_slots(self) -> int:
        return self._slots - self._memory.count(*IN_A_SLOT)

    def _starts_at(self, entry: Entry) -> datetime:
        """When its start is to be written: ahead of its instant, unless its lock was found taken."""
        return entry.due_at if entry.run_id in self._set_aside else entry.due_at - self.lead

    def _note_write(self, took: timedelta) -> None:
        self._writes.append(took)
        slow = sorted(self._writes)[int(len(self._writes) * 0.99)]
        self.lead = min(max(2 * slow, SHORTEST_LEAD), LONGEST_LEAD)

    def _seconds_to_next(self, now: datetime) -> float:
        if self._free_slots <= 0:
            later = (entry for entry in self._memory.held() if entry.run_id not in self._met_full)
            return min([LONGEST_WAIT, *((entry.due_at - now).total_seconds() for entry in islice(later, 1))])
        waits = [LONGEST_WAIT]
        for entry in self._memory.held():
            shortest = BUSY_PAUSE if entry.run_id in self._set_aside else 0.0
            waits.append(max(shortest, (self._starts_at(entry) - now).total_seconds()))
            if not shortest:
                break
        return min(waits)
