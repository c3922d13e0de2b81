"""The heartbeat: renews the lease and looks at the database's clock, on a thread and a connection of its own."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.clock import Reading
from django_gocron.engine.memory import BEGUN, State
from django_gocron.models.now import database_now

if TYPE_CHECKING:
    from django_gocron.clock import Clock, SystemClock
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Memory
    from django_gocron.engine.vigil import Vigil

READINGS = 5
"""Of the database's clock at each look; the one with the shortest round trip counts."""

CALM = 5.0
"""Seconds beyond one heartbeat for which renewals must have succeeded without a gap before this instance reaps."""


class Heartbeat:
    """Called from the heartbeat's thread; ``may_reap`` from any."""

    def __init__(
        self, using: str, clock: Clock, lease: Lease, memory: Memory, vigil: Vigil, *, every: timedelta
    ) -> None:
        self._vigil = vigil
        self._using = using
        self._clock = clock
        self._lease = lease
        self._memory = memory
        self._every = every.total_seconds()
        self._steady_since: float | None = None
        self._last_renewal = clock.boottime()
        self._wake = threading.Event()
        self._stalled_since: float | None = None
        self.is_hopeless = False
        """Whether threads of this instance have stalled for so long that it must end."""

    def step(self) -> None:
        """One beat, then the wait for the next. Raises ``DatabaseError`` when the database is away."""
        self.beat()
        if not self.is_hopeless:
            self._wake.wait(self._every)

    def wake(self) -> None:
        self._wake.set()

    def beat(self) -> None:
        steady, self._steady_since = self._steady_since, None  # until this beat has succeeded
        stalled_since, self._stalled_since = self._stalled_since, None
        offset, jumped = measure(self._using, self._clock)
        if stalled := self._vigil.find_stalled():
            self._note_stall(stalled, stalled_since)
            return
        if self._lease.renew(clock_offset=offset):
            self._note_renewal(None if jumped else steady)
        else:
            self._start_anew()

    def _note_stall(self, threads: list[str], since: float | None) -> None:
        """The lease is left to run out. A thread that has not come back after as long again, with the database there
        all the while, will not."""
        now = self._clock.boottime()
        self._stalled_since = now if since is None else since
        self.is_hopeless = not self._lease.is_trusted and now - self._stalled_since >= self._lease.seconds
        events.publish(
            events.EngineStalled(at=self._clock.now(), threads=tuple(threads), is_hopeless=self.is_hopeless)
        )

    @property
    def may_reap(self) -> bool:
        """Whether renewals have gone well for long enough to judge others. No I/O."""
        steady = self._steady_since
        return steady is not None and self._clock.boottime() - steady > self._every + CALM

    def _note_renewal(self, steady: float | None) -> None:
        now = self._clock.boottime()
        has_gap = now - self._last_renewal > 2 * self._every
        self._steady_since = now if steady is None or has_gap else steady
        self._last_renewal = now

    def _start_anew(self) -> None:
        """Somebody has declared us dead. What has not begun is theirs; what executes is told."""
        was = self._lease.instance_id
        self._lease.distrust()
        self._memory.forget(self._memory.withdraw(State.HELD, State.STARTING, State.HOLD))
        running = self._memory.entries(*BEGUN)
        for entry in running:
            entry.lease_lost.set()
        events.publish(events.LeaseLost(at=self._clock.now(), instance=was, running=len(running)))
        self._lease.register()
        self._steady_since = None


def measure(using: str, clock: Clock) -> tuple[float, bool]:
    """Compare the database's clock with ours and adopt the difference; answer it in seconds, and whether the
    database's clock was found to have jumped.

    A clock that cannot adopt one (a test's) is left alone.
    """
    if not hasattr(clock, "adopt"):
        return 0.0, False
    readings = [_read(using, clock) for _ in range(READINGS)]  # type: ignore[arg-type]
    best = min(readings, key=lambda reading: reading.round_trip)
    jumped = clock.adopt(best)
    if jumped:
        events.publish(events.ClockJumped(at=clock.now(), by=jumped))
    return float(clock.offset.total_seconds()), bool(jumped)  # type: ignore[attr-defined]


def offset_of(clock: Clock) -> float:
    """How far, in seconds, the database's clock is ahead of this one, as far as it can tell."""
    offset: timedelta = getattr(clock, "offset", timedelta(0))
    return offset.total_seconds()


def _read(using: str, clock: SystemClock) -> Reading:
    before = clock.local()
    theirs = database_now(using)
    after = clock.local()
    middle = before + (after - before) / 2
    return Reading(offset=theirs - middle, round_trip=after - before, boottime=clock.boottime())
