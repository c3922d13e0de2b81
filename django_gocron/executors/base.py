"""The contract of an executor: where runs are executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from django_gocron.context import Cancellation
from django_gocron.executors.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from django_gocron.context import RunContext
    from django_gocron.executors.outcome import Outcome
    from django_gocron.listeners import Kind, Listener
    from django_gocron.registry import Task


class Clock(Protocol):
    """As much of a clock as executing takes."""

    def now(self) -> datetime:
        """The instant, aware UTC."""

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""


def _tell_nobody(*_args: object, **_values: object) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One run, ready to be executed at ``due_at`` and not before.

    ``begin`` is the last thing before user code, in the thread that will run it: True, go on; False, the run is not
    ours any more, drop it; None, not now, ask again in a moment. ``finish`` takes the outcome, once the task's code has
    really ended; it may be called from any thread, returns at once and raises nothing. ``cancellation`` is the one that
    the context shows: when it is asked for, a coroutine that has begun is cancelled, each time. ``output`` takes what
    the run logs.

    ``listeners`` are called around the task. ``end`` is asked once the task's code has ended, before those that come
    after it: False, its result comes too late, since the run has timed out. ``publish`` takes the class of an event
    about the run, and what that says besides.
    """

    task: Task
    args: list[Any]
    kwargs: dict[str, Any]
    context: RunContext
    due_at: datetime
    begin: Callable[[], bool | None]
    finish: Callable[[Outcome], None]
    cancellation: Cancellation = field(default_factory=Cancellation)
    output: Output = field(default_factory=Output)
    listeners: Mapping[Kind, Listener] = field(default_factory=dict)
    end: Callable[[], bool] = lambda: True
    publish: Callable[..., None] = _tell_nobody

    @property
    def all_args(self) -> list[Any]:
        """What the task is called with by position: its run first, if it takes that."""
        return [self.context, *self.args] if self.task.takes_run else self.args


class Executor(Protocol):
    """Runs work. Whatever user code raises becomes an outcome: nothing escapes into the executor's threads."""

    def start(self) -> None:
        """Be ready for work. Called once, before anything else."""

    def submit(self, work: Work) -> None:
        """Take a run; returns at once. The caller has made sure that a slot is free. Called from one thread."""

    def call(self, work: Callable[[], None]) -> None:
        """Call what is no run, and raises nothing, apart from the caller's thread; returns at once."""

    @property
    def is_caller(self) -> bool:
        """Whether the calling thread is one of its own."""

    def stop(self, seconds: float) -> bool:
        """Let the threads end, and wait for that, up to ``seconds``; answer whether they have. Those that execute user
        code end with it."""


BEGIN_AGAIN = 0.05
"""Seconds to wait before ``begin`` is asked again."""
