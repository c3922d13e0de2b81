"""Every error this package raises, in one tree.

    GocronError
    ├── ConfigurationError      the GOCRON setting is wrong
    ├── ScheduleError           a schedule cannot be built, read or applied
    ├── DeclarationError        @job stands on something that cannot be a job
    ├── ArgumentsError          arguments do not fit the task's signature, or are not JSON
    ├── UnknownTaskError        no task of that name is registered in this process
    ├── OperationError          a job cannot do what was asked of it now
    └── NotReadyError           the database lacks our tables, or is away

Each carries a stable ``code`` (snake_case) that forms, checks and callers can match, and a message for people.
The failure of a task is not here: it is the outcome of a run.
"""

from __future__ import annotations


class GocronError(Exception):
    """The root. ``code`` is stable across releases; ``field`` names the parameter at fault, or is ""."""

    def __init__(self, message: str, *, code: str, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.code, self.field))


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


class OperationError(GocronError):
    """A job cannot do what was asked of it now."""


class NotReadyError(GocronError):
    """The database lacks our tables, or cannot be reached."""
