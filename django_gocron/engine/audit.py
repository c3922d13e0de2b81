"""The audit: what the database says this instance has, against what it holds in memory.

The two differ when the answer to a write got lost: a claim was committed and its runs never became entries, or a start
was and its run was dropped. No user code has run for such a row, since that is begun from memory only. So it goes
back to the queue, its lock free. The rows are read before the memory: an entry that ends in between is not taken for
one that is unknown, because its row has ended too and the write is conditional. It names the claim as well: it may be
executed late, when the same run has been claimed here again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine.database import read, statement
from django_gocron.engine.requeueing import OWNED, requeue
from django_gocron.models import Run
from django_gocron.models.choices import Reason

if TYPE_CHECKING:
    from datetime import timedelta

    from django_gocron.clock import Clock
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Memory


class Audit:
    """Called from the loop's thread only, which claims: no claim is under way meanwhile."""

    def __init__(self, using: str, clock: Clock, lease: Lease, memory: Memory, *, every: timedelta) -> None:
        self._using = using
        self._clock = clock
        self._lease = lease
        self._memory = memory
        self._every = every.total_seconds()
        self._next_step = clock.boottime() + self._every

    def step(self) -> None:
        """Look, if it is time. Raises ``DatabaseError`` when the database is away."""
        now = self._clock.boottime()
        if now >= self._next_step:
            self._next_step = now + self._every
            self.requeue_unknown()

    def requeue_unknown(self) -> int:
        """Return to the queue the rows that are ours and unknown to us; answer how many."""
        mine = Run.objects.using(self._using).filter(instance=self._lease.instance_id, status__in=OWNED)
        rows = read(self._using, lambda: dict(mine.values_list("pk", "claim_id")))
        known = {entry.run_id for entry in self._memory.entries()}
        unknown = rows.keys() - known
        if not unknown:
            return 0
        mine = mine.filter(claim_id__in={rows[pk] for pk in unknown})
        return statement(self._using, lambda: requeue(mine.filter(pk__in=unknown), Reason.RECOVERED))
