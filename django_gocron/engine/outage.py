"""Outages of the database: said once when the first thread notices, and once when the last of them is through."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron import events

if TYPE_CHECKING:
    from django_gocron.clock import Clock

SHORTEST_BACKOFF, LONGEST_BACKOFF = 0.1, 5.0
"""Seconds between attempts of a thread while the database is away."""


class Outage:
    """Shared by the engine's threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since = 0.0
        self._failing: set[str] = set()

    def note_failure(self, where: str, error: BaseException) -> None:
        with self._lock:
            begins = not self._failing
            if begins:
                self._since = self._clock.boottime()
            self._failing.add(where)
        if begins:
            events.publish(events.DatabaseLost(at=self._clock.now(), where=where, error=str(error).strip()))

    def note_success(self, where: str) -> None:
        if where not in self._failing:
            return
        with self._lock:
            self._failing.discard(where)
            is_over = not self._failing
        if is_over:
            after = timedelta(seconds=self._clock.boottime() - self._since)
            events.publish(events.DatabaseRecovered(at=self._clock.now(), where=where, after=after))
