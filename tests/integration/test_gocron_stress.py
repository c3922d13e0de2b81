"""Many at once: whoever adds, removes, reads and stops at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from django_gocron import Every, current_run, events, operations
from django_gocron.models import Job, Run
from django_gocron.scheduler import Scheduler
from tests.elsewhere import elsewhere
from tests.handdriven import REAL_TRANSACTIONS, do_nothing, make_job
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

MANY, ROUNDS, READERS = 8, 4, 20


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
        all_at_once(*[read] * READERS, *[lambda number=number: write(number) for number in range(2)])
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


go_on = threading.Event()


@pytest.fixture
def held():
    """Tasks that look at whether they are to end, until the test lets them go."""
    go_on.clear()
    yield go_on
    go_on.set()


def look() -> None:
    run = current_run()
    assert run is not None
    while not go_on.wait(0.01):
        run.raise_if_cancelled()


def all_running(names: list[str], heard: Heard) -> None:
    heard.wait_for(len(names), where=lambda event: isinstance(event, events.RunStarted))
    assert Run.objects.filter(status="running").count() == len(names)


@pytest.mark.parametrize("by_tag", [False, True], ids=["one by one", "by their tag"])
def test_jobs_are_removed_while_they_run_and_the_scheduler_goes_on(held, by_tag):
    names = [f"job {number}" for number in range(MANY)]
    for name in names:
        make_job(name, task=look, schedule=None, tags=["many"]).run_now()
    with Heard(events.RunStarted, events.RunSucceeded) as heard, Scheduler(workers=MANY):
        all_running(names, heard)
        if by_tag:
            assert sum(all_at_once(*[lambda: operations.remove_by_tags("many")] * 2)) >= MANY
        else:
            all_at_once(*[lambda name=name: operations.remove(name) for name in names])
        assert operations.jobs() == []
        held.set()
        make_job("afterwards", schedule=None).run_now()
        heard.wait_for(MANY + 1, where=lambda event: isinstance(event, events.RunSucceeded))
    assert set(Run.objects.values_list("status")) == {("succeeded",)}


def test_jobs_are_changed_while_they_run_and_every_run_comes_to_its_end(held):
    names = [f"job {number}" for number in range(MANY)]
    for name in names:
        make_job(name, task=look, schedule=None).run_now()

    def change(name: str) -> None:
        for hours in range(1, ROUNDS + 1):
            operations.update(name, schedule=Every(hours=hours), tags=[f"t{hours}"])

    with Heard(events.RunStarted, events.RunSucceeded) as heard, Scheduler(workers=MANY):
        all_running(names, heard)
        all_at_once(*[lambda name=name: change(name) for name in names])
        held.set()
        heard.wait_for(MANY, where=lambda event: isinstance(event, events.RunSucceeded))
    assert {(job.schedule, job.tags[0], job.next_run() is None) for job in Job.objects.all()} == {
        (Every(hours=ROUNDS), f"t{ROUNDS}", False)
    }
    assert set(Run.objects.values_list("status")) == {("succeeded",)}


@pytest.mark.parametrize("cycles", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_scheduler_is_started_and_stopped_time_and_again_and_then_works(cycles):
    threads = threading.active_count()
    scheduler = Scheduler(limit=2)
    for _ in range(cycles):
        scheduler.start()
        scheduler.stop_jobs()
    job = make_job(schedule=None)
    with Heard(events.RunSucceeded) as succeeded, scheduler:
        job.run_now()
        succeeded.wait_for(1)
    scheduler.shutdown()
    assert threading.active_count() <= threads


class Gauge:
    """How many are inside at a time, and how many there have been at most."""

    def __init__(self) -> None:
        self.lock, self.inside, self.most, self.all = threading.Lock(), 0, 0, 0

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            self.all += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1


gauge = Gauge()


def measure() -> None:
    with gauge:
        threading.Event().wait(0.02)


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_a_job_that_everybody_starts_at_once_runs_one_at_a_time(monkeypatch, overlap):
    monkeypatch.setattr(f"{__name__}.gauge", Gauge())
    job = make_job(task=measure, schedule=Every(seconds=1), overlap=overlap)

    def start_runs() -> None:
        for _ in range(ROUNDS):
            job.run_now()

    with Heard(events.RunSucceeded) as succeeded, Scheduler(workers=20), Scheduler(workers=20):
        all_at_once(*[start_runs] * MANY)
        by_hand = set(job.runs.filter(origin="manual").values_list("pk", flat=True))
        succeeded.wait_for(MANY * ROUNDS, where=lambda event: event.run_id in by_hand)
    assert gauge.most == 1
    assert len(by_hand) == MANY * ROUNDS
    assert gauge.all == job.runs.filter(status="succeeded").count()


@pytest.mark.parametrize(("number", "limit"), [(100, 5), (200, 10)])
def test_a_limit_that_is_saturated_is_kept_and_nothing_is_lost(monkeypatch, number, limit):
    monkeypatch.setattr(f"{__name__}.gauge", Gauge())
    for n in range(number):
        make_job(f"job {n}", task=measure, schedule=None).run_now()
    with Heard(events.RunSucceeded) as succeeded, Scheduler(limit=limit, workers=limit * 2):
        succeeded.wait_for(number)
    assert gauge.all == number == Run.objects.filter(status="succeeded").count()
    assert 1 < gauge.most <= limit
