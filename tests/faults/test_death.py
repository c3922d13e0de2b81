"""A process dies, or freezes and comes back, at the worst moments."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from django_gocron import Every
from django_gocron.models import Job, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from tests.faults import tasks
from tests.faults.checker import BUSY_MACHINE, Evidence, assert_invariants
from tests.faults.fleet import Fleet, Instance
from tests.faults.instance import LEASE
from tests.faults.table import Note
from tests.faults.trace import wait_until
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, make_job, plan_at, runs_of, state_of

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)

CALM = 1.0
"""Seconds of good renewals before an instance reaps others: less than usual, so that a test is over in seconds."""

TAKE_OVER = LEASE["LEASE"] + 1 * BUSY_MACHINE
"""Seconds from a death to the end of the lease, and a look for it."""


def occupied(fleet: Fleet, name: str = "victim", **values: object) -> tuple[Instance, Job, Path]:
    """An instance that executes a run, which ends when there is a file."""
    file = fleet.folder / "go on"
    job = make_job("long", task=tasks.wait_for, schedule=Every(seconds=1), args=[str(file)], **values)
    victim = fleet.start(name, calm=CALM)
    fleet.trace.wait_for(kind="begin", job=job.pk)
    return victim, job, file


def wait_for_status(job: Job, status: str) -> Run:
    wait_until(lambda: job.runs.filter(status=status).exists(), lambda: f"{status}: {runs_of(job)}")
    return job.runs.filter(status=status).first()


def stop(fleet: Fleet) -> Evidence:
    for instance in fleet.instances:
        instance.ask_to_stop()
    for instance in fleet.instances:
        instance.wait()
    return Evidence.gather(fleet.trace)


def test_a_run_whose_process_is_killed_is_lost_and_the_next_tick_is_normal(fleet: Fleet, note: Note):
    victim, job, file = occupied(fleet)
    fleet.start("survivor", calm=CALM).wait_until_started()
    victim.kill()
    killed_at = database_now(DATABASE)
    file.touch()
    lost = wait_for_status(job, "lost")
    after = (lost.finished_at - killed_at).total_seconds()
    wait_for_status(job, "succeeded")
    evidence = stop(fleet)
    assert_invariants(evidence)
    assert after < TAKE_OVER
    assert [run.attempt for run in runs_of(job, scheduled_for=lost.scheduled_for)] == [1]
    note(
        "FI-01 fail",
        f"lost within lease + reap ({TAKE_OVER:.0f} s), next tick normal",
        f"{after:.1f} s; normal",
    )


@pytest.mark.once
def test_a_lost_run_that_is_to_be_retried_has_one_more_attempt(fleet: Fleet, note: Note):
    victim, job, file = occupied(fleet, on_lost="retry")
    fleet.start("survivor", calm=CALM).wait_until_started()
    victim.kill()
    file.touch()
    lost = wait_for_status(job, "lost")
    wait_until(lambda: job.runs.filter(attempt=2, status="succeeded").exists(), lambda: runs_of(job))
    assert_invariants(stop(fleet))
    attempts = [(run.attempt, run.status) for run in runs_of(job, scheduled_for=lost.scheduled_for)]
    assert sorted(attempts) == [(1, "lost"), (2, "succeeded")]
    note("FI-01 retry", "exactly one more attempt", str(sorted(attempts)))


def test_a_tick_whose_process_is_killed_before_it_began_is_run_by_another_without_counting(
    fleet: Fleet, note: Note
):
    job = make_job("job", task=tasks.note, schedule=Every(hours=1))
    plan_at(job, database_now(DATABASE) + 3 * SECOND)
    victim = fleet.start("victim", barriers="claim.after=kill", calm=CALM)
    victim.wait()
    (claimed,) = runs_of(job, status=Status.CLAIMED)
    fleet.start("survivor", calm=CALM)
    fleet.trace.wait_for(kind="end", tick=claimed.scheduled_for.isoformat())
    assert_invariants(stop(fleet))
    again = [(run.status, run.attempt) for run in runs_of(job, scheduled_for=claimed.scheduled_for)]
    assert again == [("succeeded", 1)]
    assert state_of(job).crashes_in_row == 0
    note("FI-02", "claimed: queued again, same tick, no crash counted", f"{again}, crashes 0")


@pytest.mark.once
def test_a_claim_whose_process_is_killed_before_the_commit_has_never_been(fleet: Fleet, note: Note):
    job = make_job("job", task=tasks.note, schedule=Every(seconds=2))
    fleet.start("victim", barriers="record.after=kill").wait()
    left = Run.objects.count()
    fleet.start("survivor")
    fleet.trace.wait_for(2, kind="end")
    evidence = stop(fleet)
    assert_invariants(evidence, bystanders=[job])
    lag = max(run.lag for run in evidence.runs if run.lag is not None)
    assert left == 0
    note(
        "FI-04",
        "nothing recorded; another fires the tick",
        f"{left} rows; latest start {lag.total_seconds():.3f} s",
    )


@pytest.mark.once
@pytest.mark.parametrize("number", [150, pytest.param(1000, marks=pytest.mark.nightly)])
def test_an_instance_that_dies_just_before_many_ticks_are_due_loses_none_of_them(
    fleet: Fleet, note: Note, number: int
):
    jobs = [make_job(f"job {n}", task=tasks.note, schedule=Every(hours=1)) for n in range(number)]
    victim = fleet.start("victim", barriers="start.after=kill", calm=CALM, workers=50).wait_until_started()
    tick = database_now(DATABASE) + 3 * SECOND
    for job in jobs:
        plan_at(job, tick)
    fleet.trace.wait_for(kind="reach", point="record.after")
    fleet.start("survivor", calm=CALM, workers=50)
    victim.wait()
    ended = Run.objects.filter(scheduled_for=tick, finished_at__isnull=False)
    wait_until(lambda: ended.count() == number, lambda: f"{ended.count()} of {number}")
    evidence = stop(fleet)
    assert_invariants(evidence)
    lost = ended.filter(status="lost").count()
    latest = max(run.lag for run in evidence.runs if run.lag is not None)
    assert {run.status for run in evidence.runs} == {"succeeded", "lost"}
    assert 0 < lost <= 50
    note(
        "FI-05",
        "started ones lost, all others run once",
        f"{lost} lost, {number - lost} run; latest {latest}",
    )


def test_an_instance_that_comes_back_after_its_lease_learns_it_first_and_its_result_is_refused(
    fleet: Fleet, note: Note
):
    victim, job, file = occupied(fleet)
    fleet.start("survivor", calm=CALM).wait_until_started()
    victim.freeze()
    lost = wait_for_status(job, "lost")
    file.touch()
    wait_for_status(job, "succeeded")
    victim.thaw()
    refused = fleet.trace.wait_for(kind="refused", run=lost.pk)[0]
    told = fleet.trace.wait_for(kind="lease lost", instance="victim")[0]
    fleet.trace.wait_for(kind="stale", run=lost.pk)
    evidence = stop(fleet)
    assert_invariants(evidence)
    assert Run.objects.get(pk=lost.pk).status == "lost"
    begun_between = [
        line
        for line in evidence.said("begin")
        if line["pid"] == victim.pid and line["run"] != lost.pk and line["boottime"] < told["boottime"]
    ]
    assert not begun_between
    seen = f"so it is, {refused['boottime'] - told['boottime']:.2f} s after it was told; no token"
    note("FI-06", "lease lost; result and token refused", seen)


@pytest.mark.once
def test_one_instance_frozen_over_many_ticks_runs_once_and_says_how_many_it_passed_over(
    fleet: Fleet, note: Note
):
    job = make_job("job", task=tasks.note, schedule=Every(seconds=0.5))
    single = fleet.start("single", calm=CALM)
    fleet.trace.wait_for(2, kind="end")
    single.freeze()
    frozen_at = database_now(DATABASE)
    wait_until(lambda: database_now(DATABASE) > frozen_at + 5 * SECOND)
    single.thaw()
    wait_for_status(job, "coalesced")
    after = len(fleet.trace.lines(kind="end"))
    fleet.trace.wait_for(after + 2, kind="end")
    evidence = stop(fleet)
    assert_invariants(evidence)
    passed = max(run.count for run in evidence.runs if run.status == "coalesced")
    assert passed >= 6
    note("FI-08", "10 ticks slept through: 1 run, the others in 1 row", f"1 row for {passed}")
