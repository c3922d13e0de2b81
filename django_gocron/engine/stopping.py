"""The stop, step by step. It always ends.

1. The loop ends: nothing more is claimed. What is held goes back to the queue, leadership is resigned, for others to
   have at once.
2. What executes is waited for, the heartbeat going on; it is then asked to end, and has a moment for that.
3. The timer ends. What was started and has not begun goes back to the queue too.
4. Results are written.
5. In one transaction: runs that still execute are lost, their locks freed, and the instance's row says stopped.

``hurry`` ends the waiting in steps 2 and 4.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.context import Cause
from django_gocron.engine import barriers
from django_gocron.engine.database import DATABASE_ERRORS, engine_thread, in_engine_thread, statement
from django_gocron.engine.memory import BEGUN, IN_A_SLOT, State
from django_gocron.engine.recovery import stop_instance
from django_gocron.engine.requeueing import hand_over
from django_gocron.exceptions import StopTimedOutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_gocron.engine.parts import Parts
    from django_gocron.engine.threads import EngineThread
    from django_gocron.engine.wakeup import Listener

logger = logging.getLogger("django_gocron")

CANCEL_GRACE = 2.0
"""Seconds that runs have to end which were asked to."""

RESIGN_GRACE = 1.0
"""Seconds that the elector has to end its campaign, and to hear that it is over."""

WRITE_GRACE = 5.0
"""Seconds that the last results have to be written, and that a thread has to end its step."""


class StopOutcome(StrEnum):
    """What came of a stop. All its threads have ended, or else what has not."""

    ENDED = "ended"
    JOBS_TIMED_OUT = "jobs_timed_out"
    """The code of runs still executes; these are recorded as lost, unless they had timed out before."""
    EXECUTOR_TIMED_OUT = "executor_timed_out"
    """No run executes any more, but threads that executed some do not end."""
    SCHEDULER_TIMED_OUT = "scheduler_timed_out"
    """Threads of the engine itself hang, as in a database that does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """What came of a stop; the code of ``abandoned`` runs still executes."""

    outcome: StopOutcome = StopOutcome.ENDED
    abandoned: int = 0

    def raise_if_timed_out(self) -> None:
        """Raise ``StopTimedOutError`` (``stop_jobs_timed_out``, ``stop_executor_timed_out``,
        ``stop_scheduler_timed_out``) unless everything has ended."""
        if self.outcome is not StopOutcome.ENDED:
            raise StopTimedOutError(f"{WORDS[self.outcome]}.", code=f"stop_{self.outcome}")


WORDS = {
    StopOutcome.JOBS_TIMED_OUT: "Runs still executed when the time for the stop was over",
    StopOutcome.EXECUTOR_TIMED_OUT: "Threads of the executor have not ended in time",
    StopOutcome.SCHEDULER_TIMED_OUT: "Threads of the scheduler have not ended in time",
}

NOTHING_TO_STOP = StopReport()


class Stop:
    """Called from the thread that shuts down; ``hurry`` from any."""

    def __init__(self, parts: Parts, threads: Sequence[EngineThread], listener: Listener) -> None:
        self._parts = parts
        self._threads = {thread.name: thread for thread in threads}
        self._listener = listener
        self._hurry = threading.Event()

    def hurry(self) -> None:
        """Wait no longer."""
        self._hurry.set()
        self._parts.memory.wake()

    def run(self, timeout: timedelta) -> StopReport:
        """Stop, and answer what came of that."""
        self._listener.stop()
        self._threads["loop"].stop(WRITE_GRACE)
        self._give_back(State.HELD)
        self._resign()
        self._announce(timeout)
        if not self._wait_for(IN_A_SLOT, timeout.total_seconds()):
            self._ask_to_end()
            self._wait_for(IN_A_SLOT, CANCEL_GRACE)
        self._threads["timer"].stop(WRITE_GRACE)
        self._give_back(State.HELD, State.HOLD)
        self._wait_for((State.DONE,), WRITE_GRACE)
        for name in ("writer", "heartbeat"):
            self._threads[name].stop(WRITE_GRACE)
        return self._finish()

    def _resign(self) -> None:
        """An elector is others' code, and may hang: nobody waits for it for long."""
        elector = self._threads.get("elector")
        if elector is None:
            return
        elector.stop(RESIGN_GRACE)
        if not elector.is_alive:
            thread = threading.Thread(target=self._resign_now, name="gocron-resign", daemon=True)
            thread.start()
            thread.join(RESIGN_GRACE)

    def _resign_now(self) -> None:
        with engine_thread(self._parts.using):
            self._parts.leadership.resign()

    def _ask_to_end(self) -> None:
        """Coroutines are cancelled by that; functions that look can end too."""
        for entry in self._parts.memory.entries(*BEGUN):
            entry.cancellation.ask(Cause.SHUTDOWN, "The scheduler stops.")

    def _give_back(self, *states: State) -> None:
        """What has not begun cannot begin any more, and is for others to have at once."""
        using, unbegun = self._parts.using, self._parts.memory.withdraw(*states)
        self._parts.locks.release(unbegun)
        try:
            in_engine_thread(using, lambda: statement(using, lambda: hand_over(using, unbegun)))
        except DATABASE_ERRORS as error:
            logger.warning("Claimed runs could not be given back (%s); they are recovered later.", error)
        self._parts.memory.forget(unbegun)

    def _announce(self, timeout: timedelta) -> None:
        events.publish(
            events.SchedulerStopping(
                at=self._parts.clock.now(),
                name=self._parts.lease.name,
                active=self._parts.memory.count(*IN_A_SLOT),
                timeout=timeout,
            )
        )

    def _wait_for(self, states: Sequence[State], seconds: float) -> bool:
        """Wait until nothing is in these states; False when the time is over, or when in a hurry."""
        memory, clock = self._parts.memory, self._parts.clock
        deadline = clock.boottime() + seconds
        while memory.count(*states):
            generation = memory.generation
            left = deadline - clock.boottime()
            if left <= 0 or self._hurry.is_set():
                return False
            memory.wait(generation, min(left, 0.5))
        return True

    def _finish(self) -> StopReport:
        parts = self._parts
        parts.lease.distrust()
        executing = parts.memory.count(*IN_A_SLOT)
        try:
            while not self._threads["writer"].is_alive and parts.completions.flush():
                pass
            instance_id, now = parts.lease.instance_id, parts.clock.now()
            for fact in in_engine_thread(parts.using, lambda: stop_instance(parts.using, instance_id, now)):
                events.publish(fact)
            barriers.reach("resign.after")
        except DATABASE_ERRORS as error:
            logger.warning("The stop could not be recorded (%s); the lease will run out.", error)
        parts.locks.stop(WRITE_GRACE)
        has_ended = parts.executor.stop(0.0 if executing else WRITE_GRACE)
        self._listener.join(WRITE_GRACE)
        events.publish(
            events.SchedulerStopped(at=parts.clock.now(), name=parts.lease.name, abandoned=executing)
        )
        return StopReport(outcome=self._judge(executing, has_ended), abandoned=executing)

    def _judge(self, executing: int, executor_has_ended: bool) -> StopOutcome:
        if any(thread.is_alive for thread in self._threads.values() if thread.name != "elector"):
            return StopOutcome.SCHEDULER_TIMED_OUT
        if executing:
            return StopOutcome.JOBS_TIMED_OUT
        return StopOutcome.ENDED if executor_has_ended else StopOutcome.EXECUTOR_TIMED_OUT
