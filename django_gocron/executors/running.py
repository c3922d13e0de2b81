"""Running a task, between its listeners: the boundary at which whatever user code does becomes a value."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import Error, close_old_connections, connections
from django.db.transaction import TransactionManagementError

from django_gocron import events
from django_gocron.context import running
from django_gocron.executors.listening import Listening
from django_gocron.executors.output import capture
from django_gocron.executors.surroundings import kept
from django_gocron.executors.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django_gocron.executors.base import Clock, Work
    from django_gocron.executors.outcome import Outcome

logger = logging.getLogger("django_gocron")


def call(work: Work, clock: Clock) -> Outcome:
    """Run a function, between two looks at the thread's database connections. Raises nothing."""
    listening = Listening(work)
    with _run(work):
        outer = _open_transactions()
        refusal = listening.before()
        verdict = Verdict(work, clock)
        if refusal is None:
            outcome = _call(work, verdict, outer)
            listening.after(outcome, verdict.error)
        else:
            outcome = verdict.on_refusal(refusal)
        if listening.has_any:
            _tidy(outer)
        return outcome


def _call(work: Work, verdict: Verdict, outer: set[str]) -> Outcome:
    work.publish(events.RunExecuting)
    try:
        _look_after_connections()
        work.task.check_arguments(work.args, work.kwargs)
        with kept(work.context):
            result = work.task.function(*work.all_args, **work.kwargs)
        _refuse_open_transactions(outer)
        return verdict.on_result(result)
    except BaseException as error:  # noqa: BLE001
        return verdict.on_error(error)
    finally:
        _tidy(outer)


def _look_after_connections() -> None:
    """One that persists is tried before its first use, whatever the project has set: it may have broken since, by what
    an earlier run did or all by itself."""
    for one in connections.all(initialized_only=True):
        one.health_check_enabled = True  # type: ignore[attr-defined]
    close_old_connections()


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
    if left_open := _open_transactions() - outer:
        raise _left_open(left_open)


def _left_open(aliases: set[str]) -> TransactionManagementError:
    names = ", ".join(map(repr, sorted(aliases)))
    return TransactionManagementError(f"The task left a transaction open on {names}. It is rolled back.")


def _discard(aliases: set[str]) -> None:
    """Connections that are still inside a transaction are of no use to the next run: Django makes others."""
    for alias in aliases:
        connections[alias].close()
        del connections[alias]


async def call_async(work: Work, clock: Clock) -> Outcome:
    """Run a coroutine function, with a thread of its own for the synchronous code that it calls. Raises nothing, not
    even when the run is asked to end while that thread is being dismissed: its code has ended by then."""
    with _run(work):
        with suppress(asyncio.CancelledError):
            async with ThreadSensitiveContext():
                outcome = await _await(work, clock)
        return outcome


async def _await(work: Work, clock: Clock) -> Outcome:
    listening = Listening(work)
    refusal = await listening.abefore()
    verdict = Verdict(work, clock)
    if refusal is None:
        outcome = await _call_async(work, verdict)
        await listening.aafter(outcome, verdict.error)
    else:
        outcome = verdict.on_refusal(refusal)
    if listening.has_any:
        await _close_connections()
    return outcome


async def _call_async(work: Work, verdict: Verdict) -> Outcome:
    work.publish(events.RunExecuting)
    try:
        work.task.check_arguments(work.args, work.kwargs)
        with kept(work.context):
            result = await work.task.function(*work.all_args, **work.kwargs)
        outcome = verdict.on_result(result)
    except BaseException as error:  # noqa: BLE001
        outcome = verdict.on_error(error)
    left_open = await _close_connections()
    return verdict.on_error(_left_open(left_open)) if left_open and verdict.error is None else outcome


async def _close_connections() -> set[str]:
    """Of the run's own thread, once the synchronous code that the run has left there has ended: that may be long after
    the run was cancelled, and cancelling it again does not shorten it. The interpreter's end does. Answers the aliases
    on which a transaction was open."""
    left_open: set[str] = set()

    def close() -> None:
        left_open.update(_open_transactions())
        connections.close_all()

    closing = asyncio.ensure_future(sync_to_async(close)())
    with suppress(RuntimeError):
        while not closing.done():
            with suppress(asyncio.CancelledError, Error):
                await asyncio.shield(closing)
    return left_open


@contextmanager
def _run(work: Work) -> Iterator[None]:
    with running(work.context), capture(work.output):
        yield
