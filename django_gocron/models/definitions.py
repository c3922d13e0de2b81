"""From the row of a job to the values that planning works on."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from django.core.serializers.json import DjangoJSONEncoder

from django_gocron.conf import get_settings
from django_gocron.exceptions import ScheduleError
from django_gocron.models.choices import Coordination
from django_gocron.models.fields import Unreadable
from django_gocron.planning import Definition, FirstRun, Misfire
from django_gocron.schedules import Schedule

if TYPE_CHECKING:
    from django_gocron.models.job import Job

TIMING = (
    "schedule",
    "starts_at",
    "ends_at",
    "first_run",
    "max_runs",
    "interval_from_completion",
    "jitter",
    "gap",
    "fold",
    "enabled",
    "paused_at",
    "paused_until",
    "skip_until",
)
"""What decides when a job runs; the zone is added."""

EXECUTION = (
    "task",
    "args",
    "kwargs",
    "coordination",
    "locker",
    "on_lock_error",
    "overlap",
    "max_queued",
    "misfire",
    "misfire_grace",
    "catchup_window",
    "max_catchup",
    "starting_deadline",
    "executor",
    "executor_options",
    "label",
    "priority",
    "group",
    "group_limit",
    "timeout",
    "retries",
    "retry_delay",
    "retry_backoff",
    "retry_max_delay",
    "retry_jitter",
    "on_lost",
    "max_crashes",
)
"""What decides how it runs. Names, descriptions and retention are in neither: editing them changes no plan."""


def read_definition(job: Job) -> Definition:
    """Raises ``ScheduleError`` when the schedule, the zone or a policy cannot be read."""
    if isinstance(job.schedule, Unreadable):
        raise ScheduleError(job.schedule.reason, code=job.schedule.code, field="schedule")
    try:
        first_run, misfire = FirstRun(job.first_run), Misfire(job.misfire)
    except ValueError as error:
        raise ScheduleError(f"{error}.", code="policy_unknown") from None
    return Definition(
        schedule=job.schedule,
        zone=job.zone,
        seed=str(job.identifier),
        starts_at=job.starts_at,
        ends_at=job.ends_at,
        first_run=first_run,
        max_runs=job.max_runs,
        interval_from_completion=job.interval_from_completion,
        jitter=job.jitter,
        gap=job.gap,
        fold=job.fold,
        misfire=misfire,
        misfire_grace=job.misfire_grace,
        catchup_window=job.catchup_window,
        max_catchup=job.max_catchup,
        starting_deadline=job.starting_deadline,
        skip_until=job.skip_until,
    )


def fingerprint(job: Job, zone_name: str) -> str:
    """A hash of what a plan is made from: first of the timing, then of the execution, 32 characters each.

    It is taken of the values read, in one canonical form, so that the text a database gives back does not matter. What
    ``unlocked`` means hangs on whether the project has an elector, so that is part of it.
    """
    is_led = job.coordination == Coordination.UNLOCKED and get_settings().has_elector
    return _hash(job, TIMING, zone_name) + _hash(job, EXECUTION, "led" if is_led else "")


def _hash(job: Job, names: tuple[str, ...], extra: str) -> str:
    values = [_plain(getattr(job, name)) for name in names]
    text = json.dumps([*values, extra], sort_keys=True, cls=DjangoJSONEncoder)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, Schedule):
        return value.to_dict()
    return value.text if isinstance(value, Unreadable) else value
