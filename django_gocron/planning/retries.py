"""How long to wait before the next attempt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron.planning.values import LONGEST

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """``retries`` further attempts: the first of them ``delay`` after the failure, each later one ``backoff`` times as
    long after its own, at most ``max_delay``, and up to the share ``jitter`` of that later still."""

    retries: int
    delay: timedelta
    backoff: float
    max_delay: timedelta
    jitter: float

    def delay_after(self, attempt: int, *, seed: str, tick: datetime) -> timedelta | None:
        """How long to wait after the failure of this attempt (the first is 1), or None: no attempt is left.

        The jitter is always the same for the same job (``seed``), tick and attempt.
        """
        if attempt > self.retries:
            return None
        share = _share(f"{seed} {tick.isoformat()} {attempt}")
        try:
            return min(self._without_jitter(attempt) * (1 + self.jitter * share), LONGEST)
        except (OverflowError, ValueError):  # a row that was saved without being validated
            return LONGEST

    def _without_jitter(self, attempt: int) -> timedelta:
        """The power may be too large for a number."""
        try:
            seconds = self.delay.total_seconds() * self.backoff ** (attempt - 1)
        except OverflowError:
            return self.max_delay
        longest = self.max_delay.total_seconds()
        return timedelta(seconds=min(seconds, longest))


def _share(text: str) -> float:
    """From 0 to 1, the same for the same text, on every instance."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
