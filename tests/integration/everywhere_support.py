"""Jobs that every instance runs for itself, and instances that do, for the tests of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.test import override_settings

from django_gocron import Every, operations
from django_gocron.models import Job
from tests.handdriven import (
    HandDriven,
    make_job,
    runs_of,
)

SECOND = timedelta(seconds=1)
TEN_SECONDS = Every(seconds=10)

with_elector = override_settings(
    GOCRON={"ELECTOR": {"BACKEND": "django_gocron.electors.database.DatabaseElector"}}
)


def local_job(**values: Any) -> Job:
    """A job of every ten seconds that every instance runs."""
    return make_job(**{"schedule": TEN_SECONDS, "coordination": "node_local", **values})


def started(name: str = "web-1", **options: Any) -> HandDriven:
    """An instance that has made its first pass."""
    engine = HandDriven(name=name, **options)
    engine.claim()
    return engine


def two_instances() -> tuple[HandDriven, HandDriven]:
    return started("web-1"), started("web-2")


def tick_of(job: Job) -> datetime:
    """The next tick, which all instances have in common."""
    return operations.next_runs(Job.objects.get(pk=job.pk))[0]


def meet(engine: HandDriven, tick: datetime) -> None:
    """Claim and start what is due at the tick."""
    engine.go_to(tick)
    engine.claim()
    engine.start()


def end(engine: HandDriven) -> None:
    engine.execute()
    engine.finish()


def scope(engine: HandDriven) -> str:
    return str(engine.lease.instance_id)


def of(engine: HandDriven, job: Job) -> list[str]:
    """What became of the job's ticks on this instance, the earliest first."""
    return [
        f"{run.status}({run.reason})" if run.reason else run.status
        for run in runs_of(job, scope=scope(engine))
    ]


def fail() -> None:
    raise ValueError("no")
