"""The catalogue of facts, and the one place that hands them out.

No Django. Every event is frozen, in the past tense, and says when it was so (``at``, aware UTC). Logs, Django signals
and whatever else wants to know are receivers: they are called in the thread that publishes, must be quick, and one
that raises is logged and disturbs nobody.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

logger = logging.getLogger("django_gocron")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The root of the catalogue."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStarted(Event):
    instance: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStopping(Event):
    """No more is claimed; ``active`` runs are waited for, up to ``timeout``."""

    name: str
    active: int
    timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerStopped(Event):
    """The code of ``abandoned`` runs was still executing when the time was over: these are recorded as lost, unless
    they had timed out before."""

    name: str
    abandoned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerShutdown(Event):
    """The scheduler has stopped for good."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(Event):
    """Something happened to a run. ``tags`` are its job's; empty too where the run was judged without its job at hand,
    as by an instance that did not have it."""

    run_id: int
    job_id: int
    job_name: str
    task: str
    scheduled_for: datetime
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(RunEvent):
    """User code is about to begin, ``lag`` after the instant it was due."""

    lag: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExecuting(RunEvent):
    """The listeners before it have let the run pass: the task's own code begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerFailed(RunEvent):
    """A listener of that ``kind`` raised; the run went on."""

    kind: str
    listener: str
    error: str
    traceback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSucceeded(RunEvent):
    """After ``after_failures`` runs of the job in a row that failed or timed out: none, as a rule."""

    took: timedelta
    after_failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(RunEvent):
    took: timedelta
    reason: str
    error_type: str
    error_message: str
    traceback: str
    failures_in_row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimedOut(RunEvent):
    """The run executed longer than its job's ``timeout``. ``still_executes``: its code cannot be stopped and goes on,
    and no other run of the job starts before it ends."""

    took: timedelta
    timeout: timedelta
    still_executes: bool
    traceback: str
    failures_in_row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryQueued(RunEvent):
    """The run is the next attempt, number ``attempt``, of a tick whose last one failed, timed out or was lost; it is
    due at ``due_at``."""

    attempt: int
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQueued(RunEvent):
    """A tick waits for the end of the job's live run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelled(RunEvent):
    """``took``: how long it had executed; None: it was waiting."""

    reason: str
    took: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSkipped(RunEvent):
    """The run has ended before it began."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LockNotAcquired(RunEvent):
    """The run asked a locker for its lock at its instant, in vain. ``reason`` is ``lock_busy`` (``holder`` has it,
    where the locker can tell) or ``lock_error`` (``error`` says what kept the locker from answering).
    ``runs_anyway``: its job asks for that where there is no answer."""

    reason: str
    locker: str
    key: str
    holder: str
    error: str
    runs_anyway: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LockLost(RunEvent):
    """The run's lock ran out, or was taken away, while the run executed; it has been told, and goes on."""

    locker: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLost(RunEvent):
    """Its instance died or stopped while it ran; it may have finished."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRefused(RunEvent):
    """The result of a run came after the run had been declared lost or timed out, and changed nothing."""

    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent(Event):
    """Something happened to a job."""

    job_id: int
    job_name: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRegistered(JobEvent):
    """A job was made, and has its first plan; published where that was done, once it is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUnregistered(JobEvent):
    """A job was deleted; published where that was done, once it is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TicksMissed(JobEvent):
    reason: str
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TicksCoalesced(JobEvent):
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBroken(JobEvent):
    """The job cannot be planned or run; the others go on."""

    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuarantined(JobEvent):
    """``crashes`` runs in a row were lost with their instances: the job is paused until somebody releases it."""

    crashes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinished(JobEvent):
    """No further tick will come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipGained(Event):
    """This instance leads: it claims, and no other does."""

    instance: UUID
    name: str
    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadershipLost(Event):
    """This instance leads no more: ``reason`` is ``taken`` (another leads), ``expired`` (it could not renew in time) or
    ``resigned``."""

    instance: UUID
    name: str
    term: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStalled(Event):
    """Threads of this instance do not work, so its lease is not renewed. ``is_hopeless``: it has run out, and the
    scheduler stops."""

    threads: tuple[str, ...]
    is_hopeless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(Event):
    """This instance was declared dead by another; what it had not begun is theirs."""

    instance: UUID
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceReaped(Event):
    """An instance whose lease had expired was declared dead."""

    instance: UUID
    name: str
    requeued: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseLost(Event):
    where: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseRecovered(Event):
    where: str
    after: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJumped(Event):
    """The database's clock moved against ours by ``by``."""

    by: timedelta


_receivers: list[Callable[[Event], None]] = []


def subscribe(receiver: Callable[[Event], None]) -> None:
    """Hand every event to ``receiver`` from now on; a second time has no effect."""
    if receiver not in _receivers:
        _receivers.append(receiver)


def unsubscribe(receiver: Callable[[Event], None]) -> None:
    """Stop handing events to ``receiver``."""
    if receiver in _receivers:
        _receivers.remove(receiver)


def publish(event: Event) -> None:
    """Hand ``event`` to every receiver, whatever some of them do."""
    for receiver in tuple(_receivers):
        try:
            receiver(event)
        except Exception:
            logger.exception("A receiver of events failed on %s.", type(event).__name__)
