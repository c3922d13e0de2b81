"""The hot queries on PostgreSQL: each finds its rows by an index, however many others there are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from django_gocron import registry
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import Status
from tests.handdriven import HandDriven, do_nothing
from tests.integration.planned import DAILY, HOUR, MINUTE, now, record

pytestmark = [pytest.mark.only_on("postgresql"), pytest.mark.django_db]

JOBS = 1500
RUNS_PER_JOB = 5


@pytest.fixture
def _many_rows() -> None:
    """Mostly history and jobs that are not due; what is hot is a handful."""
    task = registry.register(do_nothing).name
    jobs = Job._base_manager.bulk_create([Job(name=f"job {n}", task=task) for n in range(JOBS)])
    later, earlier = now() + 10 * HOUR, now() - MINUTE
    JobState.objects.bulk_create(
        JobState(job=job, next_run_at=earlier if n < 5 else later, planned_version=1)
        for n, job in enumerate(jobs)
    )
    ended = now() - HOUR
    Run.objects.bulk_create(
        Run(
            job=job,
            scheduled_for=ended - n * HOUR,
            status=Status.SUCCEEDED,
            finished_at=ended,
            instance_id=uuid4(),
        )
        for job in jobs
        for n in range(RUNS_PER_JOB)
    )
    for table in ("job", "jobstate", "run", "instance"):
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE gocron_{table}")


def explain(sql: str) -> str:
    """The plan, one step a line. ``sql`` is a statement with its values in it."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(line for (line,) in cursor.fetchall())


def statements(act: Callable[[], object], *, about: str) -> list[str]:
    """What is sent to the database meanwhile, as far as it begins like this or contains it."""
    with CaptureQueriesContext(connection) as queries:
        act()
    return [query["sql"] for query in queries if about in query["sql"]]


def assert_indexed(plan: str, *indexes: str) -> None:
    for index in indexes:
        assert index in plan, plan
    for table in ("gocron_run", "gocron_jobstate"):
        assert f"Seq Scan on {table}" not in plan, plan


def index_of(model: Any, *columns: str) -> str:
    """The index whose columns these are, as the database calls it."""
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, model._meta.db_table)
    (name,) = [
        name for name, found in constraints.items() if found["index"] and found["columns"] == list(columns)
    ]
    return str(name)


@pytest.mark.usefixtures("_many_rows")
def test_a_claim_finds_due_states_by_their_next_run():
    engine = HandDriven()
    for sql in statements(engine.claim, about="next_run_at"):
        if sql.startswith("SELECT") and "<=" in sql:
            assert_indexed(explain(sql), index_of(JobState, "next_run_at"))
            return
    pytest.fail("the claim asked for no due states")


@pytest.mark.usefixtures("_many_rows")
def test_the_next_due_state_is_found_by_its_next_run():
    engine = HandDriven()
    engine.go_to(now() - HOUR)
    found = [sql for sql in statements(engine.claim, about="next_run_at") if "LIMIT 1" in sql]
    for sql in found:
        assert_indexed(explain(sql), index_of(JobState, "next_run_at"))


@pytest.mark.usefixtures("_many_rows")
def test_queued_runs_are_found_by_their_status():
    for job in Job.objects.all()[:3]:
        record(job, now() - MINUTE, status=Status.QUEUED, reason="given_back")
    engine = HandDriven()
    asked = [
        sql
        for sql in statements(engine.claim, about="gocron_run")
        if "'queued'" in sql and sql.startswith("SELECT")
    ]
    assert asked
    for sql in asked:
        assert_indexed(explain(sql), "gocron_run_queued")


@pytest.mark.usefixtures("_many_rows")
def test_live_runs_of_an_instance_are_found_by_the_instance():
    instance = Instance.objects.create(
        name="web-1", started_at=now(), heartbeat_at=now(), lease_expires_at=now() + HOUR
    )
    job = Job.objects.all()[0]
    record(job, now(), status=Status.RUNNING, instance_id=instance.pk)
    live: QuerySet[Any] = Run.objects.filter(
        instance=instance.pk, status__in=(Status.CLAIMED, Status.RUNNING)
    )
    (sql,) = statements(lambda: list(live), about="gocron_run")
    assert_indexed(explain(sql), "gocron_run_live")
    one: QuerySet[Any] = Run.objects.filter(instance=instance.pk, status=Status.CLAIMED)
    (sql,) = statements(lambda: list(one), about="gocron_run")
    assert_indexed(explain(sql), "gocron_run_live")


@pytest.mark.usefixtures("_many_rows")
def test_the_audit_and_the_reaper_go_through_no_history():
    engine = HandDriven()
    for act in (engine.recovery.reap, engine.audit.step):
        for sql in statements(act, about='"gocron_run"'):
            if sql.startswith("SELECT"):
                assert_indexed(explain(sql))


@pytest.mark.usefixtures("_many_rows")
def test_held_locks_are_found_by_their_key():
    held: QuerySet[Any] = Run.objects.filter(held_lock__in=["1", "2"]).values_list("held_lock")
    (sql,) = statements(lambda: list(held), about="held_lock")
    assert_indexed(explain(sql), index_of(Run, "held_lock"))


@pytest.mark.usefixtures("_many_rows")
def test_the_tick_of_a_job_is_found_by_its_unique_key():
    job = Job.objects.all()[0]
    ticks: QuerySet[Any] = Run.objects.filter(job=job, scheduled_for__gt=now())
    (sql,) = statements(lambda: list(ticks), about="gocron_run")
    assert_indexed(explain(sql), "gocron_run_one_per_tick")


@pytest.mark.usefixtures("_many_rows")
def test_an_edit_of_one_job_goes_through_no_other_jobs_rows():
    job = Job.objects.all()[0]
    job.schedule = DAILY
    for sql in statements(job.save, about="gocron_"):
        if sql.startswith(("SELECT", "UPDATE", "DELETE")):
            assert_indexed(explain(sql))


@pytest.mark.usefixtures("_many_rows")
def test_instances_that_are_alive_are_found_without_the_dead():
    Instance.objects.bulk_create(
        Instance(
            name=f"old {n}", started_at=now(), heartbeat_at=now(), lease_expires_at=now(), stopped_at=now()
        )
        for n in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE gocron_instance")
    expired: QuerySet[Any] = Instance.objects.unreaped().filter(
        lease_expires_at__lt=now() + timedelta(seconds=1)
    )
    (sql,) = statements(lambda: list(expired), about="gocron_instance")
    assert "gocron_instance_unreaped" in explain(sql)
