"""Clocks that step, sleep, and are put forward and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from django_gocron import Cron, Every
from django_gocron.models import Job, JobState
from django_gocron.schedules import Daily
from tests.faults import tasks
from tests.faults.checker import BUSY_MACHINE, Evidence, assert_invariants
from tests.faults.fleet import Fleet
from tests.faults.table import Note
from tests.handdriven import (
    REAL_TRANSACTIONS,
    HandDriven,
    do_nothing,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    state_of,
    statuses,
)

pytestmark = REAL_TRANSACTIONS

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOON = datetime(2027, 1, 10, 12, tzinfo=UTC)


# --- the clock that counts is set --------------------------------------------------------------------


def at_noon() -> tuple[HandDriven, Job]:
    """A job of every minute, which has just run at noon."""
    job = make_job(schedule=Every(minutes=1))
    plan_at(job, NOON)
    engine = HandDriven().go_to(NOON)
    engine.step()
    assert statuses(job) == ["succeeded"]
    return engine, job


@pytest.mark.parametrize("step", [5 * MINUTE, 2 * HOUR, DAY], ids=str)
def test_what_a_step_forward_passes_over_runs_once(note: Note, step: timedelta):
    engine, job = at_noon()
    engine.go_to(NOON + step).step()
    _first, passed, last = runs_of(job)
    assert (passed.status, passed.count, last.scheduled_for) == ("coalesced", step // MINUTE - 1, NOON + step)
    assert engine.lease.is_trusted
    note(
        f"FI-19 +{step}",
        "missed ticks: 1 run, 1 row; the lease is as long",
        f"1 run, 1 row for {passed.count}",
    )


@pytest.mark.parametrize("step", [5 * MINUTE, 2 * HOUR], ids=str)
def test_after_a_step_back_nothing_runs_again_and_ticks_resume_where_they_were(note: Note, step: timedelta):
    engine, job = at_noon()
    moment = NOON - step
    while moment < NOON + MINUTE:
        engine.go_to(moment).step()
        moment += step / 5
    assert statuses(job) == ["succeeded"]
    engine.go_to(NOON + MINUTE).step()
    assert [run.scheduled_for for run in runs_of(job)] == [NOON, NOON + MINUTE]
    note(f"FI-20 -{step}", "no tick again; resumes when the clock passes", "holds")


def test_a_machine_that_slept_renews_before_it_claims_and_runs_once(note: Note):
    engine, job = at_noon()
    engine.clock.advance(10 * MINUTE)
    assert not engine.lease.is_trusted
    assert engine.claim() == []
    engine.lease.renew()
    engine.step()
    assert [(run.status, run.count) for run in runs_of(job)][1:] == [("coalesced", 9), ("succeeded", 1)]
    note("FI-41", "slept over 10 ticks: nothing before a renewal, then 1 run + 9", "holds")


# --- the host's clock is set -------------------------------------------------------------------------


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_step_of_the_hosts_clock_does_nothing(fleet: Fleet, note: Note):
    """SQLite's clock is the host's: there a step is one of the clock that counts."""
    host_clock = fleet.folder / "host clock"
    host_clock.write_text("0")
    job = make_job("job", task=tasks.note, schedule=Every(seconds=0.5))
    only = fleet.start("only", host_clock=str(host_clock))
    for step in ("0", "7200", "-7200"):
        host_clock.write_text(step)
        fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + 4, kind="end")
    assert only.stop() == 0
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence, bystanders=[job])
    walls = [line["wall"] for line in evidence.said("end")]
    assert max(walls) - min(walls) > 14000
    passed_over = sum(run.count for run in evidence.runs if run.status in ("coalesced", "missed"))
    assert passed_over < 4 * BUSY_MACHINE
    note("FI-19, FI-20 host", "2 h forward, 2 h back: no tick missed or again", f"{len(walls)} runs on time")


# --- wall clocks are put forward and back ------------------------------------------------------------


def ticks_between(job: Job, start: datetime, end: datetime) -> Iterator[datetime]:
    """Bring the job to each of its ticks in turn, and have it run."""
    engine = HandDriven()
    while (tick := next_tick(job)) < end:
        engine.go_to(tick).step()
    yield from (run.scheduled_for for run in runs_of(job, status="succeeded", scheduled_for__gte=start))


def local_day(zone: str, day: str) -> tuple[datetime, datetime]:
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    end = (datetime.fromisoformat(day) + DAY).replace(tzinfo=ZoneInfo(zone))
    return start.astimezone(UTC), end.astimezone(UTC)


def ran_on(expression: str, zone: str, day: str) -> list[str]:
    start, end = local_day(zone, day)
    job = make_job(schedule=Cron(expression), timezone=zone, starts_at=start)
    return [f"{tick:%H:%M}" for tick in ticks_between(job, start, end)]


@pytest.mark.parametrize(
    ("zone", "day", "expression", "first_after_the_gap"),
    [
        ("Europe/Bucharest", "2027-03-28", "30 3 * * *", "01:00"),
        ("America/New_York", "2027-03-14", "30 2 * * *", "07:00"),
        ("Australia/Lord_Howe", "2027-10-03", "15 2 * * *", "15:30"),
        ("America/Santiago", "2027-09-05", "30 0 * * *", "04:00"),
    ],
)
def test_a_fixed_time_that_the_clock_skips_runs_once_after_the_gap(
    note: Note, zone: str, day: str, expression: str, first_after_the_gap: str
):
    ran = ran_on(expression, zone, day)
    assert ran == [first_after_the_gap]
    note(f"FI-22 {zone}", "fixed: once, at the first instant after the gap", f"{ran[0]} UTC")


@pytest.mark.once
def test_a_cadence_is_unbroken_where_the_clock_is_put_forward(note: Note):
    ran = ran_on("0 * * * *", "Europe/Bucharest", "2027-03-28")
    assert len(ran) == 23
    note("FI-22 cadence", "every hour of the 23", f"{len(ran)} runs")


@pytest.mark.parametrize(
    ("zone", "day", "expression", "number"),
    [
        ("Europe/Bucharest", "2027-10-31", "30 3 * * *", 1),
        ("Europe/Bucharest", "2027-10-31", "0 * * * *", 25),
        ("America/New_York", "2027-11-07", "0 1 * * *", 1),
        ("Australia/Lord_Howe", "2027-04-04", "45 1 * * *", 1),
        ("America/Santiago", "2027-04-03", "30 23 * * *", 1),
    ],
)
def test_where_the_clock_is_put_back_a_fixed_time_runs_once_and_a_cadence_goes_on(
    note: Note, zone: str, day: str, expression: str, number: int
):
    ran = ran_on(expression, zone, day)
    assert len(ran) == number
    note(f"FI-23 {zone} {expression}", f"{number} runs that day", f"{len(ran)}, the first {ran[0]} UTC")


def test_a_plan_made_under_older_rules_of_a_time_zone_is_made_anew_at_the_start(note: Note):
    job = make_job(task=do_nothing, schedule=Daily(at="09:00"), timezone="Europe/Bucharest")
    right = next_tick(job)
    JobState.objects.update(next_tick_at=right + HOUR, next_run_at=right + HOUR)
    engine = HandDriven()
    engine.parts.sweep.start()
    engine.parts.sweep.step()
    assert next_tick(job) == right
    assert statuses(job) == []
    note("FI-24", "the next run is computed anew at the start, none is fired", f"{state_of(job).next_run_at}")
