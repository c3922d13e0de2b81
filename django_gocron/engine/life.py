"""The life of an engine: its parts and its threads, from one start to the stop after it.

A run's way through it, and the thread that has it:

    loop       claims ahead, from the database into memory          (loop, claims)
    timer      starts what is due, just ahead of its instant        (timers, starts, refusals)
    executor   holds it until the instant, begins, runs             (dispatch, executors)
    writer     writes the result                                    (completions)

Beside them the heartbeat renews the lease, the listener wakes the loop when somebody edits a job, and where a leader is
elected one thread more campaigns. Every thread ends at the stop; only user code in a thread cannot be made to.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron.context import current_run
from django_gocron.engine.heartbeat import measure
from django_gocron.engine.leadership import Leadership
from django_gocron.engine.outage import Outage
from django_gocron.engine.parts import assemble
from django_gocron.engine.stopping import Stop
from django_gocron.engine.threads import EngineThread
from django_gocron.engine.wakeup import Listener

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.clock import Clock
    from django_gocron.engine.options import Options
    from django_gocron.engine.stopping import StopReport

WRITER_WAIT, BLOCKED_WAIT = 1.0, 0.02
"""Seconds after which a writer looks again: when idle, and when all that waits is of jobs that somebody has locked."""

GATHERING = 0.01
"""Seconds in which results gather for the next batch, once several have come while one was being written."""

WATCHED = ("loop", "timer", "writer")
"""Threads that must not stall: without them nothing runs. That of the elector may wait for what others have built."""

FIRST_ANSWER = 1.0
"""Seconds that a start waits for the elector: it may hang, and what needs no leader is to run all the same."""


class Life:
    """Started once, stopped once. ``request_stop`` is called when it cannot go on, or its row asks it to stop."""

    def __init__(self, options: Options, clock: Clock, request_stop: Callable[[], None]) -> None:
        self._using = options.using
        self._clock = clock
        self._request_stop = request_stop
        self._outage = Outage(clock)
        self.parts = assemble(options, clock)
        self.threads = self._make_threads()
        self._listener = Listener(self._using, self._note_news)
        self._stop = Stop(self.parts, self.threads, self._listener)
        self.parts.vigil.watch([thread for thread in self.threads if thread.name in WATCHED])
        self.was_started = False
        self.has_failed = False
        """Whether it stops because its own threads do not work any more; then its process is to end."""

    def start(self, *, loop: bool) -> None:
        """Begin; returns once the threads run. Raises ``DatabaseError`` when the database is away."""
        self.was_started = True
        measure(self._using, self._clock)
        self.parts.sweep.start()
        self.parts.sweep.step()
        self.parts.lease.register()
        self.parts.locks.start()
        self.parts.executor.start()
        self._listener.start()
        for thread in self.threads:
            if loop or thread.name != "loop":
                thread.start()
        self.parts.leadership.wait_for_answer(FIRST_ANSWER)

    def abandon(self) -> None:
        """After a start that has failed: what has begun ends, nothing is waited for."""
        if any(thread.is_alive for thread in self.threads):
            self.hurry()
            self.stop(timedelta(0))

    def hurry(self) -> None:
        """Let the stop wait for nothing."""
        self._stop.hurry()

    def stop(self, timeout: timedelta) -> StopReport:
        """End, whatever happens; see stopping."""
        return self._stop.run(timeout)

    @property
    def runs_the_caller(self) -> bool:
        """Whether the calling code is part of a run that executes here, or is called by one of its threads."""
        run = current_run()
        if run is not None and any(entry.run_id == run.run_id for entry in self.parts.memory.entries()):
            return True
        return self.parts.executor.is_caller or any(thread.is_caller for thread in self.threads)

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
        return EngineThread(name, self._using, self._outage, step, wake)

    def _note_news(self) -> None:
        """Somebody has edited a job, or has something to hand over: leadership perhaps."""
        self.parts.wakeup.wake()
        if not self.parts.leadership.is_leader:
            self.parts.leadership.wake()

    def _write(self) -> None:
        completions = self.parts.completions
        settled = completions.flush()
        if settled and self.parts.capacity.free_slots > 0:
            self.parts.wakeup.note_ends()
        if not settled:
            completions.wait(BLOCKED_WAIT if completions.waiting else WRITER_WAIT)
        elif settled > 1:
            self._clock.sleep(GATHERING)

    def _beat(self) -> None:
        self.parts.heartbeat.step()
        if self.parts.heartbeat.is_hopeless:
            self.has_failed = True
            self.hurry()
        if self.has_failed or self.parts.lease.is_asked_to_stop():
            self._request_stop()
