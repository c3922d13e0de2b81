"""What bit the users of other schedulers, where jobs run; each test says which report it answers."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.dispatch import receiver
from django.test.utils import CaptureQueriesContext

from django_gocron import Cron, Every, current_run, events, registry
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from django_gocron.signals import run_failed, run_succeeded
from tests.handdriven import DATABASE, HandDriven, make_job, next_tick, runs_of

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 30.0
"""Seconds to wait for what a working engine does in a moment."""

ran: dict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(0))


def note_run() -> None:
    run = current_run()
    assert run is not None
    ran[run.job_name].release()


def take_limit(limit: int) -> None:
    note_run()


TASK = f"{__name__}.note_run"
TASK_WITH_ARGUMENT = f"{__name__}.take_limit"


@pytest.fixture(autouse=True)
def tasks() -> Iterator[None]:
    ran.clear()
    with registry.isolated():
        registry.register(note_run)
        registry.register(take_limit)
        yield


def wait_for_run(name: str, times: int = 1) -> bool:
    return all(ran[name].acquire(timeout=PATIENCE) for _ in range(times))


def test_b14_an_edit_is_taken_up_without_a_restart() -> None:
    """B14"""
    job = Job.objects.create(name="edited", task=TASK, schedule=Cron("0 0 1 1 *"))
    with Scheduler(workers=2):
        job.schedule = Every(seconds=0.2)
        job.save()
        assert wait_for_run("edited", times=2)
        Job.objects.filter(pk=job.pk).update(enabled=False)
        disabled = JobState.objects.get(pk=job.pk)
        assert disabled.next_run_at is None
        assert not Run.objects.filter(job=job, status=Status.CLAIMED).exists()


def test_b14_an_edit_by_sql_is_found_by_the_sweep() -> None:
    """B14"""
    job = Job.objects.create(name="edited by SQL", task=TASK, schedule=Cron("0 0 1 1 *"))
    with Scheduler(workers=2):
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE gocron_job SET schedule = %s WHERE id = %s",
                ['{"kind": "cron", "version": 1, "expression": "* * * * * *"}', job.pk],
            )
        assert wait_for_run("edited by SQL")


def test_b24_a_poisoned_row_stops_nobody_else() -> None:
    """B24"""
    every = Every(seconds=0.5)
    Job.objects.create(name="good 1", task=TASK, schedule=every)
    Job.objects.create(name="bad arguments", task=TASK_WITH_ARGUMENT, schedule=every, kwargs={"limits": 3})
    Job.objects.create(name="gone", task="tests.gone.task", schedule=every)
    Job.objects.create(name="good 2", task=TASK, schedule=every)
    with Scheduler(workers=2):
        assert wait_for_run("good 1", times=2)
        assert wait_for_run("good 2", times=2)
    broken = JobState.objects.get(job__name="bad arguments")
    assert broken.broken_code == "arguments_do_not_fit"
    assert "limits" in broken.broken_text
    assert not Run.objects.filter(job__name__in=["bad arguments", "gone"]).exists()


def test_b48_a_job_that_fails_goes_on() -> None:
    """B48"""
    attempts = threading.Semaphore(0)

    def fail() -> None:
        attempts.release()
        raise RuntimeError("always")

    fail.__qualname__ = "fail"
    task = registry.register(fail)
    Job.objects.create(name="failing", task=task.name, schedule=Every(seconds=0.2))
    with Scheduler(workers=2):
        assert all(attempts.acquire(timeout=PATIENCE) for _ in range(4))
    failed = Run.objects.filter(status=Status.FAILED).order_by("pk")
    assert len(set(failed.values_list("scheduled_for", flat=True))) == failed.count() >= 3


answers: list[BaseException | None] = []


def answer() -> None:
    error = answers.pop(0)
    if error is not None:
        raise error


def test_b58_whoever_wants_a_word_after_some_failures_gets_one_a_streak_and_one_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said: list[str] = []

    @receiver(run_failed)
    def tell_of_failure(event: events.RunFailed, **kwargs: object) -> None:
        if event.failures_in_row == 3:
            said.append(f"{event.job_name} fails")

    @receiver(run_succeeded)
    def tell_of_recovery(event: events.RunSucceeded, **kwargs: object) -> None:
        if event.after_failures >= 3:
            said.append(f"{event.job_name} is well again")

    job = make_job("report", task=answer, schedule=Every(seconds=10))
    answers[:] = [SystemExit(2), *(RuntimeError("no") for _ in range(4)), None, None]
    engine = HandDriven()
    for _ in range(7):
        engine.go_to(next_tick(job)).step()
    assert said == ["report fails", "report is well again"]
    assert [run.status for run in runs_of(job)] == ["failed"] * 5 + ["succeeded"] * 2
    failed = [record for record in caplog.records if record.levelname == "ERROR"]
    assert {record.gocron["job"] for record in failed} == {"report"}  # type: ignore[attr-defined]
    assert all(record.gocron["run"] for record in failed)  # type: ignore[attr-defined]


def test_b60_a_claim_among_many_jobs_takes_few_queries_and_loads_only_what_is_due() -> None:
    task = registry.register(note_run).name
    Job.objects.bulk_create(
        [Job(name=f"job {number}", task=task, schedule=Every(hours=24)) for number in range(2000)]
    )
    tick = database_now(DATABASE) + timedelta(hours=1)
    due = list(Job.objects.order_by("pk").values_list("pk", flat=True)[:10])
    JobState.objects.filter(pk__in=due).update(next_tick_at=tick, next_run_at=tick)
    engine = HandDriven().go_to(tick)
    with CaptureQueriesContext(connection) as captured:
        assert len(engine.claim()) == 10
    rows = [query for query in captured if "gocron_job" in query["sql"]]
    assert len(captured) <= 14
    assert len(rows) <= 12
