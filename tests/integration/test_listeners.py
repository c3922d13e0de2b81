"""Listeners: when they are called, with what, and what becomes of what they raise."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from django_gocron import Every, RunContext, current_run, events, job, operations, registry
from django_gocron.backends import Backend
from django_gocron.context import Cause
from django_gocron.engine.replanning import find_idle, replan
from django_gocron.engine.scheduler import Scheduler
from django_gocron.exceptions import ConfigurationError, DeclarationError, LockerError, Retry
from django_gocron.listeners import Kind
from django_gocron.lockers.base import Lock
from django_gocron.models import Job
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard
from tests.lockers import new_server

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _own_registry():
    with registry.isolated(inherit=True):
        yield


class Diary:
    """Writes down what is called, in which order, and with what."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.errors: dict[str, BaseException] = {}
        self.runs: list[RunContext] = []

    def listener(self, kind: str, *, fails: type[BaseException] | None = None, is_async: bool = False) -> Any:
        def listen(run: RunContext, error: BaseException | None = None) -> None:
            self.lines.append(kind)
            self.runs.append(run)
            if error is not None:
                self.errors[kind] = error
            if fails is not None:
                raise fails("the listener failed")

        async def alisten(run: RunContext, error: BaseException | None = None) -> None:
            await asyncio.sleep(0)
            listen(run, error)

        return alisten if is_async else listen

    def all(self, **options: Any) -> dict[str, Any]:
        return {str(kind): self.listener(kind, **options) for kind in Kind}

    def task(self, *, fails: BaseException | None = None, is_async: bool = False) -> Any:
        def task() -> str:
            self.lines.append("task")
            if fails is not None:
                raise fails
            return "done"

        async def atask() -> str:
            return task()

        return atask if is_async else task

    def __str__(self) -> str:
        return " ".join(self.lines)


def run_once(task: Any, listeners: dict[str, Any], **values: Any) -> Job:
    """A job of the task, whose first tick is brought to its end."""
    registered = registered_task(task)
    job(listeners=listeners)(registered)
    made = make_job(task=registered, schedule=Every(seconds=10), **values)
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(made)).step()
    return made


def registered_task(task: Any) -> Any:
    """At the top of a module, as tasks are."""
    task.__qualname__ = task.__name__ = f"task_{len(registry.tasks())}"
    return task


BEFORE = "before_run before_run_skip_on_error"

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["functions", "coroutines"])


# --- order -----------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("async_task", [False, True], ids=["a function", "a coroutine"])
def test_a_success_is_told_before_and_after(is_async: bool, async_task: bool):
    diary = Diary()
    made = run_once(diary.task(is_async=async_task), diary.all(is_async=is_async))
    assert str(diary) == f"{BEFORE} task after_run"
    assert statuses(made) == ["succeeded"]


@BOTH
@pytest.mark.parametrize("async_task", [False, True], ids=["a function", "a coroutine"])
def test_a_failure_is_told_with_the_error(is_async: bool, async_task: bool):
    diary, error = Diary(), ValueError("no")
    made = run_once(diary.task(fails=error, is_async=async_task), diary.all(is_async=is_async))
    assert str(diary) == f"{BEFORE} task after_run_error"
    assert diary.errors == {"after_run_error": error}
    assert statuses(made) == ["failed(exception)"]


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), MemoryError(), RecursionError()],
    ids=lambda e: type(e).__name__,
)
def test_a_panic_is_told_as_such_first(error: BaseException):
    diary = Diary()
    run_once(diary.task(fails=error), diary.all())
    assert str(diary) == f"{BEFORE} task after_run_panic after_run_error"
    assert diary.errors == {"after_run_panic": error, "after_run_error": error}


def test_an_exit_with_zero_is_a_success():
    diary = Diary()
    run_once(diary.task(fails=SystemExit(0)), diary.all())
    assert str(diary) == f"{BEFORE} task after_run"


def test_an_attempt_that_is_tried_again_has_failed():
    diary = Diary()
    made = run_once(diary.task(fails=Retry(after=5)), diary.all(), retries=1)
    assert str(diary) == f"{BEFORE} task after_run_error"
    assert statuses(made) == ["failed(exception)", "queued(retry)"]


def test_arguments_that_do_not_fit_are_an_error_and_the_task_is_not_called():
    diary = Diary()
    task = registered_task(diary.task())
    job(listeners=diary.all())(task)
    made = make_job(task=task, schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(made)).claim()
    for entry in engine.held:
        entry.kwargs["unknown"] = 1
    engine.start()
    engine.execute()
    engine.finish()
    assert str(diary) == f"{BEFORE} after_run_error"
    assert statuses(made) == ["failed(bad_arguments)"]


def test_a_run_that_lets_itself_be_cancelled_is_told_as_an_error():
    diary = Diary()

    def task() -> None:
        run = current_run()
        assert run is not None
        run._cancellation.ask(Cause.BY_USER, "Enough.")
        run.raise_if_cancelled()

    made = run_once(task, diary.all())
    assert str(diary) == f"{BEFORE} after_run_error"
    assert statuses(made) == ["cancelled(by_user)"]


def test_events_and_listeners_have_one_order():
    diary = Diary()

    def note(event: events.Event) -> None:
        if isinstance(event, events.RunEvent):
            diary.lines.append(type(event).__name__)

    events.subscribe(note)
    try:
        run_once(diary.task(), diary.all())
    finally:
        events.unsubscribe(note)
    assert str(diary) == f"RunStarted {BEFORE} RunExecuting task after_run RunSucceeded"


# --- what they see ---------------------------------------------------------------------------------


@BOTH
def test_they_see_the_run_as_the_task_does(is_async: bool):
    diary, seen = Diary(), []

    def task() -> None:
        seen.append(current_run())

    run_once(task, diary.all(is_async=is_async))
    assert seen[0] is not None
    assert diary.runs == [seen[0]] * 3


def test_they_can_use_the_database_whatever_the_task_did_to_its_connection():
    counted: list[int] = []

    def task() -> None:
        connection.close()
        raise ValueError

    run_once(task, {"after_run_error": lambda run, error: counted.append(Job.objects.count())})
    assert counted == [1]


def test_a_transaction_that_one_leaves_open_is_rolled_back_and_the_next_run_is_well():
    def leave_open(run: RunContext) -> None:
        transaction.atomic().__enter__()
        Job.objects.filter(pk=run.job_id).update(description="lost")

    def task() -> None: ...

    made = run_once(task, {"after_run": leave_open})
    made.refresh_from_db()
    assert made.description == ""
    assert statuses(made) == ["succeeded"]


def test_a_listener_may_remove_the_job():
    def remove(run: RunContext) -> None:
        Job.objects.get(pk=run.job_id).delete()

    def task() -> None: ...

    made = run_once(task, {"before_run": remove})
    assert not Job.objects.filter(pk=made.pk).exists()


def test_a_result_that_comes_after_the_timeout_is_told_as_one():
    diary, let_go = Diary(), threading.Event()

    def task() -> None:
        assert let_go.wait(60)

    task = registered_task(task)
    heard = threading.Event()

    def listen(run: RunContext, error: BaseException) -> None:
        diary.listener("after_run_error")(run, error)
        heard.set()

    job(listeners={**diary.all(), "after_run_error": listen})(task)
    made = make_job(task=task, schedule=None, timeout=timedelta(milliseconds=50))
    with Heard(events.RunTimedOut) as timed_out, Scheduler():
        made.run_now()
        timed_out.wait_for(1)
        let_go.set()
        assert heard.wait(60)
    assert str(diary) == f"{BEFORE} after_run_error"
    assert isinstance(diary.errors["after_run_error"], TimeoutError)
    assert statuses(made) == ["timed_out"]


# --- what they raise -------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("fails", [ValueError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("kind", ["before_run", "after_run"])
def test_one_that_fails_disturbs_neither_the_run_nor_the_others(kind, fails, is_async):
    diary = Diary()
    listeners = {**diary.all(), kind: diary.listener(kind, fails=fails, is_async=is_async)}
    with Heard(events.ListenerFailed) as heard:
        made = run_once(diary.task(), listeners)
    assert str(diary) == f"{BEFORE} task after_run"
    assert statuses(made) == ["succeeded"]
    [event] = heard
    assert (event.kind, event.run_id) == (kind, runs_of(made)[0].pk)
    assert "the listener failed" in event.error
    assert "in listen" in event.traceback


@BOTH
def test_one_may_refuse_the_run(is_async: bool):
    diary = Diary()
    kind = "before_run_skip_on_error"
    refusing = diary.listener(kind, fails=PermissionError, is_async=is_async)
    with Heard(events.RunSkipped, events.ListenerFailed) as heard:
        made = run_once(diary.task(), {**diary.all(), kind: refusing})
    [run] = runs_of(made)
    assert str(diary) == BEFORE
    assert (run.status, run.reason, run.started_at) == ("skipped", "before_run", None)
    assert (run.error_type, run.error_message) == ("PermissionError", "the listener failed")
    assert [type(event) for event in heard] == [events.RunSkipped]


def test_a_refused_run_counts_neither_as_the_last_nor_for_the_maximum():
    refusals = iter([True, True, True])

    def refuse(run: RunContext) -> None:
        if next(refusals, False):
            raise ValueError

    def task() -> None: ...

    task = registered_task(task)
    job(listeners={"before_run_skip_on_error": refuse})(task)
    made = make_job(task=task, schedule=Every(seconds=10), max_runs=2)
    engine = HandDriven(ahead=timedelta(0))
    tick = next_tick(made)
    for number in range(3):
        engine.go_to(tick + number * 10 * SECOND).step()
        assert state_of(made).last_run is None
    for number in range(3, 8):
        engine.go_to(tick + number * 10 * SECOND).step()
    assert statuses(made) == ["skipped(before_run)"] * 3 + ["succeeded"] * 2
    assert [run.scheduled_for for run in runs_of(made)] == [tick + n * 10 * SECOND for n in range(5)]
    assert state_of(made).run_count == 2


def test_a_refused_run_of_a_job_that_was_edited_meanwhile_lets_the_job_go_on():
    def edit_and_refuse(run: RunContext) -> None:
        if not statuses(made)[1:]:
            operations.update(made, schedule=Every(seconds=5))
            raise ValueError

    def task() -> None: ...

    task = registered_task(task)
    job(listeners={"before_run_skip_on_error": edit_and_refuse})(task)
    made = make_job(task=task, schedule=Every(seconds=10), max_runs=1)
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(made)).step()
    assert (state_of(made).run_count, state_of(made).finished_at) == (0, None)
    replan(DATABASE, find_idle(DATABASE), force=True)
    engine.go_to(next_tick(made)).step()
    assert statuses(made) == ["skipped(before_run)", "succeeded"]


class Unshowable(ValueError):
    """Whatever one asks it, it raises."""

    @property
    def __cause__(self) -> Any:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("kind", ["before_run", "after_run"])
def test_an_error_that_cannot_be_shown_is_told_all_the_same(kind):
    def fails(run: RunContext) -> None:
        raise Unshowable

    def task() -> None: ...

    with Heard(events.ListenerFailed) as heard:
        made = run_once(task, {kind: fails})
    assert statuses(made) == ["succeeded"]
    assert [event.error for event in heard] == ["Unshowable: "]


class Awaited:
    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, run: RunContext) -> None:
        self.calls += 1


def test_an_object_whose_call_is_a_coroutine_is_awaited():
    listener = Awaited()

    def task() -> None: ...

    run_once(task, {"before_run": listener})
    assert listener.calls == 1


def test_a_transaction_that_one_leaves_open_before_the_task_is_not_the_tasks():
    def leave_open(run: RunContext) -> None:
        transaction.atomic().__enter__()

    def task() -> None: ...

    assert statuses(run_once(task, {"before_run": leave_open})) == ["succeeded"]


def test_after_a_refused_run_an_interval_goes_on_from_its_end():
    def refuse(run: RunContext) -> None:
        raise ValueError

    def task() -> None: ...

    made = run_once(task, {"before_run_skip_on_error": refuse}, interval_from_completion=True)
    [run] = runs_of(made)
    assert run.finished_at is not None
    assert next_tick(made) == run.finished_at + 10 * SECOND


def test_a_run_whose_time_is_over_before_its_task_does_not_begin_it():
    diary = Diary()

    def cancel(run: RunContext) -> None:
        run._cancellation.ask(Cause.BY_USER, "Enough.")

    made = run_once(diary.task(), {"before_run": cancel})
    assert str(diary) == ""
    assert statuses(made) == ["cancelled(by_user)"]


# --- locks -----------------------------------------------------------------------------------------


@pytest.fixture
def refused() -> Iterator[HandDriven]:
    """An engine whose locker has given the lock to somebody else."""
    new_server().held["job"] = Lock(key="job", holder="somebody", token="theirs"), float("inf")
    lockers = {"default": Backend(setting="", path="tests.lockers.DictLocker")}
    engine = HandDriven(ahead=timedelta(0), lockers=lockers)
    yield engine
    engine.parts.locks.stop(60)


@BOTH
def test_a_refused_lock_is_told_and_nothing_else(is_async: bool, refused: HandDriven):
    diary = Diary()
    task = registered_task(diary.task())
    job(listeners=diary.all(is_async=is_async))(task)
    made = make_job(task=task, schedule=Every(seconds=10))
    refused.go_to(next_tick(made)).step()
    assert str(diary) == "on_lock_error"
    error = diary.errors["on_lock_error"]
    assert isinstance(error, LockerError)
    assert error.code == "lock_busy"
    assert statuses(made) == ["skipped(lock_busy)"]


def test_one_that_fails_at_a_refused_lock_disturbs_nobody(refused: HandDriven):
    diary = Diary()
    task = registered_task(diary.task())
    job(listeners={"on_lock_error": diary.listener("on_lock_error", fails=ValueError)})(task)
    made = make_job(task=task, schedule=Every(seconds=10))
    with Heard(events.ListenerFailed) as heard:
        refused.go_to(next_tick(made)).step()
    assert [event.kind for event in heard] == ["on_lock_error"]
    assert statuses(made) == ["skipped(lock_busy)"]


# --- whose they are --------------------------------------------------------------------------------


def with_general(listeners: dict[str, Any]) -> HandDriven:
    return HandDriven(ahead=timedelta(0), listeners={Kind(kind): one for kind, one in listeners.items()})


def test_a_scheduler_has_some_for_all_runs_and_those_of_a_task_take_their_place():
    general, own = Diary(), Diary()
    task = registered_task(own.task())
    job(listeners={"after_run": own.listener("own")})(task)
    made = make_job(task=task, schedule=Every(seconds=10))
    with_general(general.all()).go_to(next_tick(made)).step()
    assert str(general) == BEFORE
    assert str(own) == "task own"


def test_staff_s_jobs_have_those_of_their_task_too():
    diary = Diary()
    task = registered_task(diary.task())
    job(Every(hours=1), listeners=diary.all())(task)
    made = make_job("staff's", task=task, schedule=Every(seconds=10))
    HandDriven(ahead=timedelta(0)).go_to(next_tick(made)).step()
    assert str(diary) == f"{BEFORE} task after_run"


def test_two_lines_of_a_task_add_up_but_do_not_contradict():
    diary = Diary()
    task, before = registered_task(diary.task()), diary.listener("before_run")
    job(Every(hours=1), name="one", listeners={"before_run": before})(task)
    job(Every(hours=2), name="two", listeners={"before_run": before, "after_run": print})(task)
    assert registry.listeners_of(registry.register(task).name).keys() == {"before_run", "after_run"}
    with pytest.raises(DeclarationError) as caught:
        job(Every(hours=3), name="three", listeners={"after_run": before})(task)
    assert caught.value.code == "listener_taken"


@pytest.mark.parametrize(
    ("listeners", "code"),
    [
        (None, "bad_listeners"),
        ([], "bad_listeners"),
        ({"befor_run": print}, "listener_unknown"),
        ({"before_run": None}, "listener_not_callable"),
        ({"before_run": 3}, "listener_not_callable"),
        ({"before_run": lambda: None}, "listener_does_not_fit"),
        ({"after_run_error": lambda run: None}, "listener_does_not_fit"),
        ({"after_run": "tests.nowhere.listener"}, "listener_not_importable"),
    ],
)
def test_what_cannot_listen_is_refused_with_a_code(listeners: Any, code: str):
    with pytest.raises(DeclarationError) as caught:
        job(listeners=listeners)(registered_task(Diary().task()))
    assert (caught.value.code, caught.value.field) == (code, "listeners")
    assert "test_listeners.py" in caught.value.message
    if listeners is not None:
        with pytest.raises(ConfigurationError) as also_caught:
            Scheduler(listeners=listeners)
        assert also_caught.value.code == code


def test_those_of_the_settings_are_named_by_their_paths(settings):
    settings.GOCRON = {"LISTENERS": {"after_run": f"{__name__}.note", "before_run": print}}
    assert Scheduler().options.listeners == {"after_run": note, "before_run": print}
    own = {"after_run": print}
    assert Scheduler(listeners=own).options.listeners == {"after_run": print, "before_run": print}


def note(run: RunContext) -> None: ...
