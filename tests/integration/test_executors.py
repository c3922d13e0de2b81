"""The executor of threads and coroutines: it holds runs until their instant, and nothing that they do escapes."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import transaction

from django_gocron import Cancelled, registry
from django_gocron.clock import SystemClock
from django_gocron.context import Cancellation, Cause, RunContext, current_run
from django_gocron.executors import running
from django_gocron.executors.base import Work
from django_gocron.executors.outcome import Outcome
from django_gocron.executors.threads import ThreadExecutor
from django_gocron.models import Job
from tests.heard import PATIENCE

LEAD = timedelta(milliseconds=50)


class Ending:
    """Takes the outcome of one run."""

    def __init__(self) -> None:
        self._outcome: Outcome | None = None
        self._is_there = threading.Event()

    def __call__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._is_there.set()

    @property
    def is_there(self) -> bool:
        return self._is_there.is_set()

    def wait(self) -> Outcome:
        assert self._is_there.wait(PATIENCE)
        assert self._outcome is not None
        return self._outcome


class Rig:
    """A started executor, and the clock it goes by."""

    def __init__(self, workers: int = 4) -> None:
        self.clock = SystemClock()
        self.executor = ThreadExecutor(self.clock, workers=workers)
        self.executor.start()
        self._works: list[Work] = []

    def submit(
        self, task: Any, *args: Any, begin: Callable[[], bool | None] = lambda: True, run_id: int = 1
    ) -> Ending:
        ending = Ending()
        known = registry.register(task)
        now = self.clock.now()
        cancellation = Cancellation()
        context = RunContext(
            run_id=run_id,
            job_id=1,
            job_name="job",
            task=known.name,
            scheduled_for=now,
            attempt=1,
            origin="schedule",
            _cancellation=cancellation,
        )
        work = Work(
            task=known,
            args=list(args),
            kwargs={},
            context=context,
            due_at=now + LEAD,
            begin=begin,
            finish=ending,
            cancellation=cancellation,
        )
        self._works.append(work)
        self.executor.submit(work)
        return ending

    def run(self, task: Any, *args: Any) -> Outcome:
        return self.submit(task, *args).wait()

    def cancel(self, cause: Cause = Cause.SHUTDOWN) -> None:
        """Ask all that was submitted to end."""
        for work in self._works:
            work.cancellation.ask(cause, "Enough.")


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.cancel()
    rig.executor.stop(PATIENCE)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gocron-")]


def add(one: int, two: int) -> int:
    return one + two


async def add_later(one: int, two: int) -> int:
    await asyncio.sleep(0)
    return one + two


@pytest.mark.parametrize("task", [add, add_later])
def test_runs_functions_and_coroutines_alike(rig, task):
    outcome = rig.run(task, 1, 2)
    assert (outcome.status, outcome.result) == ("succeeded", 3)


# --- the hold --------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [add, add_later])
def test_user_code_begins_at_the_instant_and_not_before(rig, task):
    asked_at = []

    def begin() -> bool:
        asked_at.append(rig.clock.now())
        return True

    earliest = rig.clock.now() + LEAD
    outcome = rig.submit(task, 1, 2, begin=begin).wait()
    assert asked_at[0] >= earliest
    assert outcome.started_at >= asked_at[0]


@pytest.mark.parametrize("task", [add, add_later])
def test_a_run_that_may_not_begin_yet_is_asked_for_again(rig, task):
    answers = iter([None, None, True])
    outcome = rig.submit(task, 1, 2, begin=lambda: next(answers)).wait()
    assert outcome.result == 3
    assert next(answers, "none left") == "none left"


called: list[str] = []


def note_call() -> None:
    called.append("function")


async def note_call_later() -> None:
    called.append("coroutine")


@pytest.mark.parametrize("task", [note_call, note_call_later])
def test_a_run_that_is_not_ours_any_more_is_dropped(rig, task):
    called.clear()
    asked = threading.Event()

    def begin() -> bool:
        asked.set()
        return False

    rig.submit(task, begin=begin)
    assert asked.wait(PATIENCE)
    rig.run(add, 1, 2)
    rig.run(add_later, 1, 2)
    assert called == []


# --- what a task sees ------------------------------------------------------------------------------


def name_run() -> int | None:
    run = current_run()
    return run and run.run_id


async def name_run_later() -> list[int | None]:
    return [name_run(), await sync_to_async(name_run)(), await asyncio.create_task(name_run_in_a_task())]


async def name_run_in_a_task() -> int | None:
    return name_run()


def test_a_function_sees_its_run(rig):
    assert rig.submit(name_run, run_id=7).wait().result == 7


def test_a_coroutine_sees_its_run_and_so_does_what_it_calls(rig):
    endings = [rig.submit(name_run_later, run_id=number) for number in (7, 8)]
    assert [ending.wait().result for ending in endings] == [[7] * 3, [8] * 3]


def test_outside_of_a_run_there_is_none():
    assert current_run() is None


left_behind: ContextVar[str] = ContextVar("left_behind", default="nothing")


def leave_something_behind() -> str:
    found = left_behind.get()
    left_behind.set("something")
    return found


def test_what_a_task_leaves_in_context_variables_does_not_reach_the_next(rig):
    assert [rig.run(leave_something_behind).result for _ in range(8)] == ["nothing"] * 8


# --- containment -----------------------------------------------------------------------------------


def leave() -> None:
    sys.exit(3)


async def leave_later() -> None:
    sys.exit(3)


async def cancel_oneself() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("task", "reason", "error"),
    [
        (leave, "exit", "SystemExit"),
        (leave_later, "exit", "SystemExit"),
        (cancel_oneself, "exception", "asyncio.exceptions.CancelledError"),
    ],
)
def test_what_a_task_raises_ends_nothing_but_its_run(rig, task, reason, error):
    for _ in range(5):
        outcome = rig.run(task)
        assert (outcome.status, outcome.reason, outcome.error_type) == ("failed", reason, error)
    assert (rig.run(add, 1, 2).result, rig.run(add_later, 1, 2).result) == (3, 3)


async def let_another_task_leave() -> str:
    await asyncio.wait([asyncio.ensure_future(leave_later())])
    return "still here"


def test_a_coroutine_that_a_run_has_started_cannot_end_the_event_loop(rig, caplog):
    assert rig.run(let_another_task_leave).result == "still here"
    assert rig.run(add_later, 1, 2).result == 3
    assert "tried to end the process" in caplog.text


class Trap:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


def answer_with_a_trap() -> object:
    return Trap()


def test_a_result_that_raises_when_it_is_looked_at_fails_the_run(rig):
    outcome = rig.run(answer_with_a_trap)
    assert (outcome.status, outcome.error_type) == ("failed", "KeyboardInterrupt")
    assert rig.run(add, 1, 2).result == 3


# --- coroutines side by side -----------------------------------------------------------------------

together = threading.Barrier(5)


def meet_the_others() -> None:
    together.wait(PATIENCE)


async def meet_the_others_in_a_thread() -> str:
    await sync_to_async(meet_the_others)()
    return threading.current_thread().name


def test_synchronous_code_of_coroutines_runs_side_by_side(rig):
    endings = [rig.submit(meet_the_others_in_a_thread) for _ in range(5)]
    outcomes = [ending.wait() for ending in endings]
    assert {outcome.status for outcome in outcomes} == {"succeeded"}
    assert {outcome.result for outcome in outcomes} == {"gocron-event-loop"}


waiting = threading.Event()


async def wait_for_ever() -> None:
    waiting.set()
    await asyncio.Event().wait()


def test_a_coroutine_is_cancelled_when_that_is_asked_for(rig):
    waiting.clear()
    ending = rig.submit(wait_for_ever)
    assert waiting.wait(PATIENCE)
    rig.cancel()
    outcome = ending.wait()
    assert (outcome.status, outcome.reason) == ("cancelled", "shutdown")


ENDINGS = [
    (Cause.TIMEOUT, "timed_out", ""),
    (Cause.BY_USER, "cancelled", "by_user"),
    (Cause.SHUTDOWN, "cancelled", "shutdown"),
]


@pytest.mark.parametrize(("cause", "status", "reason"), ENDINGS)
def test_a_coroutine_ends_as_it_was_asked_to(rig, cause, status, reason):
    waiting.clear()
    ending = rig.submit(wait_for_ever)
    assert waiting.wait(PATIENCE)
    rig.cancel(cause)
    outcome = ending.wait()
    assert (outcome.status, outcome.reason, outcome.error_message) == (status, reason, "Enough.")


def look_until_asked() -> None:
    waiting.set()
    run = current_run()
    assert run is not None
    while True:
        run.raise_if_cancelled()
        time.sleep(0.001)


@pytest.mark.parametrize(("cause", "status", "reason"), ENDINGS)
def test_a_function_that_looks_ends_as_it_was_asked_to(rig, cause, status, reason):
    waiting.clear()
    ending = rig.submit(look_until_asked)
    assert waiting.wait(PATIENCE)
    rig.cancel(cause)
    outcome = ending.wait()
    assert (outcome.status, outcome.reason, outcome.error_message) == (status, reason, "Enough.")


def raise_unasked() -> None:
    raise Cancelled


def test_a_function_that_nobody_has_asked_to_end_has_failed(rig):
    outcome = rig.run(raise_unasked)
    assert (outcome.status, outcome.error_type) == ("failed", "django_gocron.exceptions.Cancelled")


async def clean_up_badly() -> None:
    waiting.set()
    try:
        await asyncio.Event().wait()
    finally:
        raise ValueError("cannot clean up")


async def finish_all_the_same() -> str:
    waiting.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "finished all the same"
    return "never"


@pytest.mark.parametrize(("task", "status"), [(clean_up_badly, "failed"), (finish_all_the_same, "succeeded")])
def test_a_coroutine_that_does_not_let_its_cancellation_through_ends_in_its_own_way(rig, task, status):
    waiting.clear()
    ending = rig.submit(task)
    assert waiting.wait(PATIENCE)
    rig.cancel()
    assert ending.wait().status == status


def test_a_coroutine_that_was_cancelled_before_it_began_does_not_get_far(rig):
    cancelled: list[bool] = []

    def begin() -> bool:
        rig.cancel()
        cancelled.append(True)
        return True

    outcome = rig.submit(wait_for_ever, begin=begin).wait()
    assert (outcome.status, cancelled) == ("cancelled", [True])


def block_the_thread() -> None:
    waiting.set()
    assert go_on.wait(PATIENCE)


async def block_in_a_thread() -> None:
    await sync_to_async(block_the_thread)()


def test_a_coroutine_has_ended_when_the_code_in_its_thread_has(rig):
    waiting.clear()
    go_on.clear()
    ending = rig.submit(block_in_a_thread)
    assert waiting.wait(PATIENCE)
    for _ in range(3):
        rig.cancel()
        rig.run(add_later, 1, 2)
        rig.run(add_later, 1, 2)
    assert not ending.is_there
    go_on.set()
    assert ending.wait().status == "cancelled"


class Interrupted(ThreadSensitiveContext):
    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)  # type: ignore[arg-type]
        raise asyncio.CancelledError


def test_a_coroutine_that_is_asked_to_end_after_its_end_has_its_outcome(rig, monkeypatch):
    monkeypatch.setattr(running, "ThreadSensitiveContext", Interrupted)
    assert rig.run(add_later, 1, 2).result == 3


# --- the stop --------------------------------------------------------------------------------------

go_on = threading.Event()


def wait_until_told() -> str:
    waiting.set()
    assert go_on.wait(PATIENCE)
    return "told"


def test_a_stop_does_not_wait_for_user_code_longer_than_it_may():
    rig = Rig()
    waiting.clear()
    go_on.clear()
    ending = rig.submit(wait_until_told)
    assert waiting.wait(PATIENCE)
    rig.executor.stop(0.0)
    busy = [thread for thread in threading.enumerate() if thread.name.startswith("gocron-worker")]
    assert busy
    go_on.set()
    assert ending.wait().result == "told"
    for thread in busy:
        thread.join(PATIENCE)
        assert not thread.is_alive()


stubborn_may_end = threading.Event()


async def ignore_cancellation() -> str:
    waiting.set()
    while not stubborn_may_end.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "in my own time"


def test_the_event_loop_ends_with_its_last_coroutine_and_complains_of_none(caplog):
    rig = Rig()
    waiting.clear()
    stubborn_may_end.clear()
    ending = rig.submit(ignore_cancellation)
    assert waiting.wait(PATIENCE)
    rig.cancel()
    rig.executor.stop(0.0)
    [loop] = [thread for thread in threading.enumerate() if thread.name == "gocron-event-loop"]
    stubborn_may_end.set()
    assert ending.wait().result == "in my own time"
    loop.join(PATIENCE)
    assert not loop.is_alive()
    assert caplog.records == []


def leave_a_transaction_open() -> None:
    transaction.atomic().__enter__()
    Job.objects.count()


def count_jobs() -> int:
    return Job.objects.count()


@pytest.mark.django_db(transaction=True)
def test_a_task_that_leaves_a_transaction_open_has_failed_and_the_next_can_use_the_database():
    rig = Rig(workers=1)
    try:
        left, used = rig.run(leave_a_transaction_open), rig.run(count_jobs)
    finally:
        rig.executor.stop(PATIENCE)
    assert (left.status, left.error_type) == ("failed", "django.db.transaction.TransactionManagementError")
    assert (used.status, used.error_message, used.result) == ("succeeded", "", 0)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def fail_unspeakably() -> None:
    raise Unspeakable


def test_an_error_whose_wording_asks_to_exit_is_an_outcome_too(rig):
    assert rig.run(fail_unspeakably).error_type.endswith("Unspeakable")
    assert rig.run(add, 1, 2).result == 3


async def cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


def test_a_coroutine_that_cancels_itself_has_failed(rig):
    outcome = rig.run(cancel_itself)
    assert (outcome.status, outcome.error_type) == ("failed", "asyncio.exceptions.CancelledError")
