"""What ``Job.full_clean()`` refuses, each on the field it belongs to."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from django_gocron import registry
from django_gocron.conf import get_settings
from django_gocron.exceptions import ArgumentsError, ScheduleError, UnknownTaskError
from django_gocron.models.choices import Coordination
from django_gocron.models.definitions import read_definition
from django_gocron.models.fields import Unreadable
from django_gocron.planning import BATCH, LONGEST, FirstRun, first_tick
from django_gocron.schedules import Every, EveryRandom, Schedule

if TYPE_CHECKING:
    from django_gocron.models.job import Job

MICROSECOND = timedelta(microseconds=1)

AVAILABLE: dict[str, tuple[Any, ...]] = {
    "executor": ("threads",),
    "executor_options": ({},),
    "group": ("",),
    "group_limit": (None,),
}
"""Fields whose other values this release cannot honour, and so refuses."""


DURATIONS = (
    "jitter",
    "misfire_grace",
    "catchup_window",
    "starting_deadline",
    "timeout",
    "retry_delay",
    "retry_max_delay",
)
MAY_BE_ZERO = frozenset({"jitter", "misfire_grace", "retry_delay", "retry_max_delay"})

RANGES: dict[str, tuple[int, int, str]] = {
    "max_catchup": (1, BATCH, "cap_out_of_range"),
    "max_queued": (1, 10_000, "queue_out_of_range"),
    "retries": (0, 1000, "retries_out_of_range"),
    "retry_backoff": (1, 100, "backoff_out_of_range"),
    "retry_jitter": (0, 1, "jitter_out_of_range"),
    "max_crashes": (1, 1000, "crashes_out_of_range"),
}
"""Least and most of each number, and the code of the fault."""


class _Faults:
    """Faults by field, in the order they are found."""

    def __init__(self) -> None:
        self.by_field: dict[str, list[ValidationError]] = defaultdict(list)

    def add(self, field: str, message: str, code: str) -> None:
        self.by_field[field].append(ValidationError(message, code=code))


def find_faults(job: Job) -> dict[str, list[ValidationError]]:
    """Every fault of the job, by field.

    A value of the wrong kind is for its field to refuse, and is passed over here.
    """
    faults = _Faults()
    for check in (
        _check_task,
        _check_zone,
        _check_window,
        _check_schedule_options,
        _check_durations,
        _check_numbers,
        _check_locker,
        _check_available,
    ):
        check(job, faults)
    return dict(faults.by_field)


def _check_task(job: Job, faults: _Faults) -> None:
    for field, kind, what in (("args", list, _("a JSON list")), ("kwargs", dict, _("a JSON object"))):
        if not isinstance(getattr(job, field), kind) and not isinstance(getattr(job, field), Unreadable):
            faults.add(field, _("Enter %(what)s.") % {"what": what}, "arguments_not_json")
    if (
        faults.by_field
        or not job.task
        or isinstance(job.args, Unreadable)
        or isinstance(job.kwargs, Unreadable)
    ):
        return
    try:
        registry.get_task(job.task).check_arguments(job.args, job.kwargs)
    except UnknownTaskError as error:
        faults.add("task", error.message, error.code)
    except ArgumentsError as error:
        faults.add(error.field or "kwargs", error.message, error.code)


def _check_zone(job: Job, faults: _Faults) -> None:
    try:
        job.zone  # noqa: B018
    except ScheduleError as error:
        faults.add("timezone", error.message, error.code)


def _check_window(job: Job, faults: _Faults) -> None:
    if (
        isinstance(job.starts_at, datetime)
        and isinstance(job.ends_at, datetime)
        and job.ends_at <= job.starts_at
    ):
        faults.add("ends_at", _("The end must be after the start."), "end_not_after_start")
    if job.max_runs == 0:
        faults.add("max_runs", _("Enter 1 or more, or leave it empty for no limit."), "zero_max_runs")


def _check_schedule_options(job: Job, faults: _Faults) -> None:
    if job.interval_from_completion and not isinstance(job.schedule, Every | EveryRandom):
        message = _("Only an interval can count from completion. Choose *Every*, or switch this off.")
        faults.add("interval_from_completion", message, "not_an_interval")
    if job.first_run == FirstRun.AT_STARTS_AT and not job.starts_at:
        faults.add("first_run", _("Enter when the job starts, or choose another first run."), "no_starts_at")
    if job.first_run != FirstRun.ON_SCHEDULE and job.schedule is None:
        faults.add("first_run", _("A job without a schedule runs by hand only."), "no_schedule")
    if isinstance(job.schedule, Schedule) and not faults.by_field and not _ever_fires(job):
        faults.add("ends_at", _("The schedule has no run before the end."), "never_fires")


def _ever_fires(job: Job) -> bool:
    """Whether a job that starts at a known instant, and ends, has a tick in its window."""
    if not isinstance(job.starts_at, datetime) or not isinstance(job.ends_at, datetime):
        return True
    try:
        tick = first_tick(read_definition(job), anchor=job.starts_at, now=job.starts_at - MICROSECOND)
    except ScheduleError:
        return True
    return tick is not None


def _check_durations(job: Job, faults: _Faults) -> None:
    for field in DURATIONS:
        value = getattr(job, field)
        if not isinstance(value, timedelta):
            continue
        if value < timedelta(0):
            faults.add(field, _("A duration cannot be negative."), "negative_duration")
        elif not value and field not in MAY_BE_ZERO:
            faults.add(field, _("Enter a duration above zero, or leave it empty."), "duration_not_positive")
        elif value > LONGEST:
            message = _("Enter a duration of at most %(most)d days.") % {"most": LONGEST.days}
            faults.add(field, message, "duration_too_long")


def _check_numbers(job: Job, faults: _Faults) -> None:
    for field, (least, most, code) in RANGES.items():
        value = getattr(job, field)
        if isinstance(value, int | float) and not least <= value <= most:
            message = _("Enter a number from %(least)s to %(most)s.") % {"least": least, "most": most}
            faults.add(field, message, code)


def _check_locker(job: Job, faults: _Faults) -> None:
    if not job.locker:
        return
    if job.coordination != Coordination.LOCKED:
        message = _(
            "Only a job that one instance runs under a lock has a locker. Choose that, or leave this empty."
        )
        faults.add("locker", message, "locker_without_lock")
    elif job.locker not in (known := get_settings().lockers):
        aliases = ", ".join(map(repr, known)) or _("none yet")
        message = _("No locker is called %(alias)r. The setting GOCRON['LOCKERS'] names: %(aliases)s.")
        faults.add("locker", message % {"alias": job.locker, "aliases": aliases}, "locker_unknown")


def _check_available(job: Job, faults: _Faults) -> None:
    for field, values in AVAILABLE.items():
        if getattr(job, field) not in values:
            allowed = ", ".join(repr(value) for value in values)
            message = _("Not available in this release. Allowed: %(allowed)s.") % {"allowed": allowed}
            faults.add(field, message, "not_available")
