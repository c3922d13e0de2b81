"""The timer: brings each run that is held to its start, just ahead of its instant.

It wakes when the first of them is due less the lead, or when the memory changes, starts all that are due within the
lead in one go, and hands them to the executor, which holds them until the instant itself. A run whose lock was taken
comes back as ``held`` and is looked at again at its instant.

The lead is twice what start writes have taken of late, between 5 and 100 milliseconds.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron.engine.memory import IN_A_SLOT, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django_gocron.engine.clock import Clock
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.engine.starts import Starts

SHORTEST_LEAD = timedelta(milliseconds=5)
LONGEST_LEAD = timedelta(milliseconds=100)

LONGEST_WAIT = 1.0
"""Seconds: the clock is looked at again at least as often, in case it was set."""

BUSY_PAUSE = 0.02
"""Seconds before a run whose lock is about to be freed is looked at again."""


class Timer:
    """Called from the timer's thread only."""

    def __init__(
        self, clock: Clock, memory: Memory, starts: Starts, execute: Callable[[Entry], None], *, slots: int
    ) -> None:
        self._clock = clock
        self._memory = memory
        self._starts = starts
        self._execute = execute
        self._slots = slots
        self._writes: deque[timedelta] = deque([SHORTEST_LEAD], maxlen=100)
        self._set_aside: set[int] = set()

    @property
    def lead(self) -> timedelta:
        """How long ahead of the instant a start is written."""
        slow = sorted(self._writes)[int(len(self._writes) * 0.99)]
        return min(max(2 * slow, SHORTEST_LEAD), LONGEST_LEAD)

    def tick(self) -> None:
        """Start what is due, then wait until something else is, or until the memory changes."""
        generation = self._memory.generation
        due = self._due(self._clock.now())
        if due:
            self._start(due)
        self._memory.wait(generation, self._seconds_to_next())

    def _due(self, now: datetime) -> list[Entry]:
        """What is to be started now, as far as there are slots; what comes within another lead shares the write."""
        free = self._slots - self._memory.count(*IN_A_SLOT)
        held = self._memory.entries(State.HELD) if free > 0 else []
        if not any(self._starts_at(entry) <= now for entry in held):
            return []
        return [entry for entry in held if self._starts_at(entry) <= now + self.lead][:free]

    def _starts_at(self, entry: Entry) -> datetime:
        """When its start is to be written: ahead of its instant, unless its lock was found taken."""
        return entry.due_at if entry.run_id in self._set_aside else entry.due_at - self.lead

    def _start(self, due: list[Entry]) -> None:
        began = self._clock.boottime()
        started = self._starts.start(due)
        self._writes.append(timedelta(seconds=self._clock.boottime() - began))
        held = {entry.run_id for entry in self._memory.entries(State.HELD)}
        self._set_aside = {entry.run_id for entry in due if entry.run_id in held}
        for entry in started:
            self._execute(entry)

    def _seconds_to_next(self) -> float:
        held = self._memory.entries(State.HELD)
        if not held or self._memory.count(*IN_A_SLOT) >= self._slots:
            return LONGEST_WAIT
        now = self._clock.now()
        return min(LONGEST_WAIT, *(self._seconds_to(entry, now) for entry in held))

    def _seconds_to(self, entry: Entry, now: datetime) -> float:
        shortest = BUSY_PAUSE if entry.run_id in self._set_aside else 0.0
        return max(shortest, (self._starts_at(entry) - now).total_seconds())
