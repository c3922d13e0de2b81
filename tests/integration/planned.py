"""Rows as tests of their planning make and look at them. All instants are aware UTC."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.db import connection, connections

from django_gocron.engine.entries import new_run
from django_gocron.engine.sweeping import Sweep
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.schedules import Daily
from django_gocron.testing import FakeClock
from tests.handdriven import do_nothing, make_job, next_tick, plan_at, runs_of, state_of, statuses

__all__ = [
    "DAILY",
    "DAY",
    "HOUR",
    "LATER",
    "MINUTE",
    "NOON",
    "claim",
    "do_nothing",
    "execute_sql",
    "make_job",
    "next_tick",
    "now",
    "plan_at",
    "record",
    "run_coroutine",
    "runs_of",
    "state_of",
    "statuses",
    "sweep",
]

T = TypeVar("T")

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def now() -> datetime:
    """The host's clock, which the database's is not far from."""
    return datetime.now(UTC)


NOON = (now() + 12 * HOUR).replace(minute=0, second=0, microsecond=0)
"""A full hour, about half a day ahead: the next tick of ``DAILY`` whenever the tests run."""

DAILY = Daily(at=f"{NOON:%H:%M}")

LATER = NOON + HOUR


def claim(
    job: Job, tick: datetime, *, due_at: datetime | None = None, following: datetime | None = None
) -> Run:
    """As if an instance had just claimed this tick: its row is there, and the state stands at the ``following`` one."""
    run = record(job, tick, status=Status.CLAIMED, available_at=due_at or tick, claim_id=uuid4())
    JobState.objects.filter(pk=job.pk).update(
        planned_through=tick, next_tick_at=following, next_run_at=following
    )
    return run


def record(job: Job, tick: datetime, *, status: str, **values: Any) -> Run:
    """A row of the ledger."""
    values.setdefault("available_at", tick)
    run = new_run(job, status=status, scheduled_for=tick)
    for name, value in values.items():
        setattr(run, name, value)
    run.save()
    return run


def execute_sql(statement: str, *parameters: Any) -> None:
    """Past Django's models: ``%s`` stands for a parameter."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def sweep() -> None:
    """What a scheduler does on each pass to find edits that went past Django's models."""
    Sweep("default", FakeClock()).step()


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it to its end, and close the connections of the thread in which its database calls were made."""

    async def run() -> T:
        try:
            return await coroutine
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(run())
