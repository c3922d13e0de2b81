"""The scheduler: one process's engine, with its threads.

A run's way through it, and the thread that has it:

    loop       claims ahead, from the database into memory          (loop, claims)
    timer      starts what is due, just ahead of its instant        (timers, starts, refusals)
    executor   holds it until the instant, begins, runs             (dispatch, executors)
    writer     writes the result                                    (completions)

Beside them the heartbeat renews the lease, the listener wakes the loop when somebody edits a job, and where a leader is
elected one thread more campaigns.

States of a scheduler: new -> started -> stopping -> stopped, moved by whoever calls ``start`` and ``shutdown``; it is
not started twice. Every thread ends at the stop; only user code in a thread cannot be made to.
"""

from __future__ import annotations

from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

from django.dispatch import Signal

from django_gocron import events
from django_gocron.clock import SystemClock
from django_gocron.conf import get_settings
from django_gocron.engine.heartbeat import measure
from django_gocron.engine.leadership import Leadership
from django_gocron.engine.outage import Outage
from django_gocron.engine.parts import Options, assemble
from django_gocron.engine.stopping import Stop
from django_gocron.engine.threads import EngineThread
from django_gocron.engine.wakeup import Listener
from django_gocron.exceptions import NotReadyError, OperationError
from django_gocron.models.alias import database
from django_gocron.tables import are_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

WRITER_WAIT, BLOCKED_WAIT = 1.0, 0.02
"""Seconds after which a writer looks again: when idle, and when all that waits is of jobs that somebody has locked."""

GATHERING = 0.01
"""Seconds in which results gather for the next batch, once several have come while one was being written."""

WATCHED = ("loop", "timer", "writer")
"""Threads that must not stall: without them nothing runs. That of the elector may wait for what others have built."""

FIRST_ANSWER = 1.0
"""Seconds that a start waits for the elector: it may hang, and what needs no leader is to run all the same."""

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
    waits for what runs, ``ahead`` how long before their instants ticks are claimed.
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
        stop_timeout: timedelta | None = None,
        ahead: timedelta | None = None,
    ) -> None:
        settings = get_settings()
        self.options = Options(
            using=using or database(),
            workers=workers or settings.max_workers,
            limit=limit or settings.concurrency_limit,
            drops=(limit_mode or settings.limit_mode) == "reschedule",
            labels=tuple(labels),
            name=name,
            lockers=settings.lockers if settings.coordination == "on" else None,
            elector=settings.elector if settings.has_elector else None,
            lease=settings.lease,
            heartbeat=settings.heartbeat,
            ahead=settings.claim_ahead if ahead is None else ahead,
            poll=settings.poll_interval,
            stop_timeout=settings.stop_timeout if stop_timeout is None else stop_timeout,
        )
        self.clock = SystemClock()
        self.parts = assemble(self.options, self.clock)
        self._outage = Outage(self.clock)
        self._threads = self._make_threads()
        self._listener = Listener(self.options.using, self._note_news)
        self._state = "new"
        self._stop = Stop(self.parts, self._threads, self._listener)
        self._stop_requested = StopRequest()
        self._stop_asked_at = 0.0
        self.parts.vigil.watch([thread for thread in self._threads if thread.name in WATCHED])
        self.has_failed = False
        """Whether it stops because its own threads do not work any more; then its process is to end."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    @property
    def name(self) -> str:
        return self.parts.lease.name

    @property
    def is_leader(self) -> bool:
        """Whether this instance may believe that it leads; where no leader is elected, all do. No I/O."""
        return self.parts.leadership.is_leader

    def start(self, *, loop: bool = True) -> None:
        """Begin; returns once the threads run. With ``loop=False`` nothing is claimed but by the caller.

        Raises ``NotReadyError`` (``tables_missing``) before ``migrate``, ``OperationError`` (``already_started``).
        """
        if self._state != "new":
            raise OperationError(f"This scheduler is {self._state}: make another.", code="already_started")
        check_ready(self.options.using)
        self._state = "started"
        measure(self.options.using, self.clock)
        scheduler_starting.send(sender=type(self), using=self.options.using)
        self.parts.sweep.start()
        self.parts.sweep.step()
        self.parts.lease.register()
        self.parts.locks.start()
        self.parts.executor.start()
        self._listener.start()
        for thread in self._threads:
            if loop or thread.name != "loop":
                thread.start()
        self.parts.leadership.wait_for_answer(FIRST_ANSWER)
        lease = self.parts.lease
        events.publish(
            events.SchedulerStarted(at=self.clock.now(), instance=lease.instance_id, name=lease.name)
        )

    def request_stop(self) -> None:
        """Ask whoever waits in ``wait`` to shut down, or, the second time, to wait for nothing. For signal handlers.

        A terminal and whatever started this process may both pass on one key press: within half a second it is one.
        """
        now = self.clock.boottime()
        if self._stop_requested.is_set() and now - self._stop_asked_at > ONE_PRESS:
            self._stop.hurry()
        elif not self._stop_requested.is_set():
            self._stop_asked_at = now
            self._stop_requested.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Return True once a stop is requested (also through the instance's row), or False after ``seconds``."""
        return self._stop_requested.wait(seconds)

    def shutdown(self, timeout: timedelta | None = None) -> int:
        """Stop: claim nothing more, give back what has not begun, wait for what runs up to ``timeout`` (default: the
        stop timeout), cancel coroutines, record the rest as lost. Answers how many runs were left executing.

        It always ends. Called again it does nothing.
        """
        self._stop_requested.set()
        if self._state != "started":
            self._state = "stopped" if self._state == "new" else self._state
            return 0
        self._state = "stopping"
        abandoned = self._stop.run(self.options.stop_timeout if timeout is None else timeout)
        self._state = "stopped"
        return abandoned

    def run_due(self) -> None:
        """Start everything that is due at the moment of the call, and return when it has ended or a stop is
        requested. Needs ``start(loop=False)``, and a scheduler that claims nothing ahead."""
        now = self.clock.now()
        self.parts.recovery.reap()
        while not self.wait(0) and (self.parts.loop.claim(now) or self.parts.memory.count()):
            self.parts.memory.wait(self.parts.memory.generation, 0.05)

    def _make_threads(self) -> list[EngineThread]:
        parts = self.parts
        threads = [
            self._thread("loop", parts.loop.step, parts.wakeup.wake),
            self._thread("timer", parts.timer.tick, parts.memory.wake),
            self._thread("writer", self._write, parts.completions.wake),
            self._thread("heartbeat", self._beat, parts.heartbeat.wake),
        ]
        if isinstance(parts.leadership, Leadership):
            threads.append(self._thread("elector", parts.leadership.step, parts.leadership.wake))
        return threads

    def _thread(self, name: str, step: Callable[[], None], wake: Callable[[], None]) -> EngineThread:
        return EngineThread(name, self.options.using, self._outage, step, wake)

    def _note_news(self) -> None:
        """Somebody has edited a job, or has something to hand over: leadership perhaps."""
        self.parts.wakeup.wake()
        if not self.is_leader:
            self.parts.leadership.wake()

    def _write(self) -> None:
        completions = self.parts.completions
        settled = completions.flush()
        if settled and self.parts.capacity.free_slots > 0:
            self.parts.wakeup.note_ends()
        if not settled:
            completions.wait(BLOCKED_WAIT if completions.waiting else WRITER_WAIT)
        elif settled > 1:
            self.clock.sleep(GATHERING)

    def _beat(self) -> None:
        self.parts.heartbeat.step()
        if self.parts.heartbeat.is_hopeless:
            self.has_failed = True
            self._stop.hurry()
        if self.has_failed or self.parts.lease.is_asked_to_stop():
            self._stop_requested.set()


def check_ready(using: str) -> None:
    """Raise ``NotReadyError`` (``tables_missing``) when our tables, or columns of theirs, are not all there."""
    if not are_ready(using):
        raise NotReadyError(
            f"The database {using!r} lacks tables of django-gocron, or columns of theirs."
            " Run `python manage.py migrate` first.",
            code="tables_missing",
        )
