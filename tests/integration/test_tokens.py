"""Tokens: numbers that grow with the runs of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.db import transaction

from django_gocron import current_run
from django_gocron.exceptions import StaleRunError
from django_gocron.models import Job, Run
from django_gocron.schedules import Every
from tests.elsewhere import elsewhere
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, do_nothing, make_job, next_tick, runs_of, state_of

pytestmark = REAL_TRANSACTIONS

drawn: list[int] = []
before: list[Callable[[], object]] = []


@pytest.fixture(autouse=True)
def _none_drawn() -> Iterator[None]:
    drawn.clear()
    before.clear()
    yield
    before.clear()


def token() -> int:
    run = current_run()
    assert run is not None
    return run.token


def draw() -> None:
    for act in before:
        act()
    drawn.append(token())


def draw_twice() -> None:
    drawn.extend([token(), elsewhere(in_this_run(token))])


def in_this_run(work: Callable[[], int]) -> Callable[[], int]:
    run = current_run()
    assert run is not None
    return lambda: run.token


def draw_and_roll_back() -> None:
    with transaction.atomic():
        drawn.append(token())
        transaction.set_rollback(True)


def at_work(task: Callable[[], None], **values: object) -> tuple[HandDriven, Job]:
    job = make_job(task=task, schedule=Every(seconds=10), **values)
    return HandDriven().go_to(next_tick(job)), job


def step(engine: HandDriven, job: Job) -> Run:
    """Run its next tick; answer the run."""
    engine.go_to(next_tick(job))
    engine.step()
    return runs_of(job)[-1]


def test_a_token_is_greater_than_that_of_the_run_before():
    engine, job = at_work(draw)
    runs = [step(engine, job) for _ in range(3)]
    assert drawn == [1, 2, 3]
    assert [run.status for run in runs] == ["succeeded"] * 3


def test_a_token_is_kept_in_the_row_of_the_run():
    engine, job = at_work(draw)
    run = step(engine, job)
    assert (run.token, state_of(job).token_counter) == (1, 1)


def test_a_run_that_does_not_ask_has_none():
    engine, job = at_work(do_nothing)
    assert step(engine, job).token is None
    assert state_of(job).token_counter == 0


def test_a_run_has_one_token_whoever_of_it_asks():
    engine, job = at_work(draw_twice)
    step(engine, job)
    assert (drawn, state_of(job).token_counter) == ([1, 1], 1)


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_token_outlasts_the_transaction_in_which_it_was_asked_for():
    engine, job = at_work(draw_and_roll_back)
    runs = [step(engine, job) for _ in range(2)]
    assert (drawn, [run.token for run in runs]) == ([1, 2], [1, 2])


def test_a_run_that_was_declared_lost_has_no_token():
    engine, job = at_work(draw)
    before.append(lambda: Run.objects.update(status="lost", held_lock=None))
    step(engine, job)
    assert (drawn, state_of(job).token_counter) == ([], 0)


def test_a_run_that_is_somebody_else_s_now_has_no_token():
    engine, job = at_work(draw)
    before.append(lambda: Run.objects.update(instance=HandDriven(name="other").lease.instance_id))
    step(engine, job)
    assert drawn == []


def test_a_task_that_may_write_nothing_any_more_is_told_so():
    refused: list[str] = []

    def ask() -> None:
        try:
            token()
        except StaleRunError as error:
            refused.append(error.code)

    engine, job = at_work(draw)
    before.append(lambda: Run.objects.update(status="timed_out"))
    before.append(ask)
    step(engine, job)
    assert refused == ["stale_run"]
