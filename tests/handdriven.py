"""An instance of the engine without its threads: a test makes each step, on a clock that it sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from django_gocron import registry
from django_gocron.backends import Backend
from django_gocron.clock import Clock
from django_gocron.engine import parts
from django_gocron.engine.audit import Audit
from django_gocron.engine.memory import Entry, State
from django_gocron.executors.base import Work
from django_gocron.listeners import Kind, Listener
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.now import database_now
from django_gocron.schedules import Every
from django_gocron.testing import FakeClock
from django_gocron.testing.executor import CallingThreadExecutor

REAL_TRANSACTIONS = pytest.mark.django_db(transaction=True, available_apps=["django_gocron"])
"""What commits is seen by other connections; only our own tables are emptied afterwards."""

DATABASE = "default"
LEASE = timedelta(minutes=5)


class ExecutorByHand(CallingThreadExecutor):
    """Also keeps when each run began."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.began_at: list[datetime] = []

    def _run(self, work: Work) -> bool:
        began = work.begin

        def begin() -> bool | None:
            answer = began()
            if answer:
                self.began_at.append(self.clock.now())
            return answer

        return super()._run(replace(work, begin=begin))


class HandDriven:
    """``claim``, ``start``, ``execute``, ``finish`` are a run's way; ``step`` is all four. With a lease of its own."""

    def __init__(
        self,
        *,
        workers: int = 10,
        limit: int | None = None,
        drops: bool = False,
        labels: Sequence[str] = (),
        ahead: timedelta = timedelta(seconds=1),
        lockers: Mapping[str, Backend] | None = MappingProxyType({}),
        elector: Backend | None = None,
        listeners: Mapping[Kind, Listener] = MappingProxyType({}),
        name: str = "by hand",
    ) -> None:
        self.clock = FakeClock(database_now(DATABASE))
        options = parts.Options(
            using=DATABASE,
            workers=workers,
            limit=limit,
            drops=drops,
            labels=tuple(labels),
            name=name,
            lockers=lockers,
            elector=elector,
            listeners=listeners,
            lease=LEASE,
            heartbeat=timedelta(seconds=10),
            ahead=ahead,
            poll=timedelta(seconds=1),
            stop_timeout=timedelta(0),
        )
        self.executor = ExecutorByHand(self.clock)
        self.parts = parts.assemble(options, self.clock, self.executor)
        self.memory, self.lease = self.parts.memory, self.parts.lease
        self.recovery = self.parts.recovery
        self.audit = Audit(DATABASE, self.clock, self.lease, self.memory, every=timedelta(seconds=10))
        self.parts.locks.start()
        self.lease.register()

    @property
    def now(self) -> datetime:
        return self.clock.now()

    @property
    def row(self) -> Instance:
        return Instance.objects.get(pk=self.lease.instance_id)

    def go_to(self, moment: datetime) -> HandDriven:
        self.clock.set(moment)
        return self

    def claim(self) -> list[Entry]:
        """Claim what is due within reach; answer everything that is held then."""
        self.parts.loop.claim(self.now)
        return self.held

    @property
    def held(self) -> list[Entry]:
        return self.memory.entries(State.HELD)

    def start(self) -> list[Work]:
        """Start what is due; answer everything that the executor has then."""
        self.parts.timer.start_due(self.now)
        return list(self.executor.submitted)

    def execute(self) -> int:
        """Run what was started; answer how many runs that were."""
        return self.executor.run()

    def finish(self) -> int:
        """Write the results; answer how many were settled."""
        return self.parts.completions.flush()

    def step(self) -> int:
        """Claim what is due now, and bring it to its end; answer how many results were settled."""
        self.claim()
        self.start()
        self.execute()
        return self.finish()

    def expire(self) -> None:
        """As if this instance had died long ago."""
        past = database_now(DATABASE) - timedelta(minutes=1)
        Instance.objects.filter(pk=self.lease.instance_id).update(lease_expires_at=past)


def do_nothing(*args: Any, **kwargs: Any) -> None: ...


def make_job(name: str = "job", task: Any = do_nothing, schedule: Any = Every(hours=1), **values: Any) -> Job:
    """A job as staff makes it, of a task that is registered."""
    return Job.objects.create(name=name, task=registry.register(task).name, schedule=schedule, **values)


def state_of(job: Job) -> JobState:
    return JobState.objects.get(pk=job.pk)


def next_tick(job: Job) -> datetime:
    """The first tick of the job that no run has."""
    tick = state_of(job).next_tick_at
    assert tick is not None
    return tick


def plan_at(job: Job, tick: datetime) -> None:
    """As if the job had been planned long ago, and its first unsettled tick were ``tick``, on the job's grid."""
    assert isinstance(job.schedule, Every)
    anchor = tick - 1000 * job.schedule.interval
    JobState.objects.filter(pk=job.pk).update(
        next_tick_at=tick, next_run_at=tick, anchor_at=anchor, planned_through=None
    )


def runs_of(job: Job, **conditions: Any) -> list[Run]:
    """Its runs, the earliest tick first."""
    return list(Run.objects.filter(job=job, **conditions).order_by("scheduled_for", "pk"))


def statuses(job: Job) -> list[str]:
    """What became of its ticks, the earliest first: status, and reason if there is one."""
    return [f"{run.status}({run.reason})" if run.reason else run.status for run in runs_of(job)]
