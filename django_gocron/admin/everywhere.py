"""Jobs that every instance runs for itself: what people are told of them, and when they run next.

Their state has no next tick, since each instance plans its own; the instants are the same for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_gocron.engine.courses import find_common_tick
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.exceptions import ScheduleError
from django_gocron.models.definitions import read_definition
from django_gocron.planning import due

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.admin.situation import Executing, Situation
    from django_gocron.models import Job, JobState


def next_instant(job: Job, state: JobState, now: datetime) -> datetime | None:
    """When the job runs next, or None. It asks no database: a list has many jobs."""
    if not runs_everywhere(job):
        planned: datetime | None = state.next_run_at
        return planned
    try:
        tick = find_common_tick(job, state, now)
        return due(read_definition(job), tick) if tick else None
    except ScheduleError:
        return None


def describe_spread(job: Job, situation: Situation) -> str:
    """What it means that every instance runs the job, and how many do now; "" for a job that one runs at a time."""
    if not runs_everywhere(job):
        return ""
    meaning = _(
        "Every instance runs it: each has every tick for itself, without a lock. A run by hand is executed by one."
    )
    if job.label:
        meaning = _(
            "Every instance that serves the label “%(label)s” runs it: each has every tick for itself, without a lock."
            " A run by hand is executed by one."
        ) % {"label": job.label}
    number = len(situation.able(job))
    text = ngettext("%(n)d instance can run it now.", "%(n)d instances can run it now.", number) % {
        "n": number
    }
    return f"{meaning} {text}"


def find_predecessor(job: Job, situation: Situation) -> Executing | None:
    """The run for whose end another by hand has to wait: of a job that every instance runs, only where none is free."""
    executing = {run.instance_id for run in situation.executing if run.job_id == job.pk}
    is_free = any(instance.pk not in executing for instance in situation.able(job))
    return None if runs_everywhere(job) and is_free else situation.first_start(job.pk)
