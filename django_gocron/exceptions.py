"""Every error this package raises, in one tree.

    GocronError
    ├── ConfigurationError      the GOCRON setting is wrong
    ├── ScheduleError           a schedule cannot be built, read or applied
    ├── DeclarationError        @job stands on something that cannot be a job
    ├── ArgumentsError          arguments do not fit the task's signature, or are not JSON
    ├── UnknownTaskError        no task of that name is registered in this process
    ├── JobError                a job cannot be as it is asked for
    ├── OperationError          a job, a run or a scheduler cannot do what was asked of it now
    │   └── JobNotFoundError    no such job
    ├── StopTimedOutError       a scheduler has stopped, but not all of it has ended
    ├── StaleRunError           a run is not this process's any more
    ├── LockerError             a locker could not answer
    ├── ElectorError            an elector could not answer
    └── NotReadyError           the database lacks our tables, or is away

Each carries a stable ``code`` (snake_case) that forms, checks and callers can match, and a message for people.
The failure of a task is not here: it is the outcome of a run. What a task itself may raise to say how its run shall go
on stands at the end.
"""

from __future__ import annotations

from datetime import timedelta


class GocronError(Exception):
    """The root. ``code`` is stable across releases; ``field`` names the parameter at fault, or is ""."""

    def __init__(self, message: str, *, code: str, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.code, self.field))


def describe(error: BaseException) -> str:
    """What an error says, in one line: ours are sentences, others' need their names."""
    text = error.message if isinstance(error, GocronError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:500]


def _rebuild(kind: type[GocronError], message: str, code: str, field: str) -> GocronError:
    return kind(message, code=code, field=field)


class ConfigurationError(GocronError):
    """The GOCRON setting has an unknown key or a value of the wrong kind."""


class ScheduleError(GocronError, ValueError):
    """A schedule cannot be built, read or applied."""


class DeclarationError(GocronError, TypeError):
    """``@job`` stands on something that cannot be a job, or two declarations collide."""


class ArgumentsError(GocronError, TypeError):
    """Arguments do not fit the task's signature, or cannot be kept as JSON."""


class UnknownTaskError(GocronError, LookupError):
    """No task of that name is registered in this process."""


class JobError(GocronError, ValueError):
    """A job cannot be as it is asked for. ``code`` and ``field`` are of its first fault; the message has all."""


class OperationError(GocronError):
    """A job, a run or a scheduler cannot do what was asked of it now."""


class JobNotFoundError(OperationError, LookupError):
    """No such job, or not any more."""


class StopTimedOutError(GocronError, TimeoutError):
    """A scheduler has stopped, but not all of it has ended."""


class StaleRunError(GocronError):
    """The run is not this process's any more: it was declared lost, has timed out, or has ended."""


class LockerError(GocronError):
    """A locker could not answer: nothing is known of the locks that were asked for."""


class ElectorError(GocronError):
    """An elector could not answer: nobody knows who leads."""


class NotReadyError(GocronError):
    """The database lacks our tables, or cannot be reached."""


class Cancelled(BaseException):
    """Raised by ``current_run().raise_if_cancelled()``: a task that lets it through, once its run has been asked to
    end, has been cancelled or has timed out. No ``Exception``, so that an ``except Exception`` does not catch it."""


class Retry(Exception):
    """Raised by a task: this attempt has failed, and the next one comes ``after`` a ``timedelta`` or a number of
    seconds (None: when the job's policy says). It takes one of the job's ``retries``; when none is left the run has
    failed.

    Raises ``ValueError`` for what is no delay, is below zero, or beyond 100 years.
    """

    def __init__(self, message: str = "", *, after: timedelta | float | None = None) -> None:
        super().__init__(message)
        self.after = None if after is None else _read_delay(after)


def _read_delay(after: object) -> timedelta:
    try:
        delay = after if isinstance(after, timedelta) else timedelta(seconds=after)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        delay = timedelta.min
    if timedelta(0) <= delay <= LONGEST_DELAY:
        return delay
    raise ValueError(
        f"Retry's after is a timedelta or a number of seconds, from 0 to {LONGEST_DELAY.days} days, not {after!r}."
    )


LONGEST_DELAY = timedelta(days=36525)
"""Later than that is no plan, and sums leave the calendar."""
