"""Ticks that were claimed and have waited: given back, recovered, and asked about again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_gocron import Every, OneTime, events
from django_gocron.models import Job, Run
from django_gocron.models.now import database_now
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def abandoned(job: Job, ticks: int = 1) -> HandDriven:
    """An instance that died holding so many claimed ticks of the job, which have been recovered since; answer another,
    at the instant of the last of them."""
    gone = HandDriven(name="gone", ahead=(ticks - 1) * MINUTE + SECOND).go_to(next_tick(job))
    assert len(gone.claim()) == ticks
    gone.expire()
    engine = HandDriven().go_to(gone.now + (ticks - 1) * MINUTE)
    engine.recovery.reap()
    return engine


def test_a_tick_recovered_in_time_runs_in_its_own_row():
    job = make_job(schedule=Every(minutes=1))
    engine = abandoned(job)
    [row] = runs_of(job)
    engine.step()
    assert [(run.pk, run.status) for run in runs_of(job)] == [(row.pk, "succeeded")]


def test_a_single_tick_recovered_late_runs_late():
    job = make_job(schedule=Every(minutes=1))
    engine = abandoned(job)
    tick = runs_of(job)[0].scheduled_for
    engine.clock.advance(10)
    engine.step()
    assert [(run.scheduled_for, run.status) for run in runs_of(job)] == [(tick, "succeeded")]


def test_fi08_ticks_recovered_late_and_ticks_missed_since_become_one_run_and_one_row():
    job = make_job(schedule=Every(minutes=1))
    engine = abandoned(job, ticks=2)
    engine.clock.advance(4 * 60 + 5)
    with Heard(events.TicksCoalesced) as heard:
        engine.step()
    assert [(run.status, run.count) for run in runs_of(job)] == [("coalesced", 5), ("succeeded", 1)]
    assert [event.count for event in heard] == [5]


def test_ticks_that_are_all_to_run_run_oldest_first():
    job = make_job(schedule=Every(minutes=1), misfire="run_all")
    engine = abandoned(job, ticks=3)
    engine.clock.advance(10)
    for _ in range(6):
        engine.step()
    assert statuses(job) == ["succeeded"] * 3
    began = [run.started_at for run in runs_of(job)]
    assert began == sorted(began)


def test_ticks_later_than_the_grace_are_missed():
    job = make_job(schedule=Every(minutes=1), misfire="skip", misfire_grace=90 * SECOND)
    engine = abandoned(job, ticks=3)
    engine.clock.advance(10)
    for _ in range(3):
        engine.step()
    rows = [(run.status, run.reason, run.count) for run in runs_of(job)]
    assert rows[0] == ("missed", "grace", 1)
    assert {row[0] for row in rows[1:]} <= {"succeeded", "skipped"}


def test_a_tick_before_one_that_has_run_is_coalesced():
    job = make_job(schedule=Every(minutes=1))
    engine = abandoned(job, ticks=3)
    *_, last = runs_of(job)
    Run.objects.filter(pk=last.pk).update(status="succeeded", reason="")
    engine.clock.advance(5)
    with Heard(events.TicksCoalesced) as heard:
        engine.step()
    assert statuses(job) == ["coalesced", "coalesced", "succeeded"]
    assert [event.count for event in heard] == [2]


def test_of_ticks_before_one_that_was_passed_over_the_latest_runs():
    job = make_job(schedule=Every(minutes=1))
    engine = abandoned(job, ticks=3)
    *_, last = runs_of(job)
    Run.objects.filter(pk=last.pk).update(status="skipped", reason="overlap")
    engine.clock.advance(5)
    engine.step()
    assert statuses(job) == ["coalesced", "succeeded", "skipped(overlap)"]


def test_where_all_are_to_run_a_tick_before_one_that_has_run_runs_late_in_its_own_row():
    job = make_job(schedule=Every(minutes=1), misfire="run_all")
    engine = abandoned(job, ticks=2)
    first, second = runs_of(job)
    Run.objects.filter(pk=second.pk).update(status="succeeded", reason="")
    engine.clock.advance(5)
    engine.step()
    assert [(run.pk, run.status) for run in runs_of(job)] == [
        (first.pk, "succeeded"),
        (second.pk, "succeeded"),
    ]


def test_of_ticks_before_one_that_has_run_those_later_than_the_grace_are_missed():
    job = make_job(schedule=Every(minutes=1), misfire="skip", misfire_grace=65 * SECOND)
    engine = abandoned(job, ticks=3)
    *_, last = runs_of(job)
    Run.objects.filter(pk=last.pk).update(status="succeeded", reason="")
    engine.clock.advance(3)
    engine.step()
    assert statuses(job) == ["missed(grace)", "succeeded", "succeeded"]


def test_a_job_that_was_finished_by_a_tick_that_then_waited_is_planned_again():
    tick = database_now(DATABASE) + MINUTE
    job = make_job(schedule=OneTime(tick))
    gone = HandDriven(name="gone").go_to(tick)
    gone.claim()
    assert state_of(job).finished_at is not None
    gone.expire()
    engine = HandDriven().go_to(gone.now)
    engine.recovery.reap()
    engine.clock.advance(5)
    engine.step()
    assert statuses(job) == ["succeeded"]
    assert state_of(job).finished_at is not None


def test_a_late_tick_of_a_broken_job_stays_and_runs():
    job = make_job(schedule=Every(minutes=1))
    engine = abandoned(job)
    type(state_of(job)).objects.filter(pk=job.pk).update(broken_code="x", next_run_at=None, next_tick_at=None)
    engine.clock.advance(5)
    engine.step()
    assert statuses(job) == ["succeeded"]


def test_what_has_not_started_a_second_after_its_instant_is_given_back():
    jobs = [make_job(f"job {number}", schedule=Every(minutes=1)) for number in range(3)]
    engine = HandDriven(workers=1)
    tick = engine.now + MINUTE
    for job in jobs:
        plan_at(job, tick)
    engine.go_to(tick).claim()
    assert len(engine.start()) == 1
    engine.clock.advance(0.9)
    engine.parts.loop._give_back_late(engine.now)
    assert len(engine.held) == 2
    engine.clock.advance(0.2)
    engine.parts.loop._give_back_late(engine.now)
    assert engine.held == []
    assert sorted(status for job in jobs for status in statuses(job)) == ["running"]
    assert sorted(state_of(job).next_tick_at == tick for job in jobs) == [False, True, True]


def test_what_was_given_back_and_cannot_be_planned_again_waits_in_the_queue():
    job = make_job(schedule=Every(minutes=1), misfire="run_all")
    engine = HandDriven(ahead=MINUTE + SECOND).go_to(next_tick(job))
    _first, second = engine.claim()
    engine.memory.forget([second])
    Run.objects.filter(pk=second.run_id).update(status="succeeded")
    engine.clock.advance(1.1)
    engine.parts.loop._give_back_late(engine.now)
    assert statuses(job) == ["queued(given_back)", "succeeded"]


def test_what_was_claimed_late_has_its_second_too():
    job = make_job(schedule=Every(minutes=1))
    engine = HandDriven()
    plan_at(job, engine.now - 30 * SECOND)
    engine.claim()
    engine.parts.loop._give_back_late(engine.now)
    assert len(engine.held) == 1


@pytest.mark.parametrize("how_late", [0, 3])
def test_another_instance_has_what_was_given_back(how_late: float):
    job = make_job(schedule=Every(minutes=1))
    engine = HandDriven(workers=1).go_to(next_tick(job))
    engine.claim()
    engine.clock.advance(1.1)
    engine.parts.loop._give_back_late(engine.now)
    other = HandDriven(name="other").go_to(engine.now)
    other.clock.advance(how_late)
    assert other.step() == 1
    assert statuses(job) == ["succeeded"]


def test_a_tick_whose_row_has_been_pruned_is_not_planned_again():
    job = make_job(schedule=Every(minutes=1), misfire="run_all")
    engine = abandoned(job, ticks=2)
    first, second = runs_of(job)
    second.delete()
    engine.clock.advance(5)
    engine.step()
    engine.step()
    assert [(run.pk, run.status) for run in runs_of(job)] == [(first.pk, "succeeded")]
