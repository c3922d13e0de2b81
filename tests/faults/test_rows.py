"""What is in the database, or cannot be written to it, or has vanished from it."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from django_gocron import Every
from django_gocron.engine.database import DATABASE_ERRORS
from django_gocron.models import Job, JobState, Run
from django_gocron.models.now import database_now
from tests.concurrency.test_instances import side_by_side
from tests.elsewhere import elsewhere, open_transaction
from tests.faults.checker import Evidence, assert_invariants
from tests.faults.table import Note
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

pytestmark = REAL_TRANSACTIONS

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def soon() -> Any:
    return database_now(DATABASE) + MINUTE


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


# --- FI-11: the last commits are gone ----------------------------------------------------------------


def test_commits_that_a_fail_over_has_lost_are_made_again_and_nothing_else(note: Note):
    job = make_job(schedule=Every(seconds=1))
    tick = soon()
    plan_at(job, tick)
    engine = HandDriven().go_to(tick)
    engine.step()
    state, rows = JobState.objects.get(pk=job.pk), list(Run.objects.all())
    engine.go_to(tick + SECOND).step()
    engine.go_to(tick + 2 * SECOND).claim()
    engine.start()
    Run.objects.all().delete()
    Run.objects.bulk_create(rows)
    state.save()
    engine.execute()
    engine.finish()
    for second in range(1, 5):
        engine.audit.requeue_unknown()
        for _ in range(3):
            engine.go_to(tick + second * SECOND).step()
    ended = [run for run in runs_of(job) if run.scheduled_for <= tick + 4 * SECOND]
    assert [run.scheduled_for for run in ended] == [tick + second * SECOND for second in range(5)]
    assert {run.status for run in ended} <= {"succeeded", "coalesced"}, statuses(job)
    engine.parts.memory.forget(engine.held)
    Run.objects.filter(status="claimed").update(status="queued")
    assert_invariants(Evidence.gather())
    note("FI-11", "lost window may run again, then as ever", "2 s lost: every tick in one row")


# --- FI-16: the disk is full -------------------------------------------------------------------------


@contextmanager
def full_disk() -> Iterator[None]:
    """What a server says when it cannot extend the table of runs: raised by a trigger, since a file system cannot be
    filled here. SQLite says it itself, when its file may not grow."""
    if connection.vendor == "sqlite":
        with _full_sqlite():
            yield
        return
    fill, empty = FULL[connection.vendor]
    execute(*fill)
    try:
        yield
    finally:
        execute(*empty)


@contextmanager
def _full_sqlite() -> Iterator[None]:
    """Every connection is told anew, since the engine makes another one after an error."""
    execute("VACUUM")
    with connection.cursor() as cursor:
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
    options = connection.settings_dict["OPTIONS"]
    limit = f"{options['init_command']} PRAGMA max_page_count = {pages};"
    connection.close()
    with patch.dict(options, init_command=limit):
        yield
    connection.close()


FULL = {
    "postgresql": (
        [
            "CREATE FUNCTION gocron_full() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$",
            "CREATE TRIGGER gocron_full BEFORE INSERT OR UPDATE ON gocron_run EXECUTE FUNCTION gocron_full()",
        ],
        ["DROP TRIGGER gocron_full ON gocron_run", "DROP FUNCTION gocron_full()"],
    ),
    "mysql": (
        [
            f"CREATE TRIGGER gocron_full_{name} BEFORE {name} ON gocron_run FOR EACH ROW"
            " SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, MESSAGE_TEXT = 'Disk full'"
            for name in ("insert", "update")
        ],
        [f"DROP TRIGGER gocron_full_{name}" for name in ("insert", "update")],
    ),
}


def test_with_a_full_disk_nothing_is_begun_and_afterwards_all_goes_on(note: Note):
    jobs = [make_job(f"job {n}", schedule=Every(hours=1), args=["x" * 3000]) for n in range(20)]
    tick = soon()
    for job in jobs:
        plan_at(job, tick)
    engine = HandDriven(workers=30).go_to(tick)
    with full_disk():
        with pytest.raises(DATABASE_ERRORS):
            engine.claim()
        assert engine.start() == []
    engine.step()
    assert [statuses(job) for job in jobs] == [["succeeded"]] * len(jobs)
    note("FI-16 database", "no user code without a recorded claim; then on", "holds")


@pytest.mark.only_on("postgresql", "mariadb")
def test_with_a_full_disk_no_start_is_written_so_nothing_is_begun(note: Note):
    job = make_job(schedule=Every(hours=1))
    tick = soon()
    plan_at(job, tick)
    engine = HandDriven().go_to(tick)
    engine.claim()
    with full_disk():
        with pytest.raises(DATABASE_ERRORS):
            engine.start()
        assert engine.executor.submitted == []
    engine.start()
    engine.execute()
    engine.finish()
    assert statuses(job) == ["succeeded"]
    note("FI-16 start", "no user code without a recorded start; then on", "holds")


def test_a_log_that_cannot_be_written_stops_no_job(note: Note, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    handler = logging.FileHandler("/dev/full", delay=True)
    logger = logging.getLogger("django_gocron")
    logger.addHandler(handler)
    try:
        job = make_job(schedule=Every(hours=1))
        plan_at(job, soon())
        HandDriven().go_to(next_tick(job)).step()
        logger.error("There is no room for this.")
    finally:
        logger.removeHandler(handler)
        with suppress(OSError):
            handler.close()
    assert statuses(job) == ["succeeded"]
    note("FI-16 log", "jobs run; log lines are dropped (no counter of them)", "holds")


# --- FI-25, FI-26: very many are due -----------------------------------------------------------------


MOST_QUERIES = 60
"""Of a claim of hundreds: on SQLite Django splits what has more than 999 parameters, elsewhere a dozen do."""


def make_jobs(number: int) -> list[Job]:
    task = make_job("first", schedule=Every(hours=1)).task
    Job.objects.bulk_create(
        [Job(name=f"job {n}", task=task, schedule=Every(hours=1)) for n in range(1, number)]
    )
    return list(Job.objects.all())


def test_many_jobs_due_at_once_are_claimed_by_two_in_a_number_of_queries_that_does_not_grow(note: Note):
    number = 500
    make_jobs(number)
    tick = soon()
    JobState.objects.update(next_tick_at=tick, next_run_at=tick, anchor_at=tick - timedelta(hours=1))
    engines = [HandDriven(name=name, workers=2).go_to(tick) for name in ("one", "two")]
    queries, claims = [], []
    while Run.objects.count() < number:
        for engine in engines:
            with CaptureQueriesContext(connection) as captured:
                entries = engine.claim()
            if entries:
                queries.append(len(captured))
                claims.append(len(entries))
            engine.memory.forget(engine.memory.entries())
    assert sum(claims) == number
    assert Run.objects.values("job").distinct().count() == number
    assert max(queries) <= MOST_QUERIES
    note(
        "FI-25",
        "all claimed, none twice, few queries",
        f"{number} in {len(claims)} claims, <= {max(queries)} queries",
    )


def test_a_backlog_is_claimed_oldest_first_and_no_more_of_it_is_held_than_there_is_room_for(note: Note):
    jobs = make_jobs(200)
    tick = soon()
    for place, job in enumerate(jobs):
        job.state.next_tick_at = job.state.next_run_at = tick + place * timedelta(milliseconds=1)
        job.state.anchor_at = job.state.next_tick_at - timedelta(hours=1)
    JobState.objects.bulk_update([job.state for job in jobs], ["next_tick_at", "next_run_at", "anchor_at"])
    engine = HandDriven(workers=1).go_to(tick + 10 * MINUTE)
    held = engine.claim()
    assert [entry.job_id for entry in held] == [job.pk for job in jobs[: len(held)]]
    assert 0 < len(held) < len(jobs)
    note("FI-26", "oldest first, memory bounded", f"{len(held)} of {len(jobs)} held")


# --- FI-33, FI-35: rows that this process cannot run -------------------------------------------------


def test_a_task_that_this_process_does_not_know_is_left_for_one_that_does(note: Note):
    known, unknown = make_job("known", schedule=Every(hours=1)), make_job("new", schedule=Every(hours=1))
    Job.objects.filter(pk=unknown.pk).update(task="shop.jobs.only_in_the_next_release")
    tick = soon()
    for job in (known, unknown):
        plan_at(job, tick)
    HandDriven().go_to(tick).step()
    assert (statuses(known), statuses(unknown)) == (["succeeded"], [])
    assert next_tick(unknown) == tick
    note("FI-33 new job", "an old process never claims it", "its tick waits")


@pytest.mark.only_on("postgresql")
def test_while_a_migration_holds_a_table_a_result_waits_no_longer_than_it_says(note: Note):
    job = make_job(schedule=Every(hours=1))
    plan_at(job, soon())
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    engine.execute()
    with open_transaction(lambda: execute("LOCK TABLE gocron_run IN ACCESS EXCLUSIVE MODE")):
        with patch("django_gocron.engine.database.ATTEMPTS", 1):
            with pytest.raises(OperationalError, match="lock timeout"):
                engine.finish()
    engine.finish()
    assert statuses(job) == ["succeeded"]
    note("FI-33 migration", "a result waits 1 s for the lock, and is kept", "holds")


CORRUPT = {
    "schedule": '{"kind": "cron", "version": 1, "expression": "61 * * * *"}',
    "timezone": "Mars/Olympus",
    "args": '{"an": "object"}',
    "kwargs": '"text"',
    "task": "shop.jobs.missing",
}


def test_rows_that_are_corrupt_stop_no_other(note: Note):
    jobs = make_jobs(100)
    tick = soon()
    JobState.objects.update(next_tick_at=tick, next_run_at=tick, anchor_at=tick - timedelta(hours=1))
    corrupt = dict(zip(CORRUPT, jobs, strict=False))
    for column, job in corrupt.items():
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE gocron_job SET {column} = %s WHERE id = %s", [CORRUPT[column], job.pk])
    HandDriven(workers=200).go_to(tick).step()
    others = [job for job in jobs if job not in corrupt.values()]
    assert [statuses(job) for job in others] == [["succeeded"]] * len(others)
    ended = {
        column: (statuses(job), JobState.objects.get(pk=job.pk).broken_code)
        for column, job in corrupt.items()
    }
    assert ended["schedule"][1]
    assert ended["timezone"][1]
    assert ended["args"] == ended["kwargs"] == ([], "arguments_not_json")
    assert ended["task"] == ([], "")
    note("FI-35", "each says so itself; the others run on time", f"{len(corrupt)} corrupt, {len(others)} ran")


# --- FI-36, FI-38: nothing but the database keeps two apart ------------------------------------------


def an_hour_of(engines: list[HandDriven], jobs: list[Job], minutes: int) -> None:
    tick = soon()
    for job in jobs:
        plan_at(job, tick)
    for minute in range(minutes):
        for engine in engines:
            engine.go_to(tick + minute * MINUTE)
        side_by_side(*[engine.step for engine in engines])


def two_of_one_mind(note: Note, fault: str, minutes: int = 15) -> None:
    jobs = [make_job(f"job {n}", schedule=Every(minutes=1)) for n in range(3)]
    engines = [HandDriven(name=name) for name in ("one", "two")]
    an_hour_of(engines, jobs, minutes)
    for engine in engines:
        engine.step()
    evidence = Evidence.gather()
    assert_invariants(evidence)
    assert sum(run.count for run in evidence.runs) == minutes * len(jobs)
    note(fault, f"{minutes} minutes, 2 that both claim: I1 to I3", f"hold, {len(evidence.runs)} rows")


@pytest.mark.parametrize("minutes", [15, pytest.param(60, marks=pytest.mark.nightly)])
def test_two_that_both_take_themselves_for_the_leader_double_nothing(note: Note, minutes: int):
    two_of_one_mind(note, "FI-36", minutes)


@pytest.mark.only_on("mariadb")
def test_without_skip_locked_two_double_nothing(note: Note):
    features = type(connection.features)
    with patch.object(features, "has_select_for_update_skip_locked", False):
        two_of_one_mind(note, "FI-38 no SKIP LOCKED")


@pytest.mark.only_on("mariadb")
def test_under_repeatable_read_two_double_nothing(note: Note):
    """The connections of tests are no engine threads', which would ask for another level."""
    connection.close()
    with patch.dict(connection.settings_dict["OPTIONS"], isolation_level="repeatable read"):
        two_of_one_mind(note, "FI-38 REPEATABLE READ")
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@tx_isolation")
            assert cursor.fetchone() == ("REPEATABLE-READ",)
    connection.close()


DEADLOCK = {
    "postgresql": lambda: OperationalError("deadlock detected"),
    "mysql": lambda: OperationalError(1213, "Deadlock found when trying to get lock"),
    "sqlite": lambda: OperationalError("database is locked"),
}


class ManyDeadlocks:
    """Lets every fifth write or so end in a deadlock."""

    def __init__(self) -> None:
        self.deadlocks = 0
        self._chance = random.Random(5)

    def __call__(self, run: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("UPDATE", "INSERT")) and "gocron" in sql and self._chance.random() < 0.2:
            self.deadlocks += 1
            raise DEADLOCK[connection.vendor]()
        return run(sql, params, many, context)


def test_writes_that_end_in_deadlocks_are_made_again(note: Note):
    jobs = [make_job(f"job {n}", schedule=Every(minutes=1)) for n in range(3)]
    tick = soon()
    for job in jobs:
        plan_at(job, tick)
    engine = HandDriven()
    injected = ManyDeadlocks()
    with connection.execute_wrapper(injected):
        for minute in range(10):
            engine.go_to(tick + minute * MINUTE)
            for act in (engine.claim, engine.start, engine.execute, engine.finish):
                _insist(act)
    assert injected.deadlocks >= 10
    assert_invariants(Evidence.gather())
    assert [statuses(job) for job in jobs] == [["succeeded"] * 10] * 3
    note(
        "FI-38 deadlocks", "every fifth write: again, nothing lost", f"{injected.deadlocks} deadlocks; holds"
    )


def _insist(act: Callable[[], Any]) -> None:
    """As an engine's thread does."""
    for _ in range(20):
        try:
            act()
            return
        except OperationalError:
            continue
    raise AssertionError("twenty times in vain")


# --- FI-39: an old snapshot ---------------------------------------------------------------------------


@pytest.mark.only_on("postgresql")
@pytest.mark.nightly
def test_an_old_snapshot_makes_claims_read_little_more(note: Note):
    """Counted in buffers that the claim's query touches, since time says little on a busy machine."""
    job = make_job(schedule=Every(seconds=1))
    tick = soon()
    plan_at(job, tick)
    engine = HandDriven()

    def look() -> None:
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM gocron_run")

    touched = []
    with open_transaction(look):
        for second in range(1800):
            engine.go_to(tick + second * SECOND).step()
            if second in (100, 1799):
                touched.append(elsewhere(_buffers_of_a_claim))
    note("FI-39", "30 min of ticks beside an old snapshot: < 2x", f"{touched[0]} -> {touched[1]} buffers")
    assert touched[1] < 2 * touched[0] + 20


def _buffers_of_a_claim() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT job_id FROM gocron_jobstate"
            " WHERE next_run_at <= clock_timestamp() + interval '1 day' ORDER BY next_run_at LIMIT 50"
        )
        plan = cursor.fetchone()[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
