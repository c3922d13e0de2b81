"""Dispatch: between the engine's memory and an executor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django_gocron import events, registry
from django_gocron.context import Cause
from django_gocron.engine import barriers
from django_gocron.engine.contexts import make_context
from django_gocron.engine.external_locks import reason_of, words_of
from django_gocron.engine.memory import State
from django_gocron.exceptions import LockerError
from django_gocron.executors.base import Work
from django_gocron.executors.listening import hear_lock_error
from django_gocron.executors.outcome import Outcome
from django_gocron.executors.output import Output
from django_gocron.listeners import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django_gocron.clock import Clock
    from django_gocron.engine.capacity import Capacity
    from django_gocron.engine.completions import Completions
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.engine.timeouts import Timeouts
    from django_gocron.executors.base import Executor
    from django_gocron.listeners import Listener
    from django_gocron.lockers.base import Refusal
    from django_gocron.registry import Task


class Dispatch:
    """Hands entries to the executor, and takes their outcomes. ``execute`` is called from the timer's thread,
    ``_begin`` and ``_finish`` from the executor's."""

    def __init__(
        self,
        using: str,
        executor: Executor,
        timeouts: Timeouts,
        completions: Completions,
        capacity: Capacity,
        memory: Memory,
        lease: Lease,
        clock: Clock,
        listeners: Mapping[Kind, Listener],
    ) -> None:
        self._listeners = listeners
        self._using = using
        self._executor = executor
        self._timeouts = timeouts
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
        output = Output()
        context = make_context(self._using, entry)
        self._executor.submit(
            Work(
                task=task,
                args=entry.args,
                kwargs=entry.kwargs,
                context=context,
                due_at=entry.due_at,
                begin=partial(self._begin, entry, task, output),
                finish=partial(self._finish, entry),
                cancellation=entry.cancellation,
                output=output,
                listeners=self._listeners_of(entry),
                end=partial(self._end, entry),
                publish=partial(self._publish, entry),
            )
        )

    def tell_lock_refused(self, entry: Entry, refusal: Refusal) -> None:
        """Tell the listener of that, if there is one; returns at once. Called from the timer's thread."""
        listener = self._listeners_of(entry).get(Kind.ON_LOCK_ERROR)
        if listener is not None:
            error = LockerError(words_of(refusal), code=reason_of(refusal).value)
            run, publish = make_context(self._using, entry), partial(self._publish, entry)
            self._executor.call(partial(hear_lock_error, listener, run, error, publish))

    def _begin(self, entry: Entry, task: Task, output: Output) -> bool | None:
        """The last look before user code. Past the trust in our lease the run waits for the next renewal: then it
        begins, late, or it has been taken from us and is dropped. One that has been cancelled does not begin."""
        barriers.reach("begin.before", [entry])
        if entry.cancellation.cause is Cause.BY_USER:
            return self._cancel_unbegun(entry)
        if entry.state is State.HOLD and entry.lock_lost.is_set():
            self._memory.forget([entry])  # the audit finds that it has not begun, and queues it again
            return False
        if entry.state is State.HOLD and not self._lease.is_trusted:
            return None
        if not self._memory.move(entry, State.HOLD, State.EXECUTING):
            return False
        barriers.reach("begin.after", [entry])
        self._timeouts.watch(entry, output, is_async=task.is_async)
        self._publish(entry, events.RunStarted, lag=self._clock.now() - entry.due_at)
        return True

    def _listeners_of(self, entry: Entry) -> Mapping[Kind, Listener]:
        """Those of its task stand for those that all runs have."""
        return {**self._listeners, **registry.listeners_of(entry.task)}

    def _publish(self, entry: Entry, event: type[events.RunEvent], **values: Any) -> None:
        events.publish(event(at=self._clock.now(), **entry.identity(), **values))

    def _end(self, entry: Entry) -> bool:
        """From here on the run cannot time out. Answers whether it has not."""
        self._timeouts.unwatch(entry)
        return entry.state is State.EXECUTING

    def _finish(self, entry: Entry, outcome: Outcome) -> None:
        """Only what executes can become an overrun, so in this order one of the two moves succeeds."""
        self._timeouts.unwatch(entry)
        self._capacity.note(outcome.took)
        if not self._memory.move(entry, State.EXECUTING, State.DONE) and self._memory.move(
            entry, State.OVERRUN, State.DONE
        ):
            self._completions.add_overrun(entry, outcome)
        else:
            self._completions.add(entry, outcome)

    def _cancel_unbegun(self, entry: Entry) -> bool:
        if self._memory.move(entry, State.HOLD, State.EXECUTING):
            self._end_unbegun(
                entry, status="cancelled", reason="by_user", error_message=entry.cancellation.words
            )
        return False

    def _fail_unknown(self, entry: Entry) -> None:
        """Its task has gone from the registry since it was claimed; that is an outcome like another."""
        if self._memory.move(entry, State.HOLD, State.EXECUTING):
            self._end_unbegun(
                entry,
                status="failed",
                reason="exception",
                error_type="django_gocron.exceptions.UnknownTaskError",
                error_message=f"No task named {entry.task!r} is registered in this process.",
            )

    def _end_unbegun(self, entry: Entry, **values: str) -> None:
        now = self._clock.now()
        self._finish(entry, Outcome(started_at=now, finished_at=now, **values))  # type: ignore[arg-type]
