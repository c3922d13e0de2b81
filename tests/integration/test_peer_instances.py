"""What bit the users of other schedulers that start several; each test says which report it answers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections

from django_gocron import Every, job, registry
from django_gocron.backends import Backend
from django_gocron.declarations import sync
from django_gocron.models import Job, Lease, Run
from django_gocron.models.now import database_now
from tests.contracts.caches import caching, make_caches
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    statuses,
)
from tests.heard import PATIENCE

pytestmark = REAL_TRANSACTIONS

calls: list[int] = []


def note_call() -> None:
    calls.append(threading.get_ident())


@pytest.fixture(params=["no locker", "django-redis", "Django's Redis"])
def lockers(request: pytest.FixtureRequest, settings: Any) -> Iterator[dict[str, Backend]]:
    """What jobs that name no locker are locked by, besides the ledger."""
    if request.param == "no locker":
        yield {}
        return
    path = "django_gocron.lockers.cache.CacheLocker"
    with caching(**make_caches(request.param)):
        yield {"default": Backend(setting="LOCKERS", path=path, options={"prefix": uuid4().hex})}


@pytest.mark.needs("redis")
def test_b01_of_eight_that_look_at_one_tick_two_hundred_times_one_runs_it(lockers: dict[str, Backend]):
    calls.clear()
    due = make_job(task=note_call, schedule=Every(hours=1))
    tick = database_now(DATABASE) + timedelta(minutes=1)
    plan_at(due, tick)
    engines = [HandDriven(name=f"engine {number}", lockers=lockers).go_to(tick) for number in range(8)]
    together = threading.Barrier(len(engines))

    def look(engine: HandDriven) -> None:
        try:
            together.wait()
            for _ in range(25):
                engine.step()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=look, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in engines:
        engine.parts.locks.stop(PATIENCE)
    assert (len(calls), statuses(due)) == (1, ["succeeded"])


@pytest.mark.parametrize("reloaded", ["", "true"])
def test_b02_loading_the_project_starts_nothing_and_connects_to_nothing(reloaded: str):
    code = """
import threading, django
django.setup()
from django.core import checks
from django.db import connections
checks.run_checks(databases=[])
print([thread.name for thread in threading.enumerate()], [c.alias for c in connections.all() if c.connection])
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "RUN_MAIN": reloaded}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['MainThread'] []"


def a() -> None: ...
def b() -> None: ...
def c() -> None: ...


def test_b03_an_old_and_a_new_release_leave_each_others_jobs_alone():
    old, new = (a, b), (a, c)
    for release in (old, new, old, new):
        with registry.isolated():
            for function in release:
                job(Every(hours=1))(function)
            sync(DATABASE)
    rows = {row.task.rpartition(".")[2]: row for row in Job.objects.all()}
    assert set(rows) == {"a", "b", "c"}
    assert all(row.enabled for row in rows.values())


def test_b04_another_takes_over_and_the_first_one_back_runs_nothing_twice():
    due = make_job(schedule=Every(minutes=1))
    first = HandDriven(name="first").go_to(next_tick(due))
    first.step()
    first.expire()
    second = HandDriven(name="second").go_to(next_tick(due))
    second.recovery.reap()
    second.step()
    back = HandDriven(name="first again").go_to(second.now)
    back.step()
    assert statuses(due) == ["succeeded", "succeeded"]
    assert [run.instance.name for run in runs_of(due)] == ["first", "second"]


def test_b04_a_follower_takes_over_from_a_leader_that_died_and_the_old_leader_doubles_nothing(settings: Any):
    path = "django_gocron.electors.database.DatabaseElector"
    settings.GOCRON = {"ELECTOR": {"BACKEND": path}}
    elector = Backend(setting="ELECTOR", path=path)
    due = make_job(schedule=Every(minutes=1))
    first = HandDriven(name="first", elector=elector).go_to(next_tick(due))
    second = HandDriven(name="second", elector=elector).go_to(next_tick(due))
    first.parts.leadership.campaign()
    second.parts.leadership.campaign()
    first.step()
    Lease.objects.update(expires_at=database_now(DATABASE))  # as when it has died, and its term has run out
    second.parts.leadership.campaign()
    second.go_to(next_tick(due)).step()
    first.parts.leadership.campaign()
    first.go_to(second.now).step()
    assert statuses(due) == ["succeeded", "succeeded"]
    assert [run.instance.name for run in runs_of(due)] == ["first", "second"]


def test_b11_a_long_run_is_protected_by_its_heartbeat_and_lost_without():
    due = make_job(schedule=None)
    due.run_now()
    engine = HandDriven(name="long")
    engine.claim()
    engine.start()
    other = HandDriven(name="other")
    for _ in range(4):
        engine.clock.advance(600)
        engine.parts.heartbeat.beat()
        other.recovery.reap()
    assert statuses(due) == ["running"]
    engine.expire()
    other.recovery.reap()
    assert statuses(due) == ["lost(instance_gone)"]
    assert Run.objects.count() == 1
