"""What a job is to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine.courses import find_common_tick
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Origin, Status
from django_gocron.models.definitions import read_definition
from django_gocron.models.now import database_now
from django_gocron.operations.rows import database_of
from django_gocron.planning import due, next_tick

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.models import Job


def next_run(job: Job) -> datetime | None:
    """The first of ``next_runs``, or None."""
    return next(iter(next_runs(job, 1)), None)


def next_runs(job: Job, n: int = 5, *, now: datetime | None = None) -> list[datetime]:
    """The next ``n`` instants after ``now`` (the database's own if None) at which the job is to run, jitter included;
    fewer when it ends before.

    A preview: an edit, a pause or a limit of runs changes it. Empty for a job that is disabled, paused without an
    end, broken or finished. Of a job that every instance runs, these are the instants that all have in common, as
    far as they do: an interval that counts from completion does so on each of them. Raises ``ScheduleError`` when the
    schedule cannot be read.
    """
    using = database_of(job)
    state = JobState.objects.using(using).filter(pk=job.pk).first()
    tick = find_next_tick(using, job, state, now or database_now(using)) if state else None
    if state is None or tick is None or state.anchor_at is None:
        return []
    definition = read_definition(job)
    left = n if job.max_runs is None else min(n, max(0, job.max_runs - state.run_count))
    instants: list[datetime] = []
    while tick is not None and len(instants) < left:
        instants.append(due(definition, tick))
        tick = next_tick(definition, anchor=state.anchor_at, after=tick)
    return instants


def find_next_tick(using: str, job: Job, state: JobState, now: datetime) -> datetime | None:
    """The first tick that has not begun: claimed a moment ahead, or still to be claimed."""
    if runs_everywhere(job):
        return find_common_tick(job, state, now)
    waiting = Run.objects.using(using).filter(
        job=job, origin=Origin.SCHEDULE, status=Status.CLAIMED, scheduled_for__gt=now
    )
    claimed = waiting.order_by("scheduled_for").values_list("scheduled_for", flat=True).first()
    return claimed or state.next_tick_at
