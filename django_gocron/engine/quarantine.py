"""Quarantine: a job whose runs take their instances with them, again and again, is paused until somebody releases
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.identities import job_identity
from django_gocron.engine.replanning import end_waiting
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from django_gocron.models import Job, JobState


def note_losses(lost: Sequence[tuple[JobState, Job]], now: datetime, *, is_crash: bool) -> dict[int, Job]:
    """Note one outcome for each lost run, and one crash for each job that had any, on its state row, which the caller
    has locked and is to save; answer the jobs that are quarantined by it.

    A run that is lost because its scheduler was stopped is no crash.
    """
    for state, _job in lost:
        state.add_outcome(Status.LOST.value, None)
        state.last_status = Status.LOST.value
    bad: dict[int, Job] = {}
    for state, job in {state.pk: (state, job) for state, job in lost}.values():
        state.crashes_in_row += is_crash
        if state.quarantined_at is None and state.crashes_in_row >= job.max_crashes:
            state.quarantined_at, state.next_tick_at, state.next_run_at = now, None, None
            bad[job.pk] = job
    return bad


def enforce(
    using: str, jobs: Mapping[int, Job], states: Mapping[int, JobState], now: datetime
) -> list[events.Event]:
    """End what waits of jobs that have just been quarantined, in the same transaction; answer what there is to tell."""
    if jobs:
        end_waiting(using, jobs, now)
    return [
        events.JobQuarantined(at=now, crashes=states[pk].crashes_in_row, **job_identity(job))
        for pk, job in jobs.items()
    ]
