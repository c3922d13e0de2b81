"""What a task, and the listeners around it, are shown of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django_gocron.context import Missed, RunContext
from django_gocron.engine.tokens import draw_token

if TYPE_CHECKING:
    from django_gocron.engine.memory import Entry


def make_context(using: str, entry: Entry) -> RunContext:
    """The run as its task sees it, bound to what this instance holds of it."""
    missed = entry.missed and Missed(first=entry.missed[0], last=entry.missed[1], count=entry.missed[2])
    return RunContext(
        run_id=entry.run_id,
        job_id=entry.job_id,
        job_name=entry.job_name,
        task=entry.task,
        scheduled_for=entry.scheduled_for,
        attempt=entry.attempt,
        origin=entry.origin,
        timeout=entry.timeout,
        missed=missed,
        _lease_lost=entry.lease_lost,
        _lock_lost=entry.lock_lost,
        _cancellation=entry.cancellation,
        _draw_token=partial(draw_token, using, entry),
    )
