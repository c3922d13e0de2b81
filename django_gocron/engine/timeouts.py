"""Timeouts: how long a run may execute, counted from its begin.

A run that is past its deadline is asked to end. A coroutine is cancelled by that: it has a second to end, and does so
as any run. What goes on, and any function (a thread cannot be stopped), has timed out: that is written at once, while
the entry stays in memory as an overrun, and its run keeps the lock. When its code ends at last, the lock is freed by a
write of its own (see overruns), and its result is refused.
"""

from __future__ import annotations

import sys
import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django_gocron.context import Cause
from django_gocron.engine.memory import State
from django_gocron.executors import running
from django_gocron.executors.outcome import Outcome
from django_gocron.executors.texts import storable
from django_gocron.masking import find_secrets, mask_text

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.clock import Clock
    from django_gocron.engine.completions import Completions
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.executors.output import Output

GRACE = 1.0
"""Seconds that a cancelled coroutine has to end."""


@dataclass(slots=True, kw_only=True)
class _Watch:
    entry: Entry
    output: Output
    began_at: datetime
    deadline: float
    grace: float
    thread: int | None


class Timeouts:
    """``watch`` and ``unwatch`` are called from executors' threads, the rest from the timer's."""

    def __init__(self, clock: Clock, memory: Memory, completions: Completions) -> None:
        self._clock = clock
        self._memory = memory
        self._completions = completions
        self._watches: dict[int, _Watch] = {}
        self._lock = threading.Lock()

    def watch(self, entry: Entry, output: Output, *, is_async: bool) -> None:
        """Count from now, if the run has a timeout. Called in the thread that runs its code."""
        if entry.timeout is None:
            return
        watch = _Watch(
            entry=entry,
            output=output,
            began_at=self._clock.now(),
            deadline=self._clock.boottime() + entry.timeout.total_seconds(),
            grace=GRACE if is_async else 0.0,
            thread=None if is_async else threading.get_ident(),
        )
        with self._lock:
            self._watches[entry.run_id] = watch
        self._memory.wake()

    def unwatch(self, entry: Entry) -> None:
        """Its task's code has ended: it cannot time out any more."""
        if entry.timeout is not None:
            with self._lock:
                self._watches.pop(entry.run_id, None)

    def step(self) -> None:
        """Ask what is past its deadline to end, and record what cannot, or does not, as timed out."""
        now = self._clock.boottime()
        for watch in self._all():
            if watch.deadline <= now:
                self._end(watch)

    def seconds_to_next(self) -> float:
        """Until the first deadline; infinite when there is none."""
        now = self._clock.boottime()
        return max(0.0, min((watch.deadline - now for watch in self._all()), default=float("inf")))

    def _all(self) -> list[_Watch]:
        with self._lock:
            return list(self._watches.values())

    def _end(self, watch: _Watch) -> None:
        """Asked to end, a run may do so as any other does, until the memory has moved it."""
        watch.entry.cancellation.ask(Cause.TIMEOUT, _words(watch.entry))
        if watch.grace:
            watch.deadline, watch.grace = watch.deadline + watch.grace, 0.0
            return
        outcome = self._timed_out(watch)
        if self._take_over(watch.entry):
            self._completions.add(watch.entry, outcome)

    def _take_over(self, entry: Entry) -> bool:
        """Whether the run has not ended before. In one step with ``unwatch``: after that it cannot time out."""
        with self._lock:
            is_watched = self._watches.pop(entry.run_id, None) is not None
            return is_watched and self._memory.move(entry, State.EXECUTING, State.OVERRUN)

    def _timed_out(self, watch: _Watch) -> Outcome:
        """With what it has logged so far, and where its thread stands."""
        secrets = find_secrets(watch.entry.kwargs)
        return Outcome(
            status="timed_out",
            started_at=watch.began_at,
            finished_at=self._clock.now(),
            error_message=_words(watch.entry),
            traceback=mask_text(_stack_of(watch.thread), secrets),
            output=mask_text(watch.output.text(), secrets),
            still_executes=True,
        )


def _words(entry: Entry) -> str:
    assert entry.timeout is not None
    return f"It ran longer than its timeout of {entry.timeout.total_seconds():g} s."


def _stack_of(thread: int | None) -> str:
    """Where the task's code stands, without our own frames that have called it."""
    frame = sys._current_frames().get(thread) if thread else None
    if frame is None:
        return ""
    stack = traceback.extract_stack(frame)
    ours = [place for place, one in enumerate(stack) if one.filename == running.__file__]
    lines = stack.format() if not ours else traceback.format_list(stack[ours[-1] + 1 :])
    return storable("Where it was when its time was over (most recent call last):\n" + "".join(lines))
