"""The loop: on each pass it sweeps, claims, and looks after what others have left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine import barriers
from django_gocron.planning import PUNCTUAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from django_gocron.clock import Clock
    from django_gocron.engine.audit import Audit
    from django_gocron.engine.cancelling import CancelRequests
    from django_gocron.engine.capacity import Capacity
    from django_gocron.engine.claims import Claims
    from django_gocron.engine.heartbeat import Heartbeat
    from django_gocron.engine.leadership import AlwaysLeader, Leadership
    from django_gocron.engine.local_claims import LocalClaims
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.engine.queue_claims import QueueClaims
    from django_gocron.engine.recovery import Recovery
    from django_gocron.engine.retention import Retention
    from django_gocron.engine.sweeping import Sweep
    from django_gocron.engine.wakeup import Wakeup

HOUSEKEEPING = 1.0
"""Seconds between two looks for instances that are gone."""


class Loop:
    """Called from the loop's thread only."""

    def __init__(
        self,
        *,
        clock: Clock,
        memory: Memory,
        capacity: Capacity,
        claims: Claims,
        local_claims: LocalClaims,
        queue: QueueClaims,
        sweep: Sweep,
        recovery: Recovery,
        audit: Audit,
        retention: Retention,
        cancel_requests: CancelRequests,
        heartbeat: Heartbeat,
        leadership: Leadership | AlwaysLeader,
        wakeup: Wakeup,
        ahead: timedelta,
        poll: timedelta,
    ) -> None:
        self._clock = clock
        self._memory = memory
        self._capacity = capacity
        self._claims = claims
        self._local_claims = local_claims
        self._queue = queue
        self._sweep = sweep
        self._recovery = recovery
        self._audit = audit
        self._retention = retention
        self._cancel_requests = cancel_requests
        self._was_woken = False
        self._heartbeat = heartbeat
        self._leadership = leadership
        self._wakeup = wakeup
        self._ahead = ahead
        self._poll = poll.total_seconds()
        self._next_housekeeping = 0.0
        self.next_due_at: datetime | None = None
        """When the next tick is due that this instance could claim, as of the last claim."""

    def step(self) -> None:
        """One pass, then the wait for the next. Raises ``DatabaseError`` when the database is away."""
        self._sweep.step()
        self._give_back_late(self._clock.now())
        self.claim(self._clock.now())
        self._cancel_requests.step(at_once=self._was_woken)
        self._look_after_others()
        self._was_woken = self._wakeup.wait(self._seconds_to_next())

    def claim(self, now: datetime) -> int:
        """Claim what is due soon after ``now`` and what is queued; answer how many runs that were. A follower claims
        only what no other instance may have, and gives back what it held as a leader."""
        taken, leads = 0, self._leadership.is_leader
        if not leads:
            self._give_back(lambda entry: not entry.is_local, now)
        is_queued = self._queue.is_anything_waiting(now + self._ahead, shared=leads)
        if is_queued:
            entries = self._queue.claim(now, slots=self._capacity.queue_slots, shared=leads)
            barriers.reach("take.after", entries)
            taken = self._hold(entries)
        claimed = self._hold(self._local_claims.claim(now, room=self._capacity.room))
        next_due_at = self._claims.next_due_at() if leads else None
        if next_due_at is not None and next_due_at <= now + self._ahead:
            claimed += self._hold(self._claims.claim(now, room=self._capacity.room))
            next_due_at = self._claims.next_due_at()
        self.next_due_at = min(filter(None, (next_due_at, self._local_claims.next_due_at)), default=None)
        self._wakeup.awaits_ends = is_queued or self._is_behind(now) or self._local_claims.awaits_ends
        return taken + claimed

    def _hold(self, entries: list[Entry]) -> int:
        """At once: should what follows fail, these are not to be found by the audit only."""
        if entries:
            self._memory.add(entries)
        return len(entries)

    def _is_behind(self, now: datetime) -> bool:
        """Whether ticks are left unclaimed that are due: there was no room for them."""
        return self.next_due_at is not None and self.next_due_at <= now

    def _give_back_late(self, now: datetime) -> None:
        """What should have started a second ago and has not is for others to have."""
        self._give_back(lambda entry: entry.waits_since < now - PUNCTUAL, now)

    def _give_back(self, where: Callable[[Entry], bool], now: datetime) -> None:
        """Should the answer get lost, the audit finds what is still ours."""
        held = self._memory.withdraw_held(where)
        try:
            self._queue.give_back(held, now)
        finally:
            self._memory.forget(held)

    def _look_after_others(self) -> None:
        now = self._clock.boottime()
        if now < self._next_housekeeping:
            return
        self._next_housekeeping = now + HOUSEKEEPING
        if self._heartbeat.may_reap and self._recovery.reap():
            self._wakeup.wake()  # what was recovered is queued now
        self._audit.step()
        self._retention.step()

    def _seconds_to_next(self) -> float:
        """Until the next tick comes within reach; ticks close together are claimed in one go."""
        if self.next_due_at is None:
            return self._poll
        within_reach = (self.next_due_at - self._ahead - self._clock.now()).total_seconds()
        shortest = self._ahead.total_seconds() / 4
        if within_reach <= 0:
            shortest = min(shortest, self._capacity.seconds_to_room)
        return min(self._poll, max(shortest, within_reach))
