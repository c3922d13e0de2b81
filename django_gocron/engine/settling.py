"""What the end of a run means for its job: the ring of outcomes, and the next run where that counts from completion.

Always in the transaction that ends the run, under the lock of the job's state row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine.replanning import is_active, save_states, set_next
from django_gocron.exceptions import ScheduleError
from django_gocron.models import Job
from django_gocron.models.definitions import read_definition
from django_gocron.planning import after_completion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django_gocron.models import JobState

SETTLED = (
    "next_tick_at",
    "next_run_at",
    "run_count",
    "failures_in_row",
    "crashes_in_row",
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


def settle(using: str, outcomes: Sequence[tuple[JobState, str]], now: datetime) -> None:
    """Note runs that ended without having begun, each with its status."""
    for state, status in outcomes:
        state.add_outcome(status, None)
    save_settled(using, [state for state, _status in outcomes], now)


def save_settled(using: str, states: Sequence[JobState], finished_at: datetime) -> None:
    """Write state rows that are locked, after a run of each has ended at ``finished_at``."""
    if not states:
        return
    ids = [state.pk for state in states]
    counting = Job.objects.using(using).filter(pk__in=ids, interval_from_completion=True).in_bulk()
    for state in states:
        if state.pk in counting:
            _plan_from_completion(counting[state.pk], state, finished_at)
    save_states(using, states, SETTLED)


def _plan_from_completion(job: Job, state: JobState, finished_at: datetime) -> None:
    if not is_active(job, state) or state.finished_at or state.broken_code:
        return
    try:
        definition = read_definition(job)
    except ScheduleError:
        return
    set_next(state, definition, after_completion(definition, finished_at=finished_at))
