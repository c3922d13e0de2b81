"""Time. Nothing else in the package reads a clock.

The database's clock is the one that counts: every instance measures how far its own is from it and adds the
difference. Its own is a clock that never steps: the wall clock once, at the start, and from then on the time since
boot, which also counts the time a laptop sleeps. So a step of the host's clock does nothing.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

LONGEST_ROUND_TRIP = timedelta(milliseconds=100)
"""A reading of the database's clock that took longer says nothing."""

READING_LASTS = timedelta(minutes=10)
"""For so long a worse reading does not replace a better one."""


DOUBT = timedelta(milliseconds=50)
"""Two readings may differ by so much more than their round trips explain."""


class Clock(Protocol):
    """What the engine asks about time."""

    def now(self) -> datetime:
        """The database's instant, aware UTC."""

    def boottime(self) -> float:
        """Seconds since an arbitrary point, never stepping back, the time asleep included."""

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at the database's clock: it was ``offset`` ahead of ours, give or take half of ``round_trip``."""

    offset: timedelta
    round_trip: timedelta
    boottime: float


def host_now() -> datetime:
    """The host's wall clock, aware UTC; it may step."""
    return datetime.now(UTC)


def pause(seconds: float) -> None:
    """Let ``seconds`` pass; none when negative."""
    if seconds > 0:
        time.sleep(seconds)


_clock_id = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def boottime() -> float:
    """Seconds since boot, the time asleep included where the system can tell."""
    return time.monotonic() if _clock_id is None else time.clock_gettime(_clock_id)


class SystemClock:
    """The clock of a real scheduler. ``adopt`` may be called from one thread while others read."""

    def __init__(self) -> None:
        self._started_at = host_now()
        self._boottime = boottime()
        self._reading: Reading | None = None
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return self.local() + self.offset

    def local(self) -> datetime:
        """Our own clock, before the difference to the database is added."""
        return self._started_at + timedelta(seconds=boottime() - self._boottime)

    def boottime(self) -> float:
        return boottime()

    def sleep(self, seconds: float) -> None:
        pause(seconds)

    @property
    def offset(self) -> timedelta:
        """How far the database's clock is ahead of ours."""
        reading = self._reading
        return reading.offset if reading else timedelta(0)

    def adopt(self, reading: Reading) -> timedelta:
        """Take a reading into account; answer by how much the database's clock was found to have jumped.

        A worse reading does not replace a better one of the last ten minutes, unless the two cannot both be true:
        then the database's clock has been set. One that took too long counts only where there is no such other.
        """
        with self._lock:
            held = self._reading
            has_aged = held is None or reading.boottime - held.boottime > READING_LASTS.total_seconds()
            if reading.round_trip > LONGEST_ROUND_TRIP and not has_aged:
                return timedelta(0)
            moved = _moved(held, reading) if held else timedelta(0)
            if has_aged or moved or reading.round_trip <= held.round_trip:  # type: ignore[union-attr]
                self._reading = reading
            return moved


def _moved(held: Reading, reading: Reading) -> timedelta:
    """By how much the database's clock was set between two readings; nothing where both can be true."""
    moved = reading.offset - held.offset
    doubt = (reading.round_trip + held.round_trip) / 2 + DOUBT
    return moved if abs(moved) > doubt else timedelta(0)
