"""Ticks that are caught up with run one after the other, though they were claimed together."""

from __future__ import annotations

from datetime import timedelta

from django_gocron import Every
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, plan_at, statuses

pytestmark = REAL_TRANSACTIONS


def test_ticks_that_are_caught_up_with_wait_for_each_other():
    job = make_job(schedule=Every(minutes=1), misfire="run_all")
    engine = HandDriven()
    plan_at(job, next_tick(job) - timedelta(minutes=4))
    engine.claim()
    for _ in range(10):
        engine.start()
        engine.execute()
        engine.finish()
    assert statuses(job) == ["succeeded"] * 4
