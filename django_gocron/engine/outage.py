"""Outages of the database: said once when one begins, once when it is over, whoever notices first."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron import events

if TYPE_CHECKING:
    from django_gocron.engine.clock import Clock

SHORTEST_BACKOFF, LONGEST_BACKOFF = 0.1, 5.0
"""Seconds between attempts of a thread while the database is away."""


class Outage:
    """Shared by the engine's threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None

    def note_failure(self, where: str, error: BaseException) -> None:
        with self._lock:
            begins = self._since is None
            if begins:
                self._since = self._clock.boottime()
        if begins:
            events.publish(events.DatabaseLost(at=self._clock.now(), where=where, error=str(error).strip()))

    def note_success(self, where: str) -> None:
        if self._since is None:
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            after = timedelta(seconds=self._clock.boottime() - since)
            events.publish(events.DatabaseRecovered(at=self._clock.now(), where=where, after=after))
