"""What a task does to its thread, its process or its connection is recorded, and the next runs know nothing of it."""

from __future__ import annotations

import asyncio
import decimal
import locale
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections, transaction
from django.utils import timezone, translation

from django_gocron import events
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Job, Run
from tests.elsewhere import elsewhere
from tests.handdriven import REAL_TRANSACTIONS, make_job
from tests.heard import Heard
from tests.integration.sessions import KILL, own_session

pytestmark = REAL_TRANSACTIONS

ON_A_SERVER = pytest.mark.only_on("postgresql", "mariadb")

Deed = Callable[[], Any]
deeds: list[Deed] = []
"""What the next runs do, the last one first; then they tell what they find."""


def tell_surroundings() -> dict[str, Any]:
    """Whatever a run before this one may have changed; of the database, whether it answers."""
    return {
        "working directory": os.getcwd(),  # noqa: PTH109
        "locale": locale.setlocale(locale.LC_ALL),
        "time zone": [os.environ.get("TZ"), *time.tzname],
        "recursion limit": sys.getrecursionlimit(),
        "language": translation.get_language(),
        "current time zone": timezone.get_current_timezone_name(),
        "precision": decimal.getcontext().prec,
        "jobs": Job.objects.count(),
        "autocommit": connection.get_autocommit(),
    }


def act() -> Any:
    return deeds.pop()() if deeds else tell_surroundings()


async def act_later() -> Any:
    """On the event loop; only what uses the database may not."""
    if deeds and deeds[-1] not in IN_A_THREAD:
        return deeds.pop()()
    return await sync_to_async(act)()


FORMS = pytest.mark.parametrize("task", [act, act_later])


@pytest.fixture(autouse=True)
def _quick(settings):
    settings.GOCRON = {"POLL_INTERVAL": 0.1}
    deeds.clear()


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    """For the tests that come after one that fails."""
    here, before, zone = os.open(".", os.O_RDONLY), locale.setlocale(locale.LC_ALL), os.environ.get("TZ")
    limit = sys.getrecursionlimit()
    yield
    os.fchdir(here)
    os.close(here)
    locale.setlocale(locale.LC_ALL, before)
    sys.setrecursionlimit(limit)
    if zone is not None:
        os.environ["TZ"] = zone
    time.tzset()


class Stage:
    """A scheduler with one worker and two jobs, the second of which is a function."""

    def __init__(self, task: Any) -> None:
        self.job, self.other = make_job(task=task, schedule=None), make_job("other", task=act, schedule=None)
        self._ended = Heard(events.RunSucceeded, events.RunFailed)

    def play(self, deed: Deed) -> tuple[Run, list[Run]]:
        """The run that does the deed, and one before it, the next one of its job, and one of the other job."""
        with self._ended, Scheduler(workers=1):
            before = self._run(self.job)
            deeds.append(deed)
            during = self._run(self.job)
            assert not deeds
            return during, [before, self._run(self.job), self._run(self.other)]

    def _run(self, job: Job) -> Run:
        number = len(self._ended)
        run = job.run_now()
        self._ended.wait_for(number + 1)
        run.refresh_from_db()
        return run


def assert_same(runs: list[Run]) -> None:
    first, *others = runs
    assert first.status == "succeeded"
    assert [(run.status, run.error_message, run.result) for run in others] == [
        ("succeeded", "", first.result)
    ] * 2


# --- what tasks raise --------------------------------------------------------------------------------


def exit_with(code: Any) -> Deed:
    return lambda: sys.exit(code)


def raising(error: BaseException) -> Deed:
    def deed() -> None:
        raise error

    return deed


def recurse() -> None:
    recurse()


def take_all_memory() -> None:
    bytearray(sys.maxsize)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise ValueError("neither equal nor not")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "both"


class Untraceable(Exception):
    @property
    def __notes__(self) -> list[str]:
        raise KeyboardInterrupt


class OutOfLine(BaseException): ...


NAME = __name__
CANCELLED = "asyncio.exceptions.CancelledError"


@FORMS
@pytest.mark.parametrize("code", [None, 0])
def test_a_task_that_exits_without_an_error_has_succeeded(task, code):
    run, others = Stage(task).play(exit_with(code))
    assert (run.status, run.reason, run.error_type, run.result) == ("succeeded", "", "", None)
    assert_same(others)


@FORMS
@pytest.mark.parametrize(
    ("deed", "reason", "error_type", "message"),
    [
        pytest.param(exit_with(3), "exit", "SystemExit", "3", id="exit 3"),
        pytest.param(exit_with("no paper"), "exit", "SystemExit", "no paper", id="exit with words"),
        pytest.param(
            raising(KeyboardInterrupt("^C")), "exception", "KeyboardInterrupt", "^C", id="interrupt"
        ),
        pytest.param(
            raising(GeneratorExit("close")), "exception", "GeneratorExit", "close", id="generator exit"
        ),
        pytest.param(
            raising(asyncio.CancelledError()),
            "exception",
            CANCELLED,
            "",
            id="cancelled",
        ),
        pytest.param(raising(OutOfLine("!")), "exception", f"{NAME}.OutOfLine", "!", id="base exception"),
        pytest.param(raising(Untraceable("?")), "exception", f"{NAME}.Untraceable", "?", id="untraceable"),
        pytest.param(raising(Unspeakable()), "exception", f"{NAME}.Unspeakable", "", id="unspeakable"),
        pytest.param(
            recurse, "exception", "RecursionError", "maximum recursion depth exceeded", id="recursion"
        ),
        pytest.param(take_all_memory, "exception", "MemoryError", "", id="memory"),
    ],
)
def test_what_a_task_raises_is_recorded_and_reaches_nobody_else(task, deed, reason, error_type, message):
    run, others = Stage(task).play(deed)
    assert (run.status, run.reason, run.error_type) == ("failed", reason, error_type)
    assert run.error_message.startswith(message)
    assert bool(run.error_message) == bool(message)
    assert deed.__code__.co_name in run.traceback
    assert_same(others)


# --- what belongs to the process -----------------------------------------------------------------------


def go_elsewhere() -> None:
    os.chdir("/")


def go_where_nothing_stays() -> None:
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)


def change_locale() -> None:
    """To another one, of those that are everywhere."""
    current = locale.setlocale(locale.LC_ALL)
    for name in ("C.UTF-8", "C"):
        if locale.setlocale(locale.LC_ALL, name) != current:
            return


def move_to_kathmandu() -> None:
    os.environ["TZ"] = "Asia/Kathmandu"
    time.tzset()


def allow_less_recursion() -> None:
    """As little as possible."""
    for limit in range(1, sys.getrecursionlimit()):
        with suppress(RecursionError):
            return sys.setrecursionlimit(limit)
    return None


def allow_more_recursion() -> None:
    sys.setrecursionlimit(123_456)


PROCESS = [
    pytest.param(go_elsewhere, "working directory", id="directory"),
    pytest.param(go_where_nothing_stays, "working directory", id="deleted directory"),
    pytest.param(change_locale, "locale", id="locale"),
    pytest.param(move_to_kathmandu, "time zone", id="time zone"),
    pytest.param(allow_less_recursion, "recursion limit", id="less recursion"),
    pytest.param(allow_more_recursion, "recursion limit", id="more recursion"),
]


@FORMS
@pytest.mark.parametrize(("deed", "what"), PROCESS)
def test_what_a_task_changes_of_the_process_is_put_back_and_told(task, deed, what, caplog):
    run, others = Stage(task).play(deed)
    assert run.status == "succeeded"
    assert_same(others)
    [line] = [record.getMessage() for record in caplog.records if "of the process" in record.getMessage()]
    assert line.startswith(f"Run {run.pk} of job 'job'")
    assert f"has changed the {what} of" in line


@FORMS
def test_a_task_that_changes_the_process_and_fails_is_recorded_as_one_that_failed(task):
    def deed() -> None:
        go_where_nothing_stays()
        raise ValueError("lost")

    run, others = Stage(task).play(deed)
    assert (run.status, run.error_type, run.error_message) == ("failed", "ValueError", "lost")
    assert_same(others)


# --- what belongs to a thread or a context -------------------------------------------------------------


def speak_french() -> None:
    translation.activate("fr")


def count_like_nepal() -> None:
    timezone.activate("Asia/Kathmandu")


def calculate_roughly() -> None:
    decimal.getcontext().prec = 2


@FORMS
@pytest.mark.parametrize("deed", [speak_french, count_like_nepal, calculate_roughly])
def test_what_a_task_sets_for_itself_ends_with_its_run(task, deed):
    run, others = Stage(task).play(deed)
    assert run.status == "succeeded"
    assert_same(others)


# --- what becomes of the connection --------------------------------------------------------------------


def close_the_connection() -> None:
    connections["default"].close()


def close_what_django_thinks_is_open() -> None:
    connection.ensure_connection()
    connection.connection.close()


def leave_a_transaction_open() -> None:
    transaction.atomic().__enter__()
    Job.objects.update(description="never")


def leave_a_transaction_broken() -> None:
    transaction.atomic().__enter__()
    transaction.set_rollback(True)
    raise ValueError("half way")


def turn_autocommit_off() -> None:
    transaction.set_autocommit(False)
    Job.objects.count()


def lose_the_server() -> None:
    """The server's side of the connection is gone; this side has not heard of it."""
    session = own_session()
    elsewhere(lambda: kill_session(session))


def kill_session(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(KILL[connection.vendor], [number])


IN_A_THREAD: list[Deed] = [
    close_the_connection,
    close_what_django_thinks_is_open,
    leave_a_transaction_open,
    leave_a_transaction_broken,
    turn_autocommit_off,
    lose_the_server,
]


@pytest.fixture
def _with_age(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", request.param)
    yield
    connection.close()


AGES = pytest.mark.parametrize("_with_age", [0, None], indirect=True, ids=lambda age: f"age {age}")


@FORMS
@AGES
@pytest.mark.usefixtures("_with_age")
@pytest.mark.parametrize(
    "deed",
    [
        close_the_connection,
        turn_autocommit_off,
        pytest.param(lose_the_server, marks=ON_A_SERVER),
    ],
)
def test_a_connection_that_a_task_has_spoilt_is_not_given_to_the_next_run(task, deed):
    run, others = Stage(task).play(deed)
    assert run.status == "succeeded"
    assert_same(others)


@FORMS
def test_a_connection_that_cannot_even_be_closed_ends_with_its_run(task):
    run, others = Stage(task).play(close_what_django_thinks_is_open)
    assert run.status == "succeeded"
    assert_same(others)


@FORMS
@AGES
@pytest.mark.usefixtures("_with_age")
@pytest.mark.parametrize(
    ("deed", "error_type"),
    [
        (leave_a_transaction_open, "django.db.transaction.TransactionManagementError"),
        (leave_a_transaction_broken, "ValueError"),
    ],
)
def test_a_transaction_that_a_task_has_left_open_is_rolled_back(task, deed, error_type):
    run, others = Stage(task).play(deed)
    assert (run.status, run.error_type) == ("failed", error_type)
    assert_same(others)
    assert not Job.objects.filter(description="never").exists()
