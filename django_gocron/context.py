"""What a task sees of its run. Imports nothing of the engine."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Ticks that this run stands for besides its own: ``count`` of them from ``first`` to ``last``, aware UTC."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The run that is executing. Instants are aware UTC."""

    run_id: int
    job_id: int
    job_name: str
    task: str
    scheduled_for: datetime
    attempt: int
    origin: str
    missed: Missed | None = None
    _lease_lost: Event = field(default_factory=Event, repr=False)

    @property
    def lease_lost(self) -> bool:
        """Whether this instance may have been declared dead: another may run the job now, so stop writing."""
        return self._lease_lost.is_set()


_current: ContextVar[RunContext | None] = ContextVar("gocron_run", default=None)


def current_run() -> RunContext | None:
    """The run that the calling code is part of, or None outside of one. Works in threads and coroutines of a task
    as long as they carry its context."""
    return _current.get()


@contextmanager
def running(context: RunContext) -> Iterator[None]:
    """Make ``context`` the current run of the enclosed code."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)
