"""However a project sets up its connections, no run fails for it and none leaves a connection behind."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from django_gocron import Every, events
from django_gocron.engine.database import unit
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Run
from tests.faults.fleet import Fleet
from tests.faults.tasks import note
from tests.faults.trace import wait_until
from tests.handdriven import REAL_TRANSACTIONS, make_job
from tests.heard import PATIENCE, Heard
from tests.integration.sessions import kill_other_sessions, other_sessions, own_session

pytestmark = REAL_TRANSACTIONS

ON_A_SERVER = pytest.mark.only_on("postgresql", "mariadb")
WORKERS = 3

has_begun = threading.Semaphore(0)
may_end = threading.Semaphore(0)


def tell_session() -> int:
    """Asks the database, says that it has, and waits until it may end."""
    session = own_session()
    has_begun.release()
    assert may_end.acquire(timeout=PATIENCE)
    return session


async def tell_session_later() -> int:
    return await sync_to_async(tell_session)()


@pytest.fixture(autouse=True)
def _with_age(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``age`` of a test's parameters is the project's CONN_MAX_AGE."""
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", getattr(request, "param", 0))
    yield
    connection.close()


def with_age(*ages: int | None) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("_with_age", ages, indirect=True, ids=lambda age: f"CONN_MAX_AGE {age}")


def run_side_by_side(jobs: list[Any], succeeded: Heard) -> set[int]:
    """The sessions that the jobs had, each of which runs once, all at the same time."""
    number = len(succeeded)
    ids = [job.run_now().pk for job in jobs]
    assert all(has_begun.acquire(timeout=PATIENCE) for _ in jobs)
    may_end.release(len(jobs))
    succeeded.wait_for(number + len(jobs))
    return set(Run.objects.filter(pk__in=ids).values_list("result", flat=True))


def make_jobs(task: Any) -> list[Any]:
    return [make_job(f"job {number}", task=task, schedule=None) for number in range(WORKERS)]


# --- persistent connections --------------------------------------------------------------------------


@ON_A_SERVER
@pytest.mark.parametrize("task", [tell_session, tell_session_later])
@with_age(0)
def test_without_persistent_connections_a_run_leaves_none_open(task):
    jobs = make_jobs(task)
    with Heard(events.RunSucceeded) as succeeded, Scheduler(workers=WORKERS):
        sessions = run_side_by_side(jobs, succeeded)
        assert len(sessions) == WORKERS
        wait_until(lambda: not sessions & other_sessions())


@ON_A_SERVER
@with_age(60, None)
def test_with_persistent_connections_each_worker_keeps_its_own():
    jobs = make_jobs(tell_session)
    with Heard(events.RunSucceeded) as succeeded, Scheduler(workers=WORKERS):
        sessions = run_side_by_side(jobs, succeeded)
        assert len(sessions) == WORKERS
        assert run_side_by_side(jobs, succeeded) == sessions


@ON_A_SERVER
@pytest.mark.parametrize("task", [tell_session, tell_session_later])
@with_age(0, 60, None)
def test_a_scheduler_that_has_stopped_leaves_no_connection_open(task):
    before = other_sessions()
    jobs = make_jobs(task)
    with Heard(events.RunSucceeded) as succeeded, Scheduler(workers=WORKERS):
        run_side_by_side(jobs, succeeded)
    wait_until(lambda: not other_sessions() - before, lambda: other_sessions() - before)


# --- connections that break --------------------------------------------------------------------------


@ON_A_SERVER
@with_age(0, None)
def test_b61_sessions_killed_between_ticks_cost_no_tick():
    """B61"""
    job = make_job(task=own_session, schedule=Every(seconds=0.2))
    with Heard(events.RunSucceeded) as heard, Scheduler() as scheduler:
        for number in range(1, 4):
            heard.wait_for(3 * number)
            assert kill_other_sessions()
        heard.wait_for(12)
        assert not scheduler.has_failed
    first, last = job.runs.earliest("scheduled_for"), job.runs.latest("scheduled_for")
    ticks = (last.scheduled_for - first.scheduled_for) / Every(seconds=0.2).interval
    assert sum(job.runs.values_list("count", flat=True)) == round(ticks) + last.count
    assert not job.runs.filter(status__in=("claimed", "running")).exists()


@ON_A_SERVER
@pytest.mark.parametrize("task", [tell_session, tell_session_later])
@with_age(0, None)
def test_b61_sessions_killed_during_a_run_do_not_keep_its_result_or_the_next_run(task):
    """B61"""
    job = make_job(task=task, schedule=None)
    with Heard(events.RunSucceeded, events.RunFailed) as heard, Scheduler():
        first = job.run_now()
        assert has_begun.acquire(timeout=PATIENCE)
        assert kill_other_sessions()
        may_end.release()
        heard.wait_for(1)
        run_side_by_side([job], heard)
    assert {type(event) for event in heard} == {events.RunSucceeded}
    first.refresh_from_db()
    assert first.result != job.runs.latest("pk").result


# --- SQLite in every mode ----------------------------------------------------------------------------


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("mode", ["DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_two_instances_meet_no_locked_database_in_any_mode_of_sqlite(tmp_path, mode, journal):
    for number in range(3):
        make_job(f"job {number}", task=note, schedule=Every(seconds=0.2))
    file = copy_database(tmp_path / "copy.sqlite3", journal)
    options = {"transaction_mode": mode, "init_command": f"PRAGMA journal_mode={journal}"}
    with Fleet(tmp_path) as fleet:
        for name in ("one", "two"):
            fleet.start(name, database={"NAME": str(file), "OPTIONS": options}).wait_until_started()
        fleet.trace.wait_for(45, kind="end")
        assert [instance.stop() for instance in fleet.instances] == [0, 0]
        said = "".join(instance.said for instance in fleet.instances)
        assert not fleet.trace.lines(kind="database lost")
        assert "database is locked" not in said.replace('meets "database is locked"', "")
        began = [(line["job"], line["tick"]) for line in fleet.trace.lines(kind="begin")]
    assert len(began) == len(set(began))
    assert open_runs(file) == 0


def copy_database(file: Path, journal: str) -> Path:
    """What is in the tests' database, in a file of its own."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(file)])
    with closing(sqlite3.connect(file)) as copy:
        assert copy.execute(f"PRAGMA journal_mode={journal}").fetchone() == (journal,)
    return file


def open_runs(file: Path) -> int:
    with closing(sqlite3.connect(file)) as copy:
        query = "SELECT count(*) FROM gocron_run WHERE status IN ('claimed', 'running')"
        return int(copy.execute(query).fetchone()[0])


@pytest.mark.only_on("sqlite")
def test_a_unit_has_the_write_lock_before_its_first_read_whatever_the_transaction_mode(monkeypatch):
    connection.ensure_connection()
    monkeypatch.setattr(connection, "transaction_mode", None)

    def another_wants_to_write() -> None:
        another = sqlite3.connect(connection.settings_dict["NAME"], timeout=0)
        with closing(another), pytest.raises(sqlite3.OperationalError, match="locked"):
            another.execute("BEGIN IMMEDIATE")

    unit(connection.alias, another_wants_to_write)
