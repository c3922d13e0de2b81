"""From events to the calls of monitors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from django_gocron import events
from django_gocron.models.choices import Reason, Status
from django_gocron.monitors.base import FinishedRun, Monitor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from django_gocron.conf import Settings
    from django_gocron.monitors.base import Limit

logger = logging.getLogger("django_gocron")

LIMITS: Mapping[str, Limit] = {
    Reason.OVERLAP.value: "singleton",
    Reason.QUEUE_FULL.value: "singleton",
    Reason.SUPERSEDED.value: "singleton",
    Reason.LIMIT.value: "limit",
}
"""Why a tick is skipped, where that is for want of a free place."""

FAILURES = (Status.FAILED, Status.TIMED_OUT, Status.LOST)


def make_monitors(settings: Settings) -> list[Monitor]:
    """Those of the setting ``MONITORS``. Raises ``ConfigurationError`` (``bad_backend``)."""
    return [backend.make(Monitor) for backend in settings.monitors]


class Feed:
    """A receiver of events that tells several monitors, one after the other; see the contract for what happens to one
    that raises. ``with Feed([monitor]): ...`` tells it what happens in this process meanwhile, without a scheduler."""

    def __init__(self, monitors: Iterable[Monitor]) -> None:
        self._monitors = tuple(monitors)

    def __enter__(self) -> Self:
        events.subscribe(self)
        return self

    def __exit__(self, *error: object) -> None:
        events.unsubscribe(self)

    def __call__(self, event: events.Event) -> None:
        for monitor in self._monitors:
            try:
                tell(monitor, event)
            except Exception:
                name = f"{type(monitor).__module__}.{type(monitor).__qualname__}"
                logger.exception("The monitor %s failed on %s.", name, type(event).__name__)


def tell(monitor: Monitor, event: events.Event) -> None:
    """Make the calls that answer to an event; raises what the monitor raises."""
    match event:
        case events.RunStarted():
            monitor.run_started(event)
            monitor.scheduling_delay(event, event.lag)
        case events.RunExecuting():
            monitor.run_executing(event)
        case events.RunEvent():
            _tell_end(monitor, event)
        case events.JobRegistered():
            monitor.job_registered(event)
        case events.JobUnregistered():
            monitor.job_unregistered(event)
        case events.TicksMissed():
            monitor.ticks_missed(event)
        case events.SchedulerStarted():
            monitor.scheduler_started(event)
        case events.SchedulerStopped():
            monitor.scheduler_stopped(event)
        case events.SchedulerShutdown():
            monitor.scheduler_shutdown(event)
        case _:
            pass  # monitors are not told of it


def _tell_end(monitor: Monitor, event: events.RunEvent) -> None:
    run = read_end(event)
    if run is None:
        return
    monitor.run_finished(run)
    if run.took is not None:
        monitor.execution_time(run, run.took)
    if run.status == Status.SUCCEEDED:
        monitor.run_completed(run)
    elif run.status in FAILURES:
        monitor.run_failed(run)
    elif run.status == Status.SKIPPED and run.reason in LIMITS:
        monitor.concurrency_limit_reached(LIMITS[run.reason], run)


def read_end(event: events.RunEvent) -> FinishedRun | None:
    """The run that has come to its end by this; None: none has."""
    match event:
        case events.RunSucceeded():
            return _finished(event, Status.SUCCEEDED, took=event.took)
        case events.RunFailed():
            error = f"{event.error_type}: {event.error_message}".rstrip(": ")
            return _finished(event, Status.FAILED, event.reason, took=event.took, error=error)
        case events.RunTimedOut():
            return _finished(event, Status.TIMED_OUT, took=event.took)
        case events.RunCancelled():
            return _finished(event, Status.CANCELLED, event.reason, took=event.took)
        case events.RunSkipped():
            return _finished(event, Status.SKIPPED, event.reason)
        case events.RunLost():
            return _finished(event, Status.LOST, event.reason)
        case _:
            return None


def _finished(
    event: events.RunEvent,
    status: Status,
    reason: str = "",
    *,
    took: timedelta | None = None,
    error: str = "",
) -> FinishedRun:
    return FinishedRun(
        run_id=event.run_id,
        job_id=event.job_id,
        job_name=event.job_name,
        tags=event.tags,
        task=event.task,
        scheduled_for=event.scheduled_for,
        finished_at=event.at,
        took=took,
        status=status.value,
        reason=reason,
        error=error,
    )
