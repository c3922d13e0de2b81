"""What the end of a run means for its job: the ring of outcomes, and the next run where that counts from completion.

Always in the transaction that ends the run, under the lock of the job's state row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine.database import skips_locked
from django_gocron.engine.everywhere import jobs_everywhere
from django_gocron.engine.replanning import is_active, save_states, set_next
from django_gocron.exceptions import ScheduleError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import LIVE, Origin
from django_gocron.models.definitions import read_definition
from django_gocron.planning import after_completion

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

SETTLED = (
    "next_tick_at",
    "next_run_at",
    "run_count",
    "failures_in_row",
    "crashes_in_row",
    "quarantined_at",
    "finished_at",
    "last_run",
    "last_status",
    "last_started_at",
    "last_finished_at",
    "last_success",
    "last_success_at",
    "last_failure",
    "last_failure_at",
    "outcomes",
)
"""The columns of a state row that the end of a run writes."""


def lock_free_states(using: str, job_ids: Collection[int]) -> dict[int, JobState]:
    """The state rows of these jobs that nobody else has locked, now locked by the transaction of the caller.

    An edit may keep one locked for as long as its transaction lasts: nobody waits for that, the run is left for the
    next look.
    """
    states = JobState.objects.using(using).select_for_update(skip_locked=skips_locked(using))
    free = states.filter(pk__in=job_ids)
    return {state.pk: state for state in free.order_by("pk")}


def settle(using: str, outcomes: Sequence[tuple[JobState, str]], now: datetime) -> None:
    """Note runs that ended without having begun, each with its status."""
    for state, status in outcomes:
        state.add_outcome(status, None)
    save_settled(using, {state.pk: (state, now) for state, _status in outcomes})


def save_settled(using: str, settled: Mapping[int, tuple[JobState, datetime]]) -> None:
    """Write state rows that are locked, by job, each with the instant at which a run of it has ended."""
    if not settled:
        return
    for job in _find_waiting(using, [state for state, _finished_at in settled.values()]):
        _plan_from_completion(job, *settled[job.pk])
    save_states(using, [state for state, _finished_at in settled.values()], SETTLED)


def _find_waiting(using: str, states: Sequence[JobState]) -> QuerySet[Job]:
    """The jobs whose next tick counts from the completion of the last, and which has ended: neither is one planned nor
    does a run of one live. The end of a run by hand changes nothing of that; what every instance runs, each follows for
    itself."""
    unplanned = [state.pk for state in states if state.next_tick_at is None]
    live = Run.objects.filter(job__in=unplanned, origin=Origin.SCHEDULE, scope="", status__in=LIVE)
    counting = Job.objects.using(using).filter(pk__in=unplanned, interval_from_completion=True)
    return counting.exclude(pk__in=live.values("job")).exclude(pk__in=jobs_everywhere())


def _plan_from_completion(job: Job, state: JobState, finished_at: datetime) -> None:
    if not is_active(job, state) or state.finished_at or state.broken_code:
        return
    try:
        definition = read_definition(job)
    except ScheduleError:
        return
    set_next(state, definition, after_completion(definition, finished_at=finished_at))
