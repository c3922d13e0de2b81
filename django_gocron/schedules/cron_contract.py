"""The contract of a cron implementation.

An implementation reads expressions and finds wall times; zones, gaps and folds are not its business. It is given the
expression without a zone prefix, with ``@daily`` and the like spelt out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django_gocron.schedules.search import count_by_walking


class CronTimes(Protocol):
    """The wall times of one expression, as naive ``datetime`` on whole seconds. Asked from several threads at once.

    An answer that is None, or that is not on the side that was asked for, means that there is no such time.
    """

    @property
    def wildcard(self) -> bool:
        """Whether it fires at every real instant that matches (nothing in a gap, twice in a fold), and not once for
        each wall time."""

    def next(self, wall: datetime) -> datetime | None:
        """The first time strictly later than ``wall``."""

    def previous(self, wall: datetime) -> datetime | None:
        """The last time at or before ``wall``."""


class CronImplementation(Protocol):
    """Reads cron expressions."""

    def parse(self, expression: str) -> CronTimes:
        """The times of the expression; a ``ValueError`` (``ScheduleError`` is one) says why it cannot be read."""


@dataclass(frozen=True, slots=True)
class Walked:
    """The times of any implementation: an answer that does not advance is none, and counting walks."""

    times: CronTimes

    @property
    def wildcard(self) -> bool:
        return self.times.wildcard

    def next(self, wall: datetime) -> datetime | None:
        later = self.times.next(wall)
        return later if later is not None and later > wall else None

    def previous(self, wall: datetime) -> datetime | None:
        earlier = self.times.previous(wall)
        return earlier if earlier is not None and earlier <= wall else None

    def count(self, after: datetime, through: datetime) -> int:
        """How many lie in ``(after, through]``; beyond 10,000, an estimate."""
        return count_by_walking(self.next, after, through)
