"""Running a task: the boundary at which whatever user code does becomes a value."""

from __future__ import annotations

import asyncio
import logging
import traceback
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import DatabaseError, InterfaceError, close_old_connections, connections
from django.db.transaction import TransactionManagementError

from django_gocron.context import Cause, running
from django_gocron.exceptions import ArgumentsError, Cancelled, Retry
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

ENDINGS = {
    Cause.TIMEOUT: ("timed_out", ""),
    Cause.BY_USER: ("cancelled", "by_user"),
    Cause.SHUTDOWN: ("cancelled", "shutdown"),
}
"""Status and reason of a run that has let itself be cancelled."""

LONGEST_MESSAGE = 2_000
LONGEST_TRACEBACK = 100_000


def call(work: Work, clock: Clock) -> Outcome:
    """Run a function, between two looks at the thread's database connections. Raises nothing."""
    started_at = clock.now()
    with _run(work) as output:
        outer = _open_transactions()
        try:
            close_old_connections()
            work.task.check_arguments(work.args, work.kwargs)
            result = work.task.function(*work.args, **work.kwargs)
            _refuse_open_transactions(outer)
            return _succeeded(work, result, started_at, clock.now(), output)
        except BaseException as error:  # noqa: BLE001
            return _raised(work, error, started_at, clock.now(), output)
        finally:
            _tidy(outer)


def _tidy(outer: set[str]) -> None:
    """A connection that cannot even be closed must not take the run's outcome with it."""
    try:
        _discard(_open_transactions() - outer)
        close_old_connections()
    except Exception:
        logger.exception("The database connections of a run could not be closed.")


def _open_transactions() -> set[str]:
    """The aliases on which this thread is inside a transaction."""
    return {one.alias for one in connections.all(initialized_only=True) if one.in_atomic_block}


def _refuse_open_transactions(outer: set[str]) -> None:
    """What a task has written in a transaction that it never ended is about to be lost: that is no success."""
    for alias in sorted(_open_transactions() - outer):
        raise TransactionManagementError(f"The task left a transaction open on {alias!r}. It is rolled back.")


def _discard(aliases: set[str]) -> None:
    """Connections that are still inside a transaction are of no use to the next run: Django makes others."""
    for alias in aliases:
        connections[alias].close()
        del connections[alias]


async def call_async(work: Work, clock: Clock) -> Outcome:
    """Run a coroutine function, with a thread of its own for the synchronous code that it calls. Raises nothing, not
    even when the run is asked to end while that thread is being dismissed: its code has ended by then."""
    started_at = clock.now()
    with _run(work) as output:
        with suppress(asyncio.CancelledError):
            async with ThreadSensitiveContext():
                outcome = await _await(work, clock, started_at, output)
        return outcome


async def _await(work: Work, clock: Clock, started_at: datetime, output: Output) -> Outcome:
    try:
        work.task.check_arguments(work.args, work.kwargs)
        result = await work.task.function(*work.args, **work.kwargs)
        return _succeeded(work, result, started_at, clock.now(), output)
    except BaseException as error:  # noqa: BLE001
        return _raised(work, error, started_at, clock.now(), output)
    finally:
        await _close_connections()


async def _close_connections() -> None:
    """Of the run's own thread, once the synchronous code that the run has left there has ended: that may be long after
    the run was cancelled, and cancelling it again does not shorten it. The interpreter's end does."""
    closing = asyncio.ensure_future(sync_to_async(connections.close_all)())
    with suppress(RuntimeError):
        while not closing.done():
            with suppress(asyncio.CancelledError, DatabaseError, InterfaceError):
                await asyncio.shield(closing)


@contextmanager
def _run(work: Work) -> Iterator[Output]:
    with running(work.context), capture(work.output) as output:
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


def _raised(
    work: Work, error: BaseException, started_at: datetime, finished_at: datetime, output: Output
) -> Outcome:
    """A task that was asked to end, and lets that through, has been cancelled; one that cancels itself has failed."""
    cause = work.cancellation.cause
    if cause is not None and isinstance(error, Cancelled | asyncio.CancelledError):
        status, reason = ENDINGS[cause]
        return _ended(work, error, started_at, finished_at, output, status=status, reason=reason)
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return _succeeded(work, None, started_at, finished_at, output)
    return _ended(work, error, started_at, finished_at, output, status="failed", reason=_reason(error))


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
    message = _message(error) or ("" if status == "failed" else work.cancellation.words)
    return Outcome(
        status=status,
        reason=reason,
        started_at=started_at,
        finished_at=finished_at,
        error_type=_qualified_name(type(error))[:255],
        error_message=_bounded(message, secrets, LONGEST_MESSAGE),
        traceback=_bounded(_traceback(error), secrets, LONGEST_TRACEBACK),
        output=mask_text(output.text(), secrets),
        retry_after=error.after if isinstance(error, Retry) else None,
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
    except BaseException:  # noqa: BLE001 - an exception's own __str__ may raise
        return ""


def _traceback(error: BaseException) -> str:
    """Without the frame of ours that called the task."""
    own: TracebackType | None = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, own.tb_next if own else None))


def _bounded(text: str, secrets: set[str], longest: int) -> str:
    """Masked before it is cut, lest a part of a secret stays; but not all of a text without end."""
    return storable(mask_text(text[: 2 * longest], secrets))[:longest]
