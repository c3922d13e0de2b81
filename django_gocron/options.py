"""What code may decide about a job: the options of ``@job``, and of ``GOCRON["JOB_DEFAULTS"]``. No Django."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, get_type_hints

from django_gocron.exceptions import DeclarationError
from django_gocron.schedules import Cron, Schedule

Duration = timedelta | float
"""A ``timedelta``, or a number of seconds."""


class JobOptions(TypedDict, total=False):
    """The fields of a job that code may set; the others belong to operators and to the engine."""

    name: str
    description: str
    tags: Sequence[str]
    owner: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    timezone: str
    starts_at: datetime
    ends_at: datetime
    first_run: str
    max_runs: int
    interval_from_completion: bool
    jitter: Duration
    gap: str
    fold: str
    enabled: bool
    coordination: str
    locker: str
    on_lock_error: str
    overlap: str
    max_queued: int
    misfire: str
    misfire_grace: Duration
    catchup_window: Duration
    max_catchup: int
    starting_deadline: Duration
    executor: str
    executor_options: Mapping[str, Any]
    label: str
    priority: int
    group: str
    group_limit: int
    timeout: Duration
    retries: int
    retry_delay: Duration
    retry_backoff: float
    retry_max_delay: Duration
    retry_jitter: float
    on_lost: str
    max_crashes: int
    keep_days: int
    keep_runs: int


OPTIONS: Mapping[str, Any] = get_type_hints(JobOptions)
"""Each option and its type."""

OF_ONE_JOB = frozenset({"name", "args", "kwargs"})
"""Options that make no sense as a default of all jobs."""


class WrongValue(ValueError):
    """A value is not what is expected; the message says what is."""


def read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as a job keeps them: durations as ``timedelta``, instants in UTC, sequences as lists.

    An option that is None counts as not given. Raises ``DeclarationError`` (``unknown_option``, ``bad_option``), with
    the option as its field. Whether the values go together is for the model to say.
    """
    for name in options.keys() - OPTIONS.keys():
        raise DeclarationError(_unknown(name), code="unknown_option", field=name)
    return {name: _read_option(name, value) for name, value in options.items() if value is not None}


def _read_option(name: str, value: object) -> Any:
    try:
        return READERS[OPTIONS[name]](value)
    except WrongValue as error:
        raise DeclarationError(
            f"{name} must be {error}, not {value!r}.", code="bad_option", field=name
        ) from None


def read_schedule(schedule: object) -> Schedule | None:
    """What stands first in ``@job``. Raises ``DeclarationError`` (``bad_option``), or ``ScheduleError``."""
    if isinstance(schedule, str):
        return Cron(schedule)
    if schedule is not None and not isinstance(schedule, Schedule):
        message = (
            f"The first argument of @job is a schedule or a cron expression, not {schedule!r}. Write for example"
            " Every(minutes=5), Daily(at='09:00') or '*/5 * * * *'."
        )
        raise DeclarationError(message, code="bad_option", field="schedule")
    return schedule


def read_aliases(aliases: object) -> tuple[str, ...]:
    """Keys that a job had earlier. Raises ``DeclarationError`` (``bad_option``)."""
    if not isinstance(aliases, list | tuple) or not all(isinstance(key, str) and key for key in aliases):
        message = f"aliases must be a list of the keys that the job had before, not {aliases!r}."
        raise DeclarationError(message, code="bad_option", field="aliases")
    return tuple(aliases)


def _unknown(name: str) -> str:
    if name == "schedule":
        return "The schedule comes first and has no name: @job(Every(minutes=5), ...)."
    return f"There is no option {name!r}.{suggest(str(name), OPTIONS)}"


def suggest(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """The end of a message: " Did you mean x?", or nothing when nothing known is like it."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def read_duration(value: object) -> timedelta:
    """A ``timedelta``, or a finite number of seconds."""
    if isinstance(value, timedelta):
        return value
    try:
        return timedelta(seconds=read_number(value))
    except (OverflowError, WrongValue):
        raise WrongValue("a timedelta or a number of seconds") from None


def read_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongValue("a number")
    return value


def read_whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongValue("a whole number")
    return value


def read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValue("True or False")
    return value


def read_text(value: object) -> str:
    """Text without the blanks around it; a member of a text enumeration becomes its plain text."""
    if not isinstance(value, str):
        raise WrongValue("text")
    return str.__str__(value).strip()


def _read_instant(value: object) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise WrongValue("a datetime with a time zone")
    return value.astimezone(UTC)


def _read_texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple | set | frozenset) or not all(
        isinstance(item, str) for item in value
    ):
        raise WrongValue("a list of texts")
    return sorted(value) if isinstance(value, set | frozenset) else list(value)


def _read_list(value: object) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise WrongValue("a list")
    return list(value)


def _read_mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongValue("a dictionary")
    return dict(value)


READERS: Mapping[Any, Callable[[object], Any]] = {
    str: read_text,
    bool: read_flag,
    int: read_whole,
    float: read_number,
    Duration: read_duration,
    datetime: _read_instant,
    Sequence[str]: _read_texts,
    Sequence[Any]: _read_list,
    Mapping[str, Any]: _read_mapping,
}
