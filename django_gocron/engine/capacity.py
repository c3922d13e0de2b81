"""How much an instance claims: what it can start in half of the time it claims ahead, going by how long runs take of
late, and by how fast it has come through its backlog where it had one.

Quick runs: a deep buffer. Slow ones, or a slow database: a shallow one or none, so that another instance, or the queue,
has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine.memory import IN_A_SLOT, State

if TYPE_CHECKING:
    from datetime import timedelta

    from django_gocron.engine.memory import Memory

DEEPEST = 500
"""Runs held beyond the free slots, at most."""

SHORTEST_PAUSE = 0.05
"""Seconds between two looks for room, at least."""

WEIGHT = 0.1
"""Of the latest run in the moving average."""

FIRST_GUESS = 0.01
"""Seconds a run takes before any has been seen."""


class Capacity:
    """``note`` is called from executor threads, ``note_start`` from the timer's, the rest from the loop's."""

    def __init__(self, memory: Memory, *, slots: int, ahead: timedelta, drops: bool = False) -> None:
        self._drops = drops
        self._memory = memory
        self._slots = slots
        self._ahead = ahead.total_seconds()
        self._average = FIRST_GUESS
        self._pace = 0.0
        self._last_start: tuple[float, int] | None = None

    def note_start(self, number: int, at: float, *, is_behind: bool) -> None:
        """So many runs were started by one write, at ``at`` seconds of a steady clock; ``is_behind``: more are overdue.
        The time between two such writes of a backlog is what its runs take here, all told. Called by the timer."""
        latest = 0.0
        if self._last_start is not None:
            began, earlier = self._last_start
            latest = (at - began) / earlier
        if latest or not is_behind:
            self._pace += WEIGHT * (latest - self._pace)
        self._last_start = (at, number) if is_behind and number else None

    def note(self, took: timedelta) -> None:
        self._average += WEIGHT * (max(took.total_seconds(), 0.0001) - self._average)

    @property
    def free_slots(self) -> int:
        """Workers that neither execute nor are promised to a run that is held."""
        return self._slots - self._memory.count(*IN_A_SLOT, State.HELD)

    @property
    def queue_slots(self) -> int:
        """Queued runs that may be claimed now: as many as there are free slots; else one, where ticks wait for slots
        and no run by hand does, lest they keep the queue out. It goes before those that are due later."""
        held = self._memory.held()
        waits_alone = bool(held) and all(entry.is_tick and not entry.has_queued for entry in held)
        return max(self.free_slots, 1 if waits_alone else 0)

    @property
    def room(self) -> int:
        """Runs that may be claimed ahead now: as many as fill the buffer, once half of it is gone or a slot is free. A
        claim of many takes little more than a claim of one."""
        if self._drops:  # ticks are claimed to be skipped, if there is no slot at their instants
            return max(0, DEEPEST - self._memory.count(State.HELD))
        buffer = min(DEEPEST, int(self._ahead / 2 / self._seconds_a_run))
        room = max(0, self.free_slots + buffer)
        return room if self.free_slots > 0 or room >= buffer // 2 else 0

    @property
    def seconds_to_room(self) -> float:
        """How long it takes, about, until half of what is held has started."""
        held = max(1, self._memory.count(State.HELD))
        return max(SHORTEST_PAUSE, held * self._seconds_a_run / 2)

    @property
    def _seconds_a_run(self) -> float:
        return max(self._average / self._slots, self._pace)
