"""Between the scheduler and PostgreSQL stands something that shares connections: PgBouncer, psycopg's own pool."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from django_gocron import Every, events
from django_gocron.engine.scheduler import Scheduler
from django_gocron.engine.wakeup import Listener
from django_gocron.models import Job, Run
from tests.elsewhere import elsewhere
from tests.faults.checker import Evidence, assert_invariants
from tests.faults.fleet import Fleet
from tests.faults.tasks import note
from tests.faults.trace import wait_until
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, make_job
from tests.heard import PATIENCE, Heard
from tests.services import find_service
from tests.services.pgbouncer import PgBouncer

pytestmark = [REAL_TRANSACTIONS, pytest.mark.only_on("postgresql")]

NEEDS_PGBOUNCER = pytest.mark.needs("pgbouncer")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path) as fleet:
        yield fleet


def ticks_of(job: Job) -> list[int]:
    """The seconds since the first of its ticks for which it has rows, each as often as it has."""
    runs = list(job.runs.order_by("scheduled_for"))
    starts = [round((run.scheduled_for - runs[0].scheduled_for) / timedelta(seconds=1)) for run in runs]
    return [
        second for start, run in zip(starts, runs, strict=True) for second in range(start, start + run.count)
    ]


def assert_without_gaps(job: Job) -> None:
    ticks = ticks_of(job)
    assert ticks == list(range(len(ticks)))


# --- PgBouncer, transaction by transaction -----------------------------------------------------------


@pytest.fixture
def pgbouncer(tmp_path: Path) -> Iterator[PgBouncer]:
    program, server = find_service("pgbouncer").location, find_service("postgresql").location
    with PgBouncer(program, server, tmp_path) as pooler:
        yield pooler


def behind(pooler: PgBouncer) -> dict[str, Any]:
    return {"HOST": "127.0.0.1", "PORT": pooler.port, "DISABLE_SERVER_SIDE_CURSORS": True}


@pytest.fixture
def through_pgbouncer(pgbouncer: PgBouncer, monkeypatch: pytest.MonkeyPatch) -> Iterator[PgBouncer]:
    """This process, too, goes through it."""
    connection.close()
    for name, value in behind(pgbouncer).items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    yield pgbouncer
    connection.close()


@NEEDS_PGBOUNCER
def test_b70_two_instances_behind_pgbouncer_run_every_tick_once(fleet, pgbouncer):
    """B70"""
    jobs = [make_job(f"job {number}", task=note, schedule=Every(seconds=1)) for number in range(5)]
    for name in ("one", "two"):
        fleet.start(name, database=behind(pgbouncer)).wait_until_started()
    fleet.trace.wait_for(30, kind="end")
    assert [instance.stop() for instance in fleet.instances] == [0, 0]
    assert not fleet.trace.lines(kind="database lost")
    assert_invariants(Evidence.gather(fleet.trace))
    for job in jobs:
        assert_without_gaps(job)


@NEEDS_PGBOUNCER
def test_b70_what_is_asked_for_directly_is_found_behind_pgbouncer_by_polling(through_pgbouncer):
    """B70"""
    job = make_job(schedule=None)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        job.run_now()
        succeeded.wait_for(1)
        elsewhere(lambda: Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=0.2)))
        succeeded.wait_for(3)


@NEEDS_PGBOUNCER
def test_b70_the_listener_notices_that_it_hears_nothing_and_says_so_once(through_pgbouncer, caplog):
    """B70"""
    caplog.set_level(logging.INFO, "django_gocron")
    listener = Listener(DATABASE, lambda: None)
    listener.start()
    listener.join(10)
    listener.stop()
    assert caplog.messages == ["This database hears no notifications: edits are found by polling."]


@NEEDS_PGBOUNCER
def test_b70_limits_that_a_unit_sets_do_not_leak_to_other_clients(through_pgbouncer):
    """B70"""
    make_job(schedule=Every(seconds=0.1))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        succeeded.wait_for(5)
    for _ in range(10):
        elsewhere(assert_no_limits)


def assert_no_limits() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')"
        )
        assert cursor.fetchone() == ("0", "0")


@NEEDS_PGBOUNCER
def test_b61_an_outage_is_waited_for_and_its_ticks_are_accounted_for(fleet, pgbouncer):
    """B61"""
    job = make_job(task=note, schedule=Every(seconds=1))
    instance = fleet.start("one", database=behind(pgbouncer)).wait_until_started()
    fleet.trace.wait_for(2, kind="end")
    pgbouncer.stop()
    fleet.trace.wait_for(1, kind="database lost")
    lost_at = Run.objects.latest("pk").scheduled_for
    wait_until(lambda: is_past(lost_at + timedelta(seconds=6)))
    assert not instance.has_ended, instance.said
    pgbouncer.start()
    fleet.trace.wait_for(1, kind="database recovered")
    wait_until(lambda: Run.objects.filter(scheduled_for__gt=lost_at, status="succeeded").count() >= 3)
    assert instance.stop() == 0, instance.said
    assert_without_gaps(job)
    assert Counter(job.runs.values_list("status", flat=True))["coalesced"] >= 1


def is_past(moment: Any) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp() > %s", [moment])
        return bool(cursor.fetchone()[0])


# --- psycopg's pool ----------------------------------------------------------------------------------

WORKERS = 4


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The connections of this process come from a pool that is just large enough; answers the pool."""
    pytest.importorskip("psycopg_pool")
    connection.close()
    with ExitStack() as stack:
        monkeypatch.setitem(
            connection.settings_dict["OPTIONS"],
            "pool",
            {"min_size": 1, "max_size": WORKERS + 4, "timeout": 10},
        )
        stack.callback(connection.close_pool)
        stack.callback(connection.close)
        yield connection.pool
    monkeypatch.undo()


def count_jobs() -> int:
    return Job.objects.count()


async def count_jobs_later() -> int:
    return await Job.objects.acount() + await sync_to_async(count_jobs)()


@pytest.mark.parametrize("task", [count_jobs, count_jobs_later])
def test_after_two_hundred_runs_every_connection_is_back_in_the_pool(pooled, task):
    for number in range(WORKERS):
        make_job(f"job {number}", task=task, schedule=Every(seconds=0.05))
    with (
        Heard(events.RunSucceeded, events.RunFailed, events.DatabaseLost) as heard,
        Scheduler(workers=WORKERS),
    ):
        heard.wait_for(200, where=lambda event: isinstance(event, events.RunSucceeded))
    assert {type(event) for event in heard} == {events.RunSucceeded}
    connection.close()
    pooled.wait(PATIENCE)
    stats = pooled.get_stats()
    assert stats["pool_available"] == stats["pool_size"]
    assert stats.get("requests_errors", 0) == 0
