"""Running a task, between its listeners: the boundary at which whatever user code does becomes a value."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import Error
from django.db.transaction import TransactionManagementError

from django_gocron import events
from django_gocron.context import running
from django_gocron.executors.connecting import close_all, close_inner, find_open, refresh, tidy
from django_gocron.executors.listening import Listening
from django_gocron.executors.output import capture
from django_gocron.executors.surroundings import kept
from django_gocron.executors.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django_gocron.executors.base import Clock, Work
    from django_gocron.executors.outcome import Outcome


def call(work: Work, clock: Clock) -> Outcome:
    """Run a function, between two looks at the thread's database connections. Raises nothing."""
    listening = Listening(work)
    with _run(work):
        outer = find_open()
        refusal = listening.before()
        if listening.has_any:
            tidy(outer)
        verdict = Verdict(work, clock)
        if refusal is None:
            outcome = _call(work, verdict, outer)
            listening.after(outcome, verdict.error)
        else:
            outcome = verdict.on_refusal(refusal)
        if listening.has_any:
            tidy(outer)
        return outcome


def _call(work: Work, verdict: Verdict, outer: set[str]) -> Outcome:
    """What a task has written in a transaction that it never ended is about to be lost: that is no success."""
    work.publish(events.RunExecuting)
    try:
        refresh()
        work.task.check_arguments(work.args, work.kwargs)
        with kept(work.context):
            result = work.task.function(*work.all_args, **work.kwargs)
        if left_open := find_open() - outer:
            raise _left_open(left_open)
        return verdict.on_result(result)
    except BaseException as error:  # noqa: BLE001
        return verdict.on_error(error)
    finally:
        tidy(outer)


def _left_open(aliases: set[str]) -> TransactionManagementError:
    names = ", ".join(map(repr, sorted(aliases)))
    return TransactionManagementError(f"The task left a transaction open on {names}. It is rolled back.")


async def call_async(work: Work, clock: Clock) -> Outcome:
    """Run a coroutine function, with a thread of its own for the synchronous code that it calls. Raises nothing, not
    even when the run is asked to end while that thread is being dismissed: its code has ended by then."""
    with _run(work):
        with suppress(asyncio.CancelledError):
            async with ThreadSensitiveContext():
                outcome = await _await(work, clock, close_all)
        return outcome


async def call_async_here(work: Work, clock: Clock) -> Outcome:
    """The same, but the synchronous code runs in the thread that waits for this, within the transactions that are open
    there."""
    outer = await sync_to_async(find_open)()
    with _run(work):
        return await _await(work, clock, partial(close_inner, outer))


async def _await(work: Work, clock: Clock, close: Callable[[], set[str]]) -> Outcome:
    listening = Listening(work)
    refusal = await listening.abefore()
    if listening.has_any:
        await _close(close)
    verdict = Verdict(work, clock)
    if refusal is None:
        outcome = await _call_async(work, verdict, close)
        await listening.aafter(outcome, verdict.error)
    else:
        outcome = verdict.on_refusal(refusal)
    if listening.has_any:
        await _close(close)
    return outcome


async def _call_async(work: Work, verdict: Verdict, close: Callable[[], set[str]]) -> Outcome:
    work.publish(events.RunExecuting)
    try:
        work.task.check_arguments(work.args, work.kwargs)
        with kept(work.context):
            result = await work.task.function(*work.all_args, **work.kwargs)
        outcome = verdict.on_result(result)
    except BaseException as error:  # noqa: BLE001
        outcome = verdict.on_error(error)
    left_open = await _close(close)
    return verdict.on_error(_left_open(left_open)) if left_open and verdict.error is None else outcome


async def _close(close: Callable[[], set[str]]) -> set[str]:
    """Call ``close`` in the run's own thread, once the synchronous code that the run has left there has ended: that may
    be long after the run was cancelled, and cancelling it again does not shorten it. The interpreter's end does."""
    left_open: set[str] = set()
    closing = asyncio.ensure_future(sync_to_async(lambda: left_open.update(close()))())
    with suppress(RuntimeError):
        while not closing.done():
            with suppress(asyncio.CancelledError, Error):
                await asyncio.shield(closing)
    return left_open


@contextmanager
def _run(work: Work) -> Iterator[None]:
    with running(work.context), capture(work.output):
        yield
