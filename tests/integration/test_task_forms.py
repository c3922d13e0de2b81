"""What tasks are given, and what they may answer: their own run as an argument, and errors as results."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import django_gocron
from django_gocron import Every, RunContext, current_run, registry
from django_gocron.exceptions import ArgumentsError
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of

pytestmark = REAL_TRANSACTIONS


@pytest.fixture(autouse=True)
def _own_registry():
    with registry.isolated(inherit=True):
        yield


def run_once(task: Any, **values: Any) -> Any:
    """The row of one run of the task."""
    job = make_job(task=task, schedule=Every(seconds=10), **values)
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).step()
    [run] = runs_of(job)
    return run


# --- the run as an argument ------------------------------------------------------------------------


def takes_run(run: RunContext, region: str, limit: int = 1) -> dict[str, Any]:
    return {"is_mine": run is current_run(), "region": region, "limit": limit, "timeout": run.timeout.seconds}


def takes_run_of_a_module(run: django_gocron.RunContext, region: str, limit: int = 1) -> dict[str, Any]:
    return takes_run(run, region, limit)


async def takes_run_and_waits(run: RunContext, /, region: str, limit: int = 1) -> dict[str, Any]:
    return takes_run(run, region, limit)


@pytest.mark.parametrize("task", [takes_run, takes_run_of_a_module, takes_run_and_waits])
def test_a_task_that_asks_for_its_run_is_given_it_before_its_arguments(task):
    run = run_once(task, args=["eu"], kwargs={"limit": 2}, timeout=timedelta(seconds=9))
    assert run.result == {"is_mine": True, "region": "eu", "limit": 2, "timeout": 9}


def test_the_run_is_no_argument_that_a_job_has_to_give():
    task = registry.register(takes_run)
    assert list(task.signature.parameters) == ["region", "limit"]
    task.check_arguments(["eu"], {})
    with pytest.raises(ArgumentsError):
        task.check_arguments(["eu", 2, 3], {})


def keyword_only(*, run: RunContext | None = None) -> None: ...


def second(region: str, run: RunContext) -> None: ...


@pytest.mark.parametrize("function", [keyword_only, second])
def test_only_the_first_by_position_counts(function):
    assert not registry.register(function).takes_run


# --- errors as results -----------------------------------------------------------------------------


def returns_an_error() -> Exception:
    return ValueError("not today")


def returns_a_value_and_an_error() -> tuple[int, Exception]:
    return 3, ValueError("not today")


async def awaits_an_error() -> Exception:
    return ValueError("not today")


@pytest.mark.parametrize("task", [returns_an_error, returns_a_value_and_an_error, awaits_an_error])
def test_an_error_that_is_returned_is_a_failure(task):
    run = run_once(task)
    assert (run.status, run.reason) == ("failed", "exception")
    assert (run.error_type, run.error_message, run.result) == ("ValueError", "not today", None)


def returns_a_list_of_errors() -> list[str]:
    return ["ValueError"]


def test_other_results_are_results():
    assert run_once(returns_a_list_of_errors).result == ["ValueError"]
