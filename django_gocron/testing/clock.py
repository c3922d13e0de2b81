"""A clock that moves only when told to."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta


class FakeClock:
    """A ``Clock`` for tests: ``advance`` and ``set`` move it, ``sleep`` moves it too. Instants are aware UTC."""

    def __init__(self, now: datetime | None = None) -> None:
        self._now = now or datetime(2026, 1, 1, tzinfo=UTC)
        self._boottime = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return self._now

    def boottime(self) -> float:
        return self._boottime

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, by: timedelta | float) -> datetime:
        """Let time pass: a duration, or seconds. Answers the new instant."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        with self._lock:
            self._now += step
            self._boottime += step.total_seconds()
        return self._now

    def set(self, now: datetime) -> None:
        """Set the wall clock, as an administrator or NTP would: the time since boot does not move."""
        self._now = now.astimezone(UTC)
