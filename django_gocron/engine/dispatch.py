"""Dispatch: between the engine's memory and an executor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django_gocron import events, registry
from django_gocron.context import Missed, RunContext
from django_gocron.engine.memory import State
from django_gocron.executors.base import Work
from django_gocron.executors.outcome import Outcome

if TYPE_CHECKING:
    from django_gocron.engine.capacity import Capacity
    from django_gocron.engine.clock import Clock
    from django_gocron.engine.completions import Completions
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.executors.base import Executor


class Dispatch:
    """Hands entries to the executor, and takes their outcomes. ``execute`` is called from the timer's thread,
    ``_begin`` and ``_finish`` from the executor's."""

    def __init__(
        self,
        executor: Executor,
        completions: Completions,
        capacity: Capacity,
        memory: Memory,
        lease: Lease,
        clock: Clock,
    ) -> None:
        self._executor = executor
        self._completions = completions
        self._capacity = capacity
        self._memory = memory
        self._lease = lease
        self._clock = clock

    def execute(self, entry: Entry) -> None:
        """Have a run executed at its instant; returns at once."""
        task = registry.find_task(entry.task)
        if task is None:
            self._fail_unknown(entry)
            return
        self._executor.submit(
            Work(
                task=task,
                args=entry.args,
                kwargs=entry.kwargs,
                context=_context(entry),
                due_at=entry.due_at,
                begin=partial(self._begin, entry),
                finish=partial(self._finish, entry),
            )
        )

    def _begin(self, entry: Entry) -> bool | None:
        """The last look before user code. Past the trust in our lease the run waits for the next renewal: then it
        begins, late, or it has been taken from us and is dropped."""
        if entry.state is State.HOLD and not self._lease.is_trusted:
            return None
        if not self._memory.move(entry, State.HOLD, State.EXECUTING):
            return False
        now = self._clock.now()
        events.publish(events.RunStarted(at=now, lag=now - entry.due_at, **entry.identity()))
        return True

    def _finish(self, entry: Entry, outcome: Outcome) -> None:
        self._capacity.note(outcome.took)
        self._memory.move(entry, State.EXECUTING, State.DONE)
        self._completions.add(entry, outcome)

    def _fail_unknown(self, entry: Entry) -> None:
        """Its task has gone from the registry since it was claimed; that is an outcome like another."""
        self._memory.move(entry, State.HOLD, State.EXECUTING)
        now = self._clock.now()
        message = f"No task named {entry.task!r} is registered in this process."
        outcome = Outcome(
            status="failed",
            reason="exception",
            started_at=now,
            finished_at=now,
            error_type="django_gocron.exceptions.UnknownTaskError",
            error_message=message,
        )
        self._finish(entry, outcome)


def _context(entry: Entry) -> RunContext:
    missed = entry.missed and Missed(first=entry.missed[0], last=entry.missed[1], count=entry.missed[2])
    return RunContext(
        run_id=entry.run_id,
        job_id=entry.job_id,
        job_name=entry.job_name,
        task=entry.task,
        scheduled_for=entry.scheduled_for,
        attempt=entry.attempt,
        origin=entry.origin,
        missed=missed,
        _lease_lost=entry.lease_lost,
    )
