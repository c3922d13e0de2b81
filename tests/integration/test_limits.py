"""The most runs at a time: what becomes of a tick that finds no slot."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_gocron import Every, events
from django_gocron.models.now import database_now
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, make_job, next_tick, plan_at, statuses
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)


def full(jobs: int, **options) -> tuple[HandDriven, list]:
    """An instance with two slots, which meets so many ticks at one instant."""
    made = [make_job(f"job {number}", schedule=Every(seconds=10)) for number in range(jobs)]
    engine = HandDriven(limit=2, **options)
    tick = database_now(DATABASE) + 10 * SECOND
    for job in made:
        plan_at(job, tick)
    engine.go_to(tick).claim()
    engine.start()
    engine.start()
    return engine, made


def counted(jobs: list) -> list[str]:
    return sorted(status for job in jobs for status in statuses(job))


def test_no_more_run_at_a_time_than_the_limit_and_the_others_wait():
    engine, jobs = full(5)
    assert counted(jobs) == ["claimed"] * 3 + ["running"] * 2
    for _ in range(3):
        engine.execute()
        engine.finish()
        engine.start()
    engine.execute()
    engine.finish()
    assert counted(jobs) == ["succeeded"] * 5


def test_ticks_beyond_the_limit_are_skipped_at_their_instant_where_that_is_asked_for():
    with Heard(events.RunSkipped) as heard:
        engine, jobs = full(5, drops=True)
    assert counted(jobs) == ["running"] * 2 + ["skipped(limit)"] * 3
    assert {event.reason for event in heard} == {"limit"}
    assert engine.held == []


@pytest.mark.parametrize("held", [0, 1, 2])
def test_a_full_instance_waits_for_its_next_instant_if_it_holds_any(held: int):
    engine, _jobs = full(2)
    late = [make_job(f"late {number}", schedule=Every(seconds=10)) for number in range(held)]
    for job in late:
        plan_at(job, engine.now + 0.5 * SECOND)
    engine.claim()
    assert len(engine.held) == held
    waits = engine.parts.timer._seconds_to_next(engine.now)
    assert waits == (0.5 if held else 1.0)
    engine.clock.advance(0.6)
    engine.start()
    assert engine.parts.timer._seconds_to_next(engine.now) == 1.0


def test_a_run_by_hand_waits_in_the_queue_although_ticks_are_skipped():
    engine, jobs = full(3, drops=True)
    run = jobs[0].run_now()
    engine.clock.advance(60)
    engine.claim()
    engine.start()
    run.refresh_from_db()
    assert (run.status, run.reason) == ("queued", "manual")


def test_that_a_tick_overlaps_is_decided_at_its_instant_although_no_slot_is_free():
    engine, jobs = full(2)
    plan_at(jobs[0], engine.now + 10 * SECOND)
    engine.clock.advance(10)
    engine.claim()
    engine.start()
    assert "skipped(overlap)" in counted(jobs)


def test_without_a_limit_nothing_is_dropped():
    jobs = [make_job(f"job {number}", schedule=Every(seconds=10)) for number in range(3)]
    engine = HandDriven(workers=2, drops=True).go_to(max(map(next_tick, jobs)))
    engine.claim()
    engine.start()
    engine.start()
    assert "skipped(limit)" not in counted(jobs)
