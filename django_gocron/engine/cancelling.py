"""Cancelling: people ask through a run's row, and the instance that executes it finds out and tells its code.

A coroutine is cancelled; a function sees it in ``current_run().cancelled``. A run that has not begun does not begin.
The rows are looked at once in a while, only when something executes, and at once when a notification has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.context import Cause
from django_gocron.engine.database import read
from django_gocron.engine.memory import State
from django_gocron.models import Run
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from datetime import timedelta

    from django_gocron.clock import Clock
    from django_gocron.engine.memory import Memory

MAY_BE_CANCELLED = (State.STARTING, State.HOLD, State.EXECUTING)
"""The states of an entry whose row is running, or about to be."""


class CancelRequests:
    """Called from the loop's thread only."""

    def __init__(self, using: str, clock: Clock, memory: Memory, *, every: timedelta) -> None:
        self._using = using
        self._clock = clock
        self._memory = memory
        self._every = every.total_seconds()
        self._next_look = 0.0

    def step(self, *, at_once: bool = False) -> None:
        """Look, if it is time, or ``at_once``. Raises ``DatabaseError`` when the database is away."""
        now = self._clock.boottime()
        if at_once or now >= self._next_look:
            self._next_look = now + self._every
            self.look()

    def look(self) -> None:
        """Ask the runs that somebody has cancelled to end; once each."""
        if not self._memory.count(*MAY_BE_CANCELLED):
            return
        entries = {entry.run_id: entry for entry in self._memory.entries(*MAY_BE_CANCELLED)}
        asked = Run.objects.using(self._using).filter(
            pk__in=[pk for pk, entry in entries.items() if entry.cancellation.cause is None],
            status=Status.RUNNING,
            cancel_requested_at__isnull=False,
        )
        for pk, words in read(self._using, lambda: list(asked.values_list("pk", "error_message"))):
            entries[pk].cancellation.ask(Cause.BY_USER, words)
