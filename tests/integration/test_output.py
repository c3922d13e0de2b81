"""What runs log is kept with them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from django_gocron import events
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Run
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

logger = logging.getLogger("shop.orders")


@pytest.fixture(autouse=True)
def _informed():
    logger.setLevel(logging.INFO)


def import_orders(number: int = 3) -> None:
    for order in range(number):
        logger.info("order %d", order)


def fail_after_a_line(token: str = "") -> None:
    logger.warning("trying with %s", token)
    raise RuntimeError("out of stock")


def log_in_a_thread() -> None:
    logger.info("in a thread")


async def import_orders_later() -> None:
    logger.info("in the loop")
    await sync_to_async(log_in_a_thread)()


def messages(run: Run) -> list[str]:
    return [line.rpartition("  ")[2] for line in run.output.splitlines()]


def run_of(task: Any, **values: Any) -> Run:
    job = make_job(task=task, **values)
    HandDriven().go_to(next_tick(job)).step()
    [run] = runs_of(job)
    return run


def test_the_lines_of_a_run_are_kept_with_it():
    assert messages(run_of(import_orders)) == ["order 0", "order 1", "order 2"]


def test_the_lines_of_a_failed_run_are_kept_without_its_secrets():
    run = run_of(fail_after_a_line, kwargs={"token": "t0p-s3cret"})
    assert run.status == "failed"
    assert messages(run) == ["trying with ********"]


def test_of_many_lines_the_latest_are_kept():
    lines = messages(run_of(import_orders, kwargs={"number": 5_000}))
    assert lines[0].endswith("earlier lines were dropped ...")
    assert lines[-1] == "order 4999"
    assert len(lines) <= 1_001


def test_lines_of_runs_side_by_side_do_not_mix():
    jobs = [
        make_job("orders", task=import_orders, schedule=None),
        make_job("later", task=import_orders_later, schedule=None),
    ]
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        for job in jobs:
            job.run_now()
        succeeded.wait_for(2)
    assert [messages(*runs_of(job)) for job in jobs] == [
        ["order 0", "order 1", "order 2"],
        ["in the loop", "in a thread"],
    ]
