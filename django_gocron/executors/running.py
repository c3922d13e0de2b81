"""Running a task: the boundary at which whatever user code does becomes a value."""

from __future__ import annotations

import asyncio
import logging
import traceback
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections

from django_gocron.context import running
from django_gocron.exceptions import ArgumentsError
from django_gocron.executors import results
from django_gocron.executors.outcome import Outcome
from django_gocron.executors.output import Output, capture
from django_gocron.executors.texts import storable
from django_gocron.masking import find_secrets, mask_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from types import TracebackType

    from django_gocron.executors.base import Clock, Work

logger = logging.getLogger("django_gocron")

LONGEST_MESSAGE = 2_000
LONGEST_TRACEBACK = 100_000


def call(work: Work, clock: Clock) -> Outcome:
    """Run a function, between two looks at the thread's database connections. Raises nothing."""
    started_at = clock.now()
    with _run(work) as output:
        try:
            close_old_connections()
            work.task.check_arguments(work.args, work.kwargs)
            result = work.task.function(*work.args, **work.kwargs)
            return _succeeded(work, result, started_at, clock.now(), output)
        except BaseException as error:  # noqa: BLE001
            return _failed(work, error, started_at, clock.now(), output)
        finally:
            close_old_connections()


async def call_async(work: Work, clock: Clock) -> Outcome:
    """Run a coroutine function, with a thread of its own for the synchronous code that it calls. Raises nothing."""
    started_at = clock.now()
    with _run(work) as output:
        async with ThreadSensitiveContext():
            try:
                work.task.check_arguments(work.args, work.kwargs)
                result = await work.task.function(*work.args, **work.kwargs)
                return _succeeded(work, result, started_at, clock.now(), output)
            except asyncio.CancelledError as error:
                return _cancelled(work, error, started_at, clock.now(), output)
            except BaseException as error:  # noqa: BLE001
                return _failed(work, error, started_at, clock.now(), output)
            finally:
                await _close_connections()


async def _close_connections() -> None:
    """Of the run's own thread, to the end even if the run is cancelled now, or the interpreter is ending."""
    closing = asyncio.ensure_future(sync_to_async(connections.close_all)())
    with suppress(asyncio.CancelledError, RuntimeError):
        await asyncio.shield(closing)


@contextmanager
def _run(work: Work) -> Iterator[Output]:
    with running(work.context), capture() as output:
        yield output


def _succeeded(
    work: Work, result: Any, started_at: datetime, finished_at: datetime, output: Output
) -> Outcome:
    return Outcome(
        status="succeeded",
        started_at=started_at,
        finished_at=finished_at,
        result=results.keep(result),
        output=mask_text(output.text(), find_secrets(work.kwargs)),
    )


def _failed(
    work: Work, error: BaseException, started_at: datetime, finished_at: datetime, output: Output
) -> Outcome:
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return _succeeded(work, None, started_at, finished_at, output)
    return _ended(work, error, started_at, finished_at, output, status="failed", reason=_reason(error))


def _cancelled(
    work: Work, error: BaseException, started_at: datetime, finished_at: datetime, output: Output
) -> Outcome:
    """Cancelled from outside, by a stop; a task that raises ``CancelledError`` by itself has failed."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        return _failed(work, error, started_at, finished_at, output)
    return _ended(work, error, started_at, finished_at, output, status="cancelled", reason="shutdown")


def _ended(
    work: Work,
    error: BaseException,
    started_at: datetime,
    finished_at: datetime,
    output: Output,
    *,
    status: str,
    reason: str,
) -> Outcome:
    secrets = find_secrets(work.kwargs)
    return Outcome(
        status=status,
        reason=reason,
        started_at=started_at,
        finished_at=finished_at,
        error_type=_qualified_name(type(error))[:255],
        error_message=_bounded(_message(error), secrets, LONGEST_MESSAGE),
        traceback=_bounded(_traceback(error), secrets, LONGEST_TRACEBACK),
        output=mask_text(output.text(), secrets),
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "exit"
    return "bad_arguments" if isinstance(error, ArgumentsError) else "exception"


def _qualified_name(kind: type[BaseException]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may raise
        return ""


def _traceback(error: BaseException) -> str:
    """Without the frame of ours that called the task."""
    own: TracebackType | None = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, own.tb_next if own else None))


def _bounded(text: str, secrets: set[str], longest: int) -> str:
    """Masked before it is cut, lest a part of a secret stays; but not all of a text without end."""
    return storable(mask_text(text[: 2 * longest], secrets))[:longest]
