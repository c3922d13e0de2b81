"""Cancelling a run: in time, it does not begin; later, its code is asked to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from django_gocron import current_run, events
from django_gocron.engine.memory import State
from django_gocron.engine.requeueing import give_back
from django_gocron.exceptions import OperationError
from django_gocron.models import Job, Run
from django_gocron.models.choices import LIVE, Status
from django_gocron.schedules import Every
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of, state_of, statuses
from tests.heard import Heard
from tests.integration.planned import run_coroutine

pytestmark = REAL_TRANSACTIONS

inside: list[Callable[[], object]] = []
begun: list[bool] = []


@pytest.fixture(autouse=True)
def _nothing_inside() -> Iterator[None]:
    inside.clear()
    begun.clear()
    yield
    inside.clear()


def do_inside() -> str:
    begun.append(True)
    for act in inside:
        act()
    return "done"


def planned(**values: Any) -> tuple[Job, HandDriven]:
    job = make_job(task=do_inside, **{"schedule": Every(seconds=10), **values})
    return job, HandDriven().go_to(next_tick(job))


def by_hand() -> Job:
    return make_job(task=do_inside, schedule=None)


def only_run(job: Job) -> Run:
    [run] = runs_of(job)
    return run


def execute(engine: HandDriven, *acts: Callable[[], object]) -> None:
    inside.extend(acts)
    engine.step()


# What has not begun


def test_a_queued_run_is_cancelled_at_once():
    job, engine = by_hand(), HandDriven()
    run = job.run_now(by="bert")
    assert run.cancel(by="anna") == "cancelled"
    assert (run.status, run.reason, run.error_message) == ("cancelled", "by_user", "Cancelled by anna.")
    assert run.requested_by == "bert"
    assert run.finished_at is not None
    engine.step()
    assert begun == []


def test_a_claimed_run_is_cancelled_at_once_and_does_not_begin():
    job, engine = planned()
    engine.claim()
    assert only_run(job).cancel() == "cancelled"
    engine.start()
    assert (engine.execute(), begun, engine.memory.count()) == (0, [], 0)
    assert statuses(job) == ["cancelled(by_user)"]


def test_a_run_of_a_job_that_is_gone_can_be_cancelled():
    job = by_hand()
    run = job.run_now()
    Run.objects.update(job=None)
    run.refresh_from_db()
    assert run.cancel() == "cancelled"


def test_an_event_tells_of_it():
    job = by_hand()
    run = job.run_now()
    with Heard(events.RunCancelled) as heard:
        run.cancel()
    assert [(event.run_id, event.reason) for event in heard] == [(run.pk, "by_user")]


def test_it_is_no_failure_and_no_run():
    job, engine = planned()
    engine.claim()
    only_run(job).cancel()
    state = state_of(job)
    assert (state.failures_in_row, state.run_count, state.outcomes) == (0, 0, [["cancelled", None]])


def test_a_job_that_counts_from_completion_goes_on():
    job, engine = planned(interval_from_completion=True)
    engine.claim()
    assert state_of(job).next_run_at is None
    run = only_run(job)
    run.cancel()
    assert run.finished_at is not None
    assert next_tick(job) == run.finished_at + timedelta(seconds=10)


def test_the_schedule_of_other_jobs_stays():
    job, engine = planned()
    engine.claim()
    before = state_of(job).next_run_at
    only_run(job).cancel()
    assert state_of(job).next_run_at == before


@pytest.mark.parametrize("status", [status for status in Status if status not in LIVE])
def test_a_run_that_has_ended_cannot_be_cancelled(status):
    job = by_hand()
    run = job.run_now()
    Run.objects.update(status=status)
    with pytest.raises(OperationError) as error:
        run.cancel()
    assert error.value.code == "not_live"
    assert only_run(job).status == status


def test_it_can_be_awaited():
    job = by_hand()
    assert run_coroutine(job.run_now().acancel()) == "cancelled"


# What executes


def cancel_only_run(job: Job, engine: HandDriven) -> Callable[[], object]:
    """The request, and the moment at which the instance learns of it."""

    def cancel() -> None:
        assert only_run(job).cancel(by="anna") == "requested"
        engine.parts.cancel_requests.look()

    return cancel


def raise_if_cancelled() -> None:
    run = current_run()
    assert run is not None
    run.raise_if_cancelled()


def test_a_function_that_looks_is_cancelled():
    job, engine = planned()
    execute(engine, cancel_only_run(job, engine), raise_if_cancelled)
    run = only_run(job)
    assert (run.status, run.reason, run.held_lock) == ("cancelled", "by_user", None)
    assert run.error_message == "Its cancellation was requested by anna."
    assert run.cancel_requested_at is not None


def test_a_function_that_does_not_look_ends_as_it_ends():
    job, engine = planned()
    execute(engine, cancel_only_run(job, engine))
    run = only_run(job)
    assert (run.status, run.result, run.error_message) == ("succeeded", "done", "")


def test_a_run_that_nobody_has_cancelled_goes_on():
    job, engine = planned()
    execute(engine, engine.parts.cancel_requests.look, raise_if_cancelled)
    assert statuses(job) == ["succeeded"]


def test_who_asks_again_changes_nothing():
    job, engine = planned()
    requests: list[object] = []

    def ask_twice() -> None:
        for by in ("anna", "bert"):
            run = only_run(job)
            run.cancel(by=by)
            requests.append((run.cancel_requested_at, run.error_message))

    execute(engine, ask_twice)
    assert requests[0] == requests[1]


def test_a_cancelled_run_is_not_tried_again_and_is_no_failure():
    job, engine = planned(retries=3, retry_delay=timedelta(0))
    execute(engine, cancel_only_run(job, engine), raise_if_cancelled)
    assert statuses(job) == ["cancelled(by_user)"]
    assert state_of(job).failures_in_row == 0


def test_a_run_that_fails_after_it_was_cancelled_is_not_tried_again_either():
    def fail() -> None:
        raise ValueError("cannot clean up")

    job, engine = planned(retries=3, retry_delay=timedelta(0))
    execute(engine, cancel_only_run(job, engine), fail)
    assert statuses(job) == ["failed(exception)"]


def test_a_started_run_that_has_not_begun_does_not_begin():
    job, engine = planned()
    engine.claim()
    engine.start()
    cancel_only_run(job, engine)()
    assert (engine.execute(), begun) == (0, [])
    engine.finish()
    run = only_run(job)
    assert (run.status, run.reason, run.held_lock) == ("cancelled", "by_user", None)
    assert engine.memory.count() == 0


def test_a_run_that_went_back_to_the_queue_after_it_was_cancelled_does_not_begin():
    job, engine = planned()
    engine.claim()
    engine.start()
    run = only_run(job)
    run.cancel()
    give_back("default", engine.memory.withdraw(State.HOLD))
    other = HandDriven(name="other").go_to(engine.now)
    other.step()
    assert (begun, statuses(job)) == ([], ["cancelled(by_user)"])


def test_a_cancelled_run_that_goes_on_past_its_timeout_has_timed_out():
    def pass_the_time() -> None:
        engine.clock.advance(5)
        engine.parts.timeouts.step()

    job, engine = planned(timeout=timedelta(seconds=5))
    execute(engine, cancel_only_run(job, engine), pass_the_time)
    assert statuses(job) == ["timed_out"]


# When the instance looks


def test_nothing_is_asked_of_the_database_while_nothing_executes(django_assert_num_queries):
    _job, engine = planned()
    engine.claim()
    with django_assert_num_queries(0):
        engine.parts.cancel_requests.look()


def test_it_looks_once_in_a_poll_interval_or_when_woken(django_assert_num_queries):
    _job, engine = planned()
    engine.claim()
    engine.start()
    requests = engine.parts.cancel_requests
    engine.clock.advance(1)
    for queries, advance, at_once in (
        (1, 0, False),
        (0, 0.5, False),
        (1, 0, True),
        (0, 0.5, False),
        (1, 0.5, False),
    ):
        engine.clock.advance(advance)
        with django_assert_num_queries(queries):
            requests.step(at_once=at_once)
