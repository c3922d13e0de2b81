"""Quarantine: a job whose runs take their instances with them, again and again, is paused until somebody releases
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.replanning import end_waiting
from django_gocron.engine.settling import save_settled
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django_gocron.models import Job, JobState


def note_crashes(
    using: str, lost: Sequence[tuple[JobState, Job]], now: datetime, *, is_crash: bool
) -> list[events.Event]:
    """Note one outcome for each lost run (a job may have had several), and quarantine the jobs that have had their
    fill.

    A run that is lost because its scheduler was stopped is no crash. Inside the transaction that declares the runs
    lost, under the locks of the state rows.
    """
    for state, _job in lost:
        state.add_outcome(Status.LOST.value, None)
        state.last_status = Status.LOST.value
        state.crashes_in_row += is_crash
    bad = {job.pk: (state, job) for state, job in lost if _has_had_its_fill(state, job)}
    for state, _job in bad.values():
        state.quarantined_at, state.next_tick_at, state.next_run_at = now, None, None
    save_settled(using, {state.pk: (state, now) for state, _job in lost})
    end_waiting(using, bad, now)
    return [
        events.JobQuarantined(at=now, job_id=job.pk, job_name=job.name, crashes=state.crashes_in_row)
        for state, job in bad.values()
    ]


def _has_had_its_fill(state: JobState, job: Job) -> bool:
    return state.quarantined_at is None and state.crashes_in_row >= job.max_crashes
