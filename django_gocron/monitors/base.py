"""The contract of a monitor: what wants to know what happens, to count it, to measure it, to pass it on.

A scheduler tells those of ``GOCRON["MONITORS"]`` and those that it was given, from its start to its shutdown. They hear
what happens in its process meanwhile: two schedulers in one process both tell theirs everything, and what other
processes do, each tells its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from django_gocron import events

Limit: TypeAlias = Literal["singleton", "limit"]
"""``singleton``: the job's own, one run at a time. ``limit``: the scheduler's, ``CONCURRENCY_LIMIT``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A run that has come to its end, and is recorded. Every attempt is a run of its own."""

    run_id: int
    job_id: int
    job_name: str
    tags: tuple[str, ...]
    """Of its job; empty too where the run was judged without its job at hand."""
    task: str
    scheduled_for: datetime
    finished_at: datetime
    took: timedelta | None
    """How long it executed; None: it did not, or nobody can tell, since its instance is gone."""
    status: str
    """``succeeded``, ``failed``, ``timed_out``, ``cancelled``, ``skipped`` or ``lost``."""
    reason: str
    """Why, in one of the words of ``Run.reason``, or ""."""
    error: str
    """What the task raised, ``ValueError: no such shop``, or ""."""

    @property
    def started_at(self) -> datetime | None:
        """When it began to execute; None where ``took`` is."""
        return None if self.took is None else self.finished_at - self.took


class Monitor:
    """Override what you need: by itself every method does nothing. ``OPTIONS`` come as keyword arguments; making one
    is to be cheap, since the system check makes it too. What is costly belongs into ``scheduler_started``.

    All methods are called in the thread in which the thing happens: an executor's, one of the engine's, or, for jobs,
    that of whoever edits them. So they may be called at the same time, and they must be quick: what waits for a network
    holds up runs. From a coroutine's run they are called on the event loop. What one raises is logged with the
    monitor's name, once an event; what else the monitor would be told of that event is left out; the other monitors
    and the run go on. Events are frozen, say when (``at``, aware UTC), and are all described in ``events``.
    """

    def scheduler_started(self, event: events.SchedulerStarted) -> None:
        """A scheduler works; again after each start that follows a ``stop_jobs``. gocron: ``SchedulerStarted``."""

    def scheduler_stopped(self, event: events.SchedulerStopped) -> None:
        """It works no more, after ``stop_jobs`` and before ``scheduler_shutdown``. gocron: ``SchedulerStopped``."""

    def scheduler_shutdown(self, event: events.SchedulerShutdown) -> None:
        """It has stopped for good; the last call. Not of one that was never started. gocron: ``SchedulerShutdown``."""

    def job_registered(self, event: events.JobRegistered) -> None:
        """A job was made in this process, and that is committed; by an edit it stays the same job. gocron:
        ``JobRegistered``."""

    def job_unregistered(self, event: events.JobUnregistered) -> None:
        """A job was deleted in this process, and that is committed. A finished job keeps its row, and is none. gocron:
        ``JobUnregistered``."""

    def run_started(self, event: events.RunStarted) -> None:
        """A run begins, its listeners first. Its end may be told in another process. gocron: ``JobStarted``."""

    def scheduling_delay(self, event: events.RunStarted, delay: timedelta) -> None:
        """How long after the instant it was due a run begins; after ``run_started``. gocron: ``JobSchedulingDelay``."""

    def run_executing(self, event: events.RunExecuting) -> None:
        """No listener has refused the run: its task begins. gocron: ``JobRunning``."""

    def run_finished(self, run: FinishedRun) -> None:
        """A run has come to its end, whichever, one that never began too; exactly one call for each run, in the process
        that records the end, before the other calls about that end.

        gocron: ``IncrementJob``, ``RecordJobTiming`` and ``RecordJobTimingWithStatus``. Its ``success`` is our
        ``succeeded``, its ``fail`` our ``failed``, ``timed_out`` and ``lost``, its ``skip`` our ``skipped`` with
        the reason ``lock_busy`` or ``lock_error``, its ``singleton_rescheduled`` our ``skipped`` with ``overlap``.
        """

    def execution_time(self, run: FinishedRun, took: timedelta) -> None:
        """How long a run has executed, whatever came of it. gocron: ``JobExecutionTime``."""

    def run_completed(self, run: FinishedRun) -> None:
        """A run has succeeded. gocron: ``JobCompleted``."""

    def run_failed(self, run: FinishedRun) -> None:
        """A run has failed, timed out or was lost. gocron: ``JobFailed``."""

    def concurrency_limit_reached(self, limit: Limit, run: FinishedRun) -> None:
        """A tick was skipped for want of a free place; one that waits for it is none. gocron:
        ``ConcurrencyLimitReached``."""

    def ticks_missed(self, event: events.TicksMissed) -> None:
        """``event.count`` ticks of a job were passed over, for ``event.reason``: they are recorded as ``missed``, and
        get no other call. gocron tells nobody."""
