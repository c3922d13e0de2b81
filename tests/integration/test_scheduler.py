"""A scheduler with its threads, on the clock of this machine."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from django_gocron import Every, OneTime, events
from django_gocron.engine.scheduler import Scheduler, StopRequest
from django_gocron.engine.sweeping import Sweep
from django_gocron.exceptions import NotReadyError, OperationError
from django_gocron.models import Instance, Job, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from tests.elsewhere import elsewhere
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, do_nothing, make_job, plan_at, runs_of, statuses
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

ON_A_SERVER = pytest.mark.only_on("postgresql", "mariadb")


@pytest.fixture(autouse=True)
def _quick(settings):
    settings.GOCRON = {"POLL_INTERVAL": 0.1, "HEARTBEAT": 0.2, "LEASE": 30, "MAX_WORKERS": 4}


def count_jobs() -> int:
    return Job.objects.count()


async def count_jobs_later() -> int:
    return await Job.objects.acount() + await sync_to_async(count_jobs)()


def test_runs_jobs_on_schedule_for_as_long_as_the_block_lasts():
    job = make_job(task=count_jobs, schedule=Every(seconds=0.2))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        succeeded.wait_for(5)
    runs = [run for run in runs_of(job) if run.status == "succeeded"]
    assert {run.result for run in runs} == {1}
    assert all(run.started_at >= run.scheduled_for for run in runs if run.started_at)
    gaps = {later.scheduled_for - run.scheduled_for for run, later in zip(runs, runs[1:], strict=False)}
    assert min(gaps) == timedelta(seconds=0.2)
    assert not Run.objects.filter(status__in=(Status.CLAIMED, Status.RUNNING)).exists()


def test_no_tick_is_left_out_between_the_first_and_the_last():
    job = make_job(schedule=Every(seconds=0.2))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        succeeded.wait_for(10)
    ticks = sorted(tick for run in runs_of(job) for tick in (run.scheduled_for, run.window_end) if tick)
    accounted = sum(run.count for run in runs_of(job))
    assert accounted == (ticks[-1] - ticks[0]) / timedelta(seconds=0.2) + 1


def test_runs_a_job_by_hand_at_once():
    job = make_job(schedule=None)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        run = job.run_now(by="Ada")
        assert succeeded.wait_for(1)[0].run_id == run.pk
    run.refresh_from_db()
    assert (run.status, run.requested_by) == ("succeeded", "Ada")


def test_runs_coroutines_with_the_database():
    job = make_job(task=count_jobs_later, schedule=None)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        job.run_now()
        succeeded.wait_for(1)
    assert runs_of(job)[0].result == 2


def test_an_edit_takes_effect_without_a_restart():
    job = make_job(schedule=Every(hours=1))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=0.2))
        succeeded.wait_for(2)
        Job.objects.filter(pk=job.pk).update(enabled=False)
        with Heard(events.RunStarted) as started:
            other = make_job("other", schedule=Every(seconds=0.2))
            started.wait_for(3, where=lambda event: event.job_id == other.pk)
    last = max(run.scheduled_for for run in runs_of(job))
    assert all(event.job_id == other.pk for event in started if event.scheduled_for > last)


def test_a_job_that_came_by_sql_runs_without_a_restart():
    make_job("known", schedule=None)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        elsewhere(insert_past_django)
        succeeded.wait_for(1, where=lambda event: event.job_name == "by SQL")


def insert_past_django() -> None:
    """The same row as the known job's, with a schedule."""
    columns = [field.column for field in Job._meta.concrete_fields if not field.primary_key]
    replaced = {"name": "'by SQL'", "identifier": "%s", "schedule": "%s"}
    values = ", ".join(replaced.get(column, _quoted(column)) for column in columns)
    names = ", ".join(map(_quoted, columns))
    identifier = Job._meta.get_field("identifier").get_db_prep_value("0" * 31 + "1", connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO gocron_job ({names}) SELECT {values} FROM gocron_job",
            [identifier, '{"kind": "every", "version": 1, "interval": 0.2}'],
        )


def _quoted(column: str) -> str:
    return connection.ops.quote_name(column)


def test_only_its_labels_are_served():
    plain, labelled = make_job("plain", schedule=None), make_job("labelled", schedule=None, label="gpu")
    with Heard(events.RunSucceeded) as succeeded:
        with Scheduler():
            for job in (labelled, plain):
                job.run_now()
            succeeded.wait_for(1)
        assert statuses(labelled) == ["queued(manual)"]
        with Scheduler(labels=["gpu"]):
            succeeded.wait_for(2)
    assert statuses(labelled) == ["succeeded"]


# --- starting --------------------------------------------------------------------------------------


def test_a_scheduler_that_runs_is_not_started_twice(caplog):
    with Heard(events.SchedulerStarted) as started, Scheduler() as scheduler:
        scheduler.start()
    assert len(started) == 1
    assert "runs already" in caplog.text


def test_a_scheduler_that_has_been_shut_down_does_not_start_again():
    with Scheduler() as scheduler:
        pass
    with pytest.raises(OperationError) as caught:
        scheduler.start()
    assert caught.value.code == "shut_down"


def test_a_scheduler_that_was_not_started_has_nothing_to_shut_down():
    scheduler = Scheduler()
    assert scheduler.shutdown().abandoned == 0
    with pytest.raises(OperationError):
        scheduler.start()


def test_before_migrate_it_says_what_to_do():
    with patch.object(connection.introspection, "table_names", return_value=["gocron_job"]):
        with pytest.raises(NotReadyError, match="Run `python manage.py migrate` first") as caught:
            Scheduler().start()
    assert caught.value.code == "tables_missing"
    assert Instance.objects.count() == 0


def test_the_start_is_told_with_the_instance():
    with Heard(events.SchedulerStarted) as heard, Scheduler(name="left"):
        instance = Instance.objects.get(name="left")
    assert [(event.instance, event.name) for event in heard] == [(instance.pk, "left")]


def test_a_request_in_its_row_stops_it():
    with Scheduler() as scheduler:
        assert not scheduler.wait(0)
        elsewhere(lambda: Instance.objects.update(stop_requested_at=database_now(DATABASE)))
        assert scheduler.wait(PATIENCE)


# --- what is due, and no more ----------------------------------------------------------------------


def test_runs_what_is_due_and_comes_to_an_end():
    now = database_now(DATABASE)
    due, later = make_job("due", schedule=Every(seconds=10)), make_job("later", schedule=Every(hours=1))
    plan_at(due, now - timedelta(seconds=1))
    queued = make_job("queued", schedule=None)
    queued.run_now()
    scheduler = Scheduler(ahead=timedelta(0))
    scheduler.start(loop=False)
    scheduler.run_due()
    scheduler.shutdown()
    assert (statuses(due), statuses(queued), statuses(later)) == (["succeeded"], ["succeeded"], [])


# --- faults ----------------------------------------------------------------------------------------


def test_a_fault_of_ours_in_one_pass_is_logged_and_the_next_goes_on(caplog):
    job = make_job(schedule=None)
    step, faults = Sweep.step, iter(range(2))

    def faulty(self: Sweep) -> None:
        if threading.current_thread().name == "gocron-loop" and next(faults, None) is not None:
            raise RuntimeError("a slip")
        step(self)

    with patch.object(Sweep, "step", faulty), Heard(events.RunSucceeded) as succeeded, Scheduler():
        job.run_now()
        succeeded.wait_for(1)
    assert caplog.text.count("The loop met an error and goes on. Please report it.") == 2


def kill_all_connections() -> int:
    """Every connection to this database but the one that asks; answers how many."""
    kill, sessions = {
        "postgresql": (
            "SELECT pg_terminate_backend(%s)",
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        ),
        "mysql": (
            "KILL %s",
            "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
        ),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(sessions)
        found = [row[0] for row in cursor.fetchall()]
        for session in found:
            cursor.execute(kill, [session])
    return len(found)


@ON_A_SERVER
def test_jobs_go_on_after_every_connection_was_killed():
    make_job(task=count_jobs, schedule=Every(seconds=0.2))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        for number in range(1, 4):
            succeeded.wait_for(2 * number)
            assert kill_all_connections() >= 3
        succeeded.wait_for(10)
    assert set(Run.objects.values_list("status", flat=True)) <= {
        "succeeded",
        "queued",
        "failed",
        "skipped",
        "coalesced",
    }


during_run = threading.Event()
after_kill = threading.Event()


def wait_for_the_kill() -> str:
    during_run.set()
    assert after_kill.wait(PATIENCE)
    return "survived"


@ON_A_SERVER
def test_a_run_during_which_every_connection_was_killed_keeps_its_result():
    job = make_job(task=wait_for_the_kill, schedule=None)
    during_run.clear()
    after_kill.clear()
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        job.run_now()
        assert during_run.wait(PATIENCE)
        kill_all_connections()
        after_kill.set()
        succeeded.wait_for(1)
    assert runs_of(job)[0].result == "survived"


@ON_A_SERVER
def test_no_connection_is_left_open():
    def others() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                {
                    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()",
                    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE()",
                }[connection.vendor]
            )
            number: int = cursor.fetchone()[0]
        return number

    jobs = [make_job(task=count_jobs, schedule=None), make_job("async", task=count_jobs_later, schedule=None)]
    before = others()
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        for job in jobs:
            job.run_now()
        succeeded.wait_for(2)
        assert others() > before
    assert others() == before


# --- several ---------------------------------------------------------------------------------------


def test_two_schedulers_run_every_tick_once():
    jobs = [make_job(f"job {number}", schedule=Every(seconds=0.5)) for number in range(5)]
    with Heard(events.RunSucceeded) as succeeded, Scheduler(name="one"), Scheduler(name="two"):
        succeeded.wait_for(30)
    ticks = Run.objects.values_list("job_id", "scheduled_for")
    assert len(ticks) == len(set(ticks))
    assert len({event.run_id for event in succeeded}) == len(succeeded)
    assert {run.job_id for run in Run.objects.filter(status=Status.SUCCEEDED)} == {job.pk for job in jobs}


def test_a_one_off_runs_once_although_two_schedulers_see_it():
    job = make_job(schedule=OneTime(database_now(DATABASE) + timedelta(seconds=1)))
    with Heard(events.RunSucceeded) as succeeded, Scheduler(name="one"), Scheduler(name="two"):
        succeeded.wait_for(1)
    assert statuses(job) == ["succeeded"]


def receive(seen: list[Any]) -> Any:
    def note(event: events.Event) -> None:
        seen.append(event)
        raise RuntimeError("a receiver of somebody's")

    return note


def test_receivers_of_events_that_fail_disturb_no_run(caplog):
    seen: list[Any] = []
    note = receive(seen)
    job = make_job(task=do_nothing, schedule=None)
    events.subscribe(note)
    try:
        with Heard(events.RunSucceeded) as succeeded, Scheduler():
            job.run_now()
            succeeded.wait_for(1)
    finally:
        events.unsubscribe(note)
    assert {events.RunStarted, events.RunSucceeded} <= {type(event) for event in seen}
    assert "A receiver of events failed on RunSucceeded" in caplog.text


def test_a_stop_can_be_asked_for_by_whoever_interrupts_the_waiting_for_it():
    """As a signal handler does: in the waiting thread itself."""
    asked = StopRequest()
    asked.set()
    assert asked.wait(0)
    assert asked.wait(0)
    assert asked.is_set()
