"""What a task sees of its run. Imports nothing of the engine."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async

from django_gocron.exceptions import Cancelled, StaleRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime, timedelta


class Cause(Enum):
    """Why a run is asked to end."""

    TIMEOUT = auto()
    BY_USER = auto()
    SHUTDOWN = auto()


class Cancellation:
    """Whether a run has been asked to end, and why. Any thread may ask; the first cause, and its words, stay."""

    def __init__(self) -> None:
        self.cause: Cause | None = None
        self.words = ""
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def ask(self, cause: Cause, words: str) -> None:
        """Ask the run to end; asked again, whoever listens is told again."""
        with self._lock:
            if self.cause is None:
                self.cause, self.words = cause, words
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever the run is asked to end, and now if it has been. It must be quick."""
        with self._lock:
            self._listeners.append(listener)
            was_asked = self.cause is not None
        if was_asked:
            listener()


def refuse_token() -> int:
    """Where nothing hands out tokens there is none."""
    raise StaleRunError("This run has no token: no scheduler has started it.", code="stale_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Ticks that this run stands for besides its own: ``count`` of them from ``first`` to ``last``, aware UTC."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The run that is executing. Instants are aware UTC. ``timeout`` is how long it may execute; None: as long as it
    takes.

    A task whose first parameter is annotated with this class is given its run there, before its own arguments.
    """

    run_id: int
    job_id: int
    job_name: str
    task: str
    scheduled_for: datetime
    attempt: int
    origin: str
    timeout: timedelta | None = None
    missed: Missed | None = None
    _lease_lost: threading.Event = field(default_factory=threading.Event, repr=False)
    _lock_lost: threading.Event = field(default_factory=threading.Event, repr=False)
    _cancellation: Cancellation = field(default_factory=Cancellation, repr=False)
    _draw_token: Callable[[], int] = field(default=refuse_token, repr=False)

    @property
    def lease_lost(self) -> bool:
        """Whether this instance may have been declared dead: another may run the job now, so stop writing."""
        return self._lease_lost.is_set()

    @property
    def lock_lost(self) -> bool:
        """Whether the lock that its job's locker gave it has run out, or was taken away: something else that uses the
        same lock may run now. No other run of the job does, as long as ``lease_lost`` is false."""
        return self._lock_lost.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the run has been asked to end: its timeout is over, a person has cancelled it, or the scheduler
        stops. A function goes on until it looks."""
        return self._cancellation.cause is not None

    def raise_if_cancelled(self) -> None:
        """Raise ``Cancelled`` once the run has been asked to end."""
        if self.cancelled:
            raise Cancelled(self._cancellation.words)

    @property
    def token(self) -> int:
        """A number that is greater than that of any earlier run of the job that has one: what the run writes elsewhere
        can be refused where a greater one has been. The database is asked each time, and answers the same.

        Raises ``StaleRunError`` when the run is not this process's any more. In coroutines: ``aget_token``.
        """
        return self._draw_token()

    async def aget_token(self) -> int:
        """``token``, for coroutines."""
        return await sync_to_async(self._draw_token)()


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
