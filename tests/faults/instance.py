"""``manage.py runscheduler`` in a process of its own, on the tests' database: ``run`` is what it does.

It is forked by a server that has loaded Django already, which takes a tenth of the time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django comes first
from django.core.management import call_command  # noqa: E402
from django.test import override_settings  # noqa: E402

from django_gocron import (  # noqa: E402
    clock,
    events,
    registry,
)
from django_gocron.engine import barriers  # noqa: E402
from django_gocron.engine import heartbeat as heartbeats  # noqa: E402
from tests.contracts.caches import django_redis  # noqa: E402
from tests.faults.tasks import TASKS  # noqa: E402

LEASE = {"LEASE": 3, "HEARTBEAT": 1, "STOP_TIMEOUT": 5, "SYNC_ON_MIGRATE": False}
"""A tenth of what is usual, so that a lease that runs out is not long to wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a process is started with. ``database`` overrides entries of the default alias, ``calm`` the seconds of
    good renewals after which it reaps others. ``host_clock`` is a file with the seconds by which its host's wall clock
    is wrong. ``redis`` is the URL of the server that keeps the cache ``default``."""

    name: str
    trace: str
    output: str
    labels: list[str] = field(default_factory=list)
    barriers: str = ""
    workers: int = 10
    gocron: Mapping[str, Any] = field(default_factory=dict)
    database: Mapping[str, Any] = field(default_factory=dict)
    calm: float | None = None
    redis: str = ""
    host_clock: str = ""
    traces_points: bool = True

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def run(text: str) -> None:
    """Be an instance until told to stop; exits as the command does."""
    plan = Plan(**json.loads(text))
    _redirect(plan.output)
    override_settings(GOCRON={**LEASE, **plan.gocron}).enable()
    settings.DATABASES["default"].update(plan.database)
    if plan.redis:
        override_settings(CACHES={"default": django_redis(plan.redis)}).enable()
    os.environ["GOCRON_TRACE"] = plan.trace
    barriers.arm({"GOCRON_TRACE": plan.trace if plan.traces_points else "", "GOCRON_BARRIERS": plan.barriers})
    if plan.calm is not None:
        heartbeats.CALM = plan.calm
    if plan.host_clock:
        _set_host_clock(Path(plan.host_clock))
    for task in TASKS:
        registry.register(task)
    events.subscribe(_note_events(plan))
    labels = [argument for label in plan.labels for argument in ("--label", label)]
    call_command("runscheduler", "--workers", str(plan.workers), "--instance-name", plan.name, *labels)
    barriers.append(plan.trace, kind="stopped", instance=plan.name)


def _redirect(path: str) -> None:
    """What it says goes into a file, for whoever wonders why a test failed."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in (1, 2):
        os.dup2(file, number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)


def _set_host_clock(file: Path) -> None:
    """The file is read at each look, so that the clock can be set at any time. Clocks since boot are left alone, as
    they are when somebody, or NTP, sets the wall clock."""
    clock.host_now = lambda: datetime.now(UTC) + timedelta(seconds=float(file.read_text()))


def _note_events(plan: Plan) -> Any:
    """Those that tell of the instance rather than of a run."""
    told = {
        events.SchedulerStarted: "started",
        events.LeaseLost: "lease lost",
        events.ResultRefused: "refused",
        events.LeadershipGained: "leads",
        events.LeadershipLost: "leads no more",
        events.LockLost: "lock lost",
        events.DatabaseLost: "database lost",
        events.DatabaseRecovered: "database recovered",
    }

    def note(event: events.Event) -> None:
        if kind := told.get(type(event)):
            barriers.append(plan.trace, kind=kind, instance=plan.name, run=getattr(event, "run_id", None))

    return note
