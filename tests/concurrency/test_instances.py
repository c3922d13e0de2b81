"""Two instances, in two processes or on two threads, and one database: every tick once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.db import connections

from django_gocron import Every
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from tests.concurrency.tasks import note_run
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, make_job
from tests.heard import PATIENCE

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)


# --- processes -------------------------------------------------------------------------------------


@contextmanager
def instance(name: str) -> Iterator[subprocess.Popen[str]]:
    """A scheduler in another process; it is ready when the block begins, and has stopped well when it has ended."""
    command = [sys.executable, "-W", "error", "-m", "tests.concurrency.instance", name]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=dict(os.environ)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.stdin.close()
            assert process.wait(PATIENCE) == 0


def wait_until_succeeded(number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while Run.objects.filter(status=Status.SUCCEEDED).count() < number:
        assert time.monotonic() < deadline, Counter(Run.objects.values_list("status", flat=True))
        time.sleep(0.1)


def ticks_of(job: Job) -> list[int]:
    """The seconds since the first of its ticks for which it has rows, each as often as it has."""
    runs = list(job.runs.order_by("scheduled_for"))
    first = runs[0].scheduled_for
    seconds: list[int] = []
    for run in runs:
        since = round((run.scheduled_for - first) / SECOND)
        seconds.extend(range(since, since + run.count))
    return seconds


def test_twenty_jobs_a_second_on_two_processes_leave_no_tick_out_and_run_none_twice():
    jobs = [make_job(f"job {number}", task=note_run, schedule=Every(seconds=1)) for number in range(20)]
    with ExitStack() as stack:
        for name in ("one", "two"):
            stack.enter_context(instance(name))
        wait_until_succeeded(200)
    for job in jobs:
        ticks = ticks_of(job)
        assert ticks == list(range(len(ticks)))
    assert not Run.objects.filter(status__in=(Status.CLAIMED, Status.RUNNING)).exists()
    assert Instance.objects.filter(stopped_at__isnull=True).count() == 0


# --- threads, each an instance that is driven by hand ------------------------------------------------


def side_by_side(*acts):
    """Do the acts at the same time, each on a thread and a connection of its own; answer what they answer."""
    together = threading.Barrier(len(acts))

    def do(act):
        try:
            together.wait(PATIENCE)
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result(PATIENCE) for future in [pool.submit(do, act) for act in acts]]


def plan_all(tick) -> None:
    JobState.objects.update(next_tick_at=tick, next_run_at=tick, anchor_at=tick - timedelta(hours=1))


@pytest.mark.parametrize("overlap", ["skip", "allow"])
def test_two_that_claim_at_once_claim_every_tick_once(overlap):
    for number in range(40):
        make_job(f"job {number}", schedule=Every(seconds=10), overlap=overlap)
    engines = [HandDriven(name=name, workers=50) for name in ("one", "two")]
    for round_ in range(5):
        tick = database_now(DATABASE) + round_ * 10 * SECOND
        plan_all(tick)
        for engine in engines:
            engine.go_to(tick)
        held = side_by_side(*[engine.claim for engine in engines])
        held.append(engines[0].claim())
        ids = {entry.run_id for entries in held for entry in entries}
        claimed = Run.objects.filter(status=Status.CLAIMED)
        assert ids == set(claimed.values_list("pk", flat=True))
        assert claimed.count() == 40
        claimed.update(status=Status.SUCCEEDED)
        for engine in engines:
            engine.memory.forget(engine.memory.entries())


def test_two_that_start_runs_of_the_same_jobs_at_once_never_hold_a_lock_twice():
    jobs = [make_job(f"job {number}", schedule=Every(seconds=10)) for number in range(20)]
    engines = [HandDriven(name=name, workers=50) for name in ("one", "two")]
    started = 0
    for round_ in range(5):
        first = database_now(DATABASE) + round_ * 60 * SECOND
        for number, engine in enumerate(engines):
            plan_all(first + number * 10 * SECOND)
            engine.go_to(first + number * 10 * SECOND).claim()
        for engine in engines:
            engine.go_to(first + 10 * SECOND)
        side_by_side(*[engine.start for engine in engines])
        running = Counter(Run.objects.filter(status=Status.RUNNING).values_list("job_id", flat=True))
        assert set(running.values()) == {1}
        started += len(running)
        for engine in engines:
            engine.execute()
            engine.finish()
            engine.memory.forget(engine.memory.entries())
        Run.objects.exclude(status=Status.SUCCEEDED).delete()
    assert started >= 5 * len(jobs) / 2


def test_of_two_that_reap_the_same_instance_one_recovers_its_runs():
    job = make_job(schedule=Every(seconds=10))
    gone = HandDriven(name="gone").go_to(database_now(DATABASE))
    plan_all(gone.now)
    gone.claim()
    gone.start()
    gone.expire()
    reapers = [HandDriven(name=name) for name in ("one", "two")]
    side_by_side(*[reaper.recovery.reap for reaper in reapers])
    state = JobState.objects.get(pk=job.pk)
    assert (state.outcomes, state.crashes_in_row) == ([["lost", None]], 1)
