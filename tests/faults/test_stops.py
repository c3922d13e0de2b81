"""Processes that are told to stop, one after another or twice."""

from __future__ import annotations

import signal
from itertools import count

import pytest

from django_gocron import Every
from django_gocron.clock import boottime
from django_gocron.models import Run
from tests.faults import tasks
from tests.faults.checker import BUSY_MACHINE, Evidence, assert_invariants
from tests.faults.fleet import Fleet
from tests.faults.instance import LEASE
from tests.faults.table import Note
from tests.faults.trace import wait_until
from tests.handdriven import REAL_TRANSACTIONS, make_job

pytestmark = REAL_TRANSACTIONS

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.mark.once
def test_b56_each_signal_lets_what_runs_end_and_claims_nothing_more(fleet: Fleet, note: Note):
    file = fleet.folder / "go on"
    for number in SIGNALS:
        job = make_job(
            number.name, task=tasks.wait_for, schedule=Every(seconds=1), label=number.name, args=[str(file)]
        )
        instance = fleet.start(number.name, labels=[job.label], gocron={"STOP_TIMEOUT": 60})
        fleet.trace.wait_for(kind="begin", job=job.pk)
        instance.ask_to_stop(number)
    wait_until(
        lambda: all("stopping" in instance.said for instance in fleet.instances),
        lambda: fleet.instances[0].said,
    )
    running = Run.objects.filter(status="running").count()
    file.touch()
    assert [instance.wait() for instance in fleet.instances] == [0, 0, 0]
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence)
    assert running == len(evidence.said("begin")) == len(evidence.said("end")) == len(SIGNALS)
    note("FI-31 one signal", "drained, nothing more claimed, code 0", "TERM, INT, HUP: 0, 0, 0")


@pytest.mark.once
def test_b56_a_second_signal_stops_at_once(fleet: Fleet, note: Note):
    job = make_job("job", task=tasks.wait_for, schedule=Every(seconds=1), args=[str(fleet.folder / "never")])
    instance = fleet.start("only", gocron={"STOP_TIMEOUT": 600})
    fleet.trace.wait_for(kind="begin", job=job.pk)
    instance.ask_to_stop()
    wait_until(lambda: "stopping" in instance.said, lambda: instance.said)
    asked_at = boottime()
    wait_until(lambda: instance.ask_to_stop() or instance.has_ended)
    took = boottime() - asked_at
    lost = Run.objects.get(job=job, status="lost")
    assert (instance.code, lost.reason, lost.held_lock) == (1, "shutdown", None)
    assert took < LEASE["STOP_TIMEOUT"] * BUSY_MACHINE
    note(
        "FI-31 two signals",
        "ends at once, what runs is lost(shutdown)",
        f"{took:.1f} s, code {instance.code}",
    )


@pytest.mark.once
@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.nightly)])
def test_while_instances_are_replaced_one_by_one_no_tick_is_lost_or_late(
    fleet: Fleet, note: Note, rounds: int
):
    jobs = [make_job(f"job {n}", task=tasks.note, schedule=Every(seconds=1)) for n in range(5)]
    names = count()
    living = [fleet.start(f"release {next(names)}").wait_until_started() for _ in range(3)]
    for _ in range(3 * rounds):
        living.append(fleet.start(f"release {next(names)}").wait_until_started())
        fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + len(jobs), kind="end")
        assert living.pop(0).stop() == 0
    assert [instance.stop() for instance in living] == [0, 0, 0]
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence, bystanders=jobs)
    ended = {run.status for run in evidence.runs} - {"queued"}
    assert "lost" not in ended
    lags = sorted(run.lag.total_seconds() for run in evidence.runs if run.lag is not None)
    note(
        "FI-32",
        "0 lost, 0 twice, p99 < 2 s",
        f"{len(evidence.runs)} rows, p99 {lags[int(len(lags) * 0.99)]:.3f} s",
    )
