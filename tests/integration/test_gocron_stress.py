"""Many at once: whoever adds, removes, reads and stops at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django_gocron import Every, events, operations
from django_gocron.models import Job, Run
from django_gocron.scheduler import Scheduler
from tests.elsewhere import elsewhere
from tests.handdriven import REAL_TRANSACTIONS, do_nothing, make_job
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

MANY, ROUNDS = 8, 4


def all_at_once(*works: Callable[[], Any]) -> list[Any]:
    """What each answers, in threads of their own."""
    with ThreadPoolExecutor(len(works)) as pool:
        futures = [pool.submit(elsewhere, work) for work in works]
        return [future.result(PATIENCE) for future in futures]


def come_and_go(number: int) -> None:
    for count in range(ROUNDS):
        operations.add(
            Every(seconds=0.05),
            do_nothing,
            name=f"job {number}.{count}",
            tags=[f"tag-{number}"],
            overlap="skip",
        )
        if count % 2:
            operations.remove(f"job {number}.{count}")
    assert operations.remove_by_tags(f"tag-{number}") == ROUNDS // 2


def test_jobs_are_added_and_removed_by_many_at_once():
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        all_at_once(*[lambda number=number: come_and_go(number) for number in range(MANY)])
        assert not Job.objects.exists()
        operations.add(Every(seconds=0.05), do_nothing, name="afterwards")
        succeeded.wait_for(1, where=lambda event: event.job_name == "afterwards")
    of_others = Run.objects.exclude(job_name="afterwards")
    assert not of_others.exclude(status__in=("succeeded", "skipped")).exists()


def test_readers_are_answered_while_others_write():
    job = make_job(schedule=Every(seconds=0.05))

    def read() -> None:
        for _ in range(ROUNDS):
            assert job.next_run() is not None
            assert [one.name for one in operations.jobs()] == ["job"]
            operations.jobs_waiting_in_queue()
            job.last_run_started_at()

    def write(number: int) -> None:
        for count in range(ROUNDS):
            operations.update("job", priority=number * 10 + count)
            job.run_now()

    with Scheduler():
        all_at_once(*[read] * MANY, *[lambda number=number: write(number) for number in range(2)])
    assert job.runs.filter(origin="manual").count() == 2 * ROUNDS


def test_runs_by_hand_during_a_stop_wait_in_the_queue_or_run():
    job = make_job(schedule=None)
    scheduler = Scheduler()
    scheduler.start()

    def start_runs() -> list[int]:
        return [job.run_now().pk for _ in range(ROUNDS)]

    *started, _report = all_at_once(*[start_runs] * MANY, scheduler.shutdown)
    ids = [pk for several in started for pk in several]
    found = dict(Run.objects.filter(pk__in=ids).values_list("pk", "status"))
    assert len(found) == MANY * ROUNDS
    assert set(found.values()) <= {"queued", "succeeded"}


def test_a_hundred_jobs_come_through_five_places():
    jobs = [make_job(f"job {number}", schedule=None) for number in range(100)]
    for job in jobs:
        job.run_now()
    with Heard(events.RunSucceeded) as succeeded, Scheduler(limit=5):
        succeeded.wait_for(100)
    assert set(Run.objects.values_list("status")) == {("succeeded",)}
