"""The scheduler: what a process has to run jobs with.

States, moved by whoever calls the method, one at a time:

    new ──start──> running ──stop_jobs──> stopped ──start──> running
     └─shutdown─┐     └─shutdown─> shut down <─shutdown─┘

A stop always ends. After ``stop_jobs`` a start begins another life: with new threads, and another row in the database.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from django.dispatch import Signal

from django_gocron import events
from django_gocron.clock import SystemClock
from django_gocron.conf import read_argument
from django_gocron.engine.audience import Audience
from django_gocron.engine.life import Life
from django_gocron.engine.options import read_clock, read_options
from django_gocron.engine.stopping import NOTHING_TO_STOP, StopReport
from django_gocron.exceptions import NotReadyError, OperationError
from django_gocron.tables import are_ready

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta
    from types import TracebackType

    from django_gocron.clock import Clock
    from django_gocron.engine.parts import Parts
    from django_gocron.listeners import Listeners
    from django_gocron.monitors.base import Monitor

logger = logging.getLogger("django_gocron")

ONE_PRESS = 0.5
"""Seconds within which two requests to stop are one."""

scheduler_starting = Signal()
"""Sent with ``using`` when a scheduler is about to start, before it has a lease."""


class StopRequest:
    """An event that a signal handler may set, even one that interrupts the waiting for it: ``threading.Event`` takes a
    lock for both."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        self._queue.put(None)

    def is_set(self) -> bool:
        return not self._queue.empty()

    def wait(self, seconds: float | None = None) -> bool:
        try:
            self._queue.get(timeout=seconds)
        except Empty:
            return False
        self._queue.put(None)
        return True


class Scheduler:
    """Runs jobs in this process, beside any number of others on the same database.

    ``with Scheduler(): ...`` starts it and shuts it down. ``using`` is a database alias (default: the settings', else
    where jobs are written), ``workers`` how many threads run functions, ``limit`` the most runs at a time where that
    is to be less, ``limit_mode`` whether ticks beyond it ``wait`` or are skipped (``reschedule``), ``labels`` the
    labels it serves besides "", ``name`` what people see (default: host and pid), ``stop_timeout`` how long a stop
    waits for what runs, ``ahead`` how long before their instants ticks are claimed. ``lockers``, ``elector`` and
    ``listeners`` stand for the settings of these names, ``monitors`` come in addition to theirs, and ``logger`` is told
    what the log is told. All of these hear what happens in this process from the start to the shutdown. ``clock`` is
    what it takes for the time: one that the database's own does not share is for tests.

    Raises ``ConfigurationError`` (``bad_setting``, ``bad_backend``, ``clock_unusable``, ``logger_unusable``,
    ``monitor_unusable``, and what ``read_listeners`` raises).
    """

    def __init__(
        self,
        *,
        using: str = "",
        workers: int | None = None,
        limit: int | None = None,
        limit_mode: str | None = None,
        labels: Sequence[str] = (),
        name: str = "",
        stop_timeout: timedelta | float | None = None,
        ahead: timedelta | None = None,
        clock: Clock | None = None,
        logger: logging.Logger | None = None,
        listeners: Listeners | None = None,
        monitors: Sequence[Monitor] = (),
        lockers: Mapping[str, Any] | None = None,
        elector: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = read_options(
            using=using,
            workers=workers,
            limit=limit,
            limit_mode=limit_mode,
            labels=labels,
            name=name,
            stop_timeout=stop_timeout,
            ahead=ahead,
            listeners=listeners,
            lockers=lockers,
            elector=elector,
        )
        self.clock: Clock = SystemClock() if clock is None else read_clock(clock)
        self._audience = Audience(logger, monitors)
        self._stop_requested = StopRequest()
        self._stop_asked_at = 0.0
        self._moving = threading.Lock()
        self._moved_by: int | None = None
        self._state = "new"
        self._report = NOTHING_TO_STOP
        self._life = self._new_life()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    @property
    def using(self) -> str:
        """The alias of its database."""
        return self.options.using

    @property
    def name(self) -> str:
        return self.parts.lease.name

    @property
    def parts(self) -> Parts:
        """Of its present life, or its last."""
        return self._life.parts

    @property
    def is_leader(self) -> bool:
        """Whether this instance may believe that it leads; where no leader is elected, all do. No I/O."""
        return self.parts.leadership.is_leader

    @property
    def has_failed(self) -> bool:
        """Whether it stops because its own threads do not work any more; then its process is to end."""
        return self._life.has_failed

    def start(self, *, loop: bool = True) -> None:
        """Begin; returns once the threads run. With ``loop=False`` nothing is claimed but by the caller. Does nothing
        when it runs already, but to warn.

        Raises ``NotReadyError`` (``tables_missing``) before ``migrate``, ``OperationError`` (``shut_down``),
        ``DatabaseError`` when the database is away.
        """
        with self._move():
            if self._state == "running":
                logger.warning("The scheduler %s runs already; it was started again.", self.name)
                return
            if self._state == "shut down":
                message = (
                    "This scheduler has been shut down: make another. After stop_jobs() one can start again."
                )
                raise OperationError(message, code="shut_down")
            self._begin(loop=loop)

    def _begin(self, *, loop: bool) -> None:
        check_ready(self.using)
        if self._life.was_started:
            self._stop_requested = StopRequest()
            self._life = self._new_life()
        scheduler_starting.send(sender=type(self), using=self.using)
        self._audience.come()
        try:
            self._life.start(loop=loop)
        except BaseException:
            self._audience.leave()
            self._life.abandon()
            raise
        self._state = "running"
        lease = self.parts.lease
        events.publish(
            events.SchedulerStarted(at=self.clock.now(), instance=lease.instance_id, name=lease.name)
        )

    def request_stop(self) -> None:
        """Ask whoever waits in ``wait`` to shut down, or, the second time, to wait for nothing. For signal handlers,
        and for tasks.

        A terminal and whatever started this process may both pass on one key press: within half a second it is one.
        """
        now = self.clock.boottime()
        if self._stop_requested.is_set() and now - self._stop_asked_at > ONE_PRESS:
            self._life.hurry()
        elif not self._stop_requested.is_set():
            self._stop_asked_at = now
            self._stop_requested.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Return True once a stop is requested (also through the instance's row), or False after ``seconds``."""
        return self._stop_requested.wait(seconds)

    def stop_jobs(self, timeout: timedelta | float | None = None) -> StopReport:
        """Stop, until ``start`` is called again: claim nothing more, give back what has not begun, wait for what runs
        up to ``timeout`` (default: the stop timeout), then ask it to end, and record the rest as lost. What the jobs
        miss meanwhile is for their misfire policies.

        It always ends. Does nothing when it does not run. Raises ``OperationError`` (``stops_itself``) when it is
        called by a task that runs here, or by a listener, a monitor or a signal handler that is called during a stop.
        """
        with self._move():
            return self._stop(timeout)

    def shutdown(self, timeout: timedelta | float | None = None) -> StopReport:
        """Stop like ``stop_jobs``, for good. Called again, from another thread too, it waits for the first call, and
        answers the same."""
        with self._move():
            self._stop_requested.set()
            report = self._stop(timeout)
            if self._state == "stopped":
                events.publish(events.SchedulerShutdown(at=self.clock.now(), name=self.name))
            if self._state != "shut down":
                self._audience.leave()
            self._state = "shut down"
            return report

    def _stop(self, timeout: timedelta | float | None) -> StopReport:
        if self._state == "running":
            longest = None if timeout is None else read_argument("STOP_TIMEOUT", "timeout", timeout)
            self._report = self._life.stop(self.options.stop_timeout if longest is None else longest)
            self._state = "stopped"
        return self._report

    @contextmanager
    def _move(self) -> Iterator[None]:
        """One at a time. Whoever is part of a move, or of what a stop waits for, cannot wait for it."""
        ident = threading.get_ident()
        if self._moved_by == ident or self._life.runs_the_caller:
            message = "A scheduler's own threads cannot wait for its end: call request_stop(), or stop from outside."
            raise OperationError(message, code="stops_itself")
        with self._moving:
            self._moved_by = ident
            try:
                yield
            finally:
                self._moved_by = None

    def run_due(self) -> None:
        """Start everything that is due at the moment of the call, and return when it has ended or a stop is
        requested. Needs ``start(loop=False)``, and a scheduler that claims nothing ahead."""
        now = self.clock.now()
        self.parts.recovery.reap()
        while not self.wait(0) and (self.parts.loop.claim(now) or self.parts.memory.count()):
            self.parts.memory.wait(self.parts.memory.generation, 0.05)

    def _new_life(self) -> Life:
        return Life(self.options, self.clock, self._request_end)

    def _request_end(self) -> None:
        self._stop_requested.set()


def check_ready(using: str) -> None:
    """Raise ``NotReadyError`` (``tables_missing``) when our tables, or columns of theirs, are not all there."""
    if not are_ready(using):
        raise NotReadyError(
            f"The database {using!r} lacks tables of django-gocron, or columns of theirs."
            " Run `python manage.py migrate` first.",
            code="tables_missing",
        )
