"""Calling listeners: whatever one of them does becomes a line in the log, or the reason to skip the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async

from django_gocron import events
from django_gocron.context import running
from django_gocron.exceptions import Cancelled
from django_gocron.executors.connecting import refresh
from django_gocron.executors.surroundings import kept
from django_gocron.executors.texts import message_of, traceback_of
from django_gocron.listeners import Kind, is_panic

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.context import RunContext
    from django_gocron.executors.base import Work
    from django_gocron.executors.outcome import Outcome
    from django_gocron.listeners import Listener

LONGEST_MESSAGE, LONGEST_TRACEBACK = 500, 10_000


class Listening:
    """The listeners of one run, called where its task is. Raises nothing."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._listeners = work.listeners

    @property
    def has_any(self) -> bool:
        return bool(self._listeners)

    def before(self) -> BaseException | None:
        """Call those that come before the task; answer why it is not to run, or None."""
        self._call(Kind.BEFORE_RUN)
        refusal = self._call(Kind.BEFORE_RUN_SKIP_ON_ERROR)
        return self._asked_to_end() or refusal

    async def abefore(self) -> BaseException | None:
        await self._acall(Kind.BEFORE_RUN)
        refusal = await self._acall(Kind.BEFORE_RUN_SKIP_ON_ERROR)
        return self._asked_to_end() or refusal

    def after(self, outcome: Outcome, error: BaseException | None) -> None:
        """Call those that come after the task, which has ended by ``error``, if that is not None."""
        for kind, args in self._afterwards(outcome, error):
            self._call(kind, *args)

    async def aafter(self, outcome: Outcome, error: BaseException | None) -> None:
        for kind, args in self._afterwards(outcome, error):
            await self._acall(kind, *args)

    def _asked_to_end(self) -> Cancelled | None:
        """Meanwhile its time may be over, or somebody may have cancelled it: then the task does not begin any more."""
        cancellation = self._work.cancellation
        is_over = self.has_any and cancellation.cause is not None
        return Cancelled(cancellation.words) if is_over else None

    def _afterwards(
        self, outcome: Outcome, error: BaseException | None
    ) -> list[tuple[Kind, tuple[BaseException, ...]]]:
        """A result that comes after the run has timed out does not count, whatever it is."""
        if not self._work.end():
            error = TimeoutError(self._work.cancellation.words)
        elif outcome.status == "succeeded" or error is None:
            return [(Kind.AFTER_RUN, ())]
        kinds = [Kind.AFTER_RUN_ERROR]
        if outcome.status == "failed" and is_panic(error):
            kinds.insert(0, Kind.AFTER_RUN_PANIC)
        return [(kind, (error,)) for kind in kinds]

    def _call(self, kind: Kind, *args: Any) -> BaseException | None:
        listener = self._listeners.get(kind)
        return listener and self._told(kind, listener, hear(listener, self._work.context, *args))

    async def _acall(self, kind: Kind, *args: Any) -> BaseException | None:
        listener = self._listeners.get(kind)
        return listener and self._told(kind, listener, await ahear(listener, self._work.context, *args))

    def _told(self, kind: Kind, listener: Listener, error: BaseException | None) -> BaseException | None:
        if error is not None and kind is not Kind.BEFORE_RUN_SKIP_ON_ERROR:
            tell_failure(self._work.publish, kind, listener, error)
        return error


def is_async(listener: Listener) -> bool:
    """Whether it is a coroutine function, or an object whose ``__call__`` is one."""
    return iscoroutinefunction(listener) or iscoroutinefunction(type(listener).__call__)


def hear(listener: Listener, run: RunContext, *args: Any) -> BaseException | None:
    """Call a listener in this thread; answer what it raised."""
    try:
        refresh()
        with kept(run):
            (async_to_sync(listener) if is_async(listener) else listener)(run, *args)
    except BaseException as error:  # noqa: BLE001
        return error
    return None


async def ahear(listener: Listener, run: RunContext, *args: Any) -> BaseException | None:
    """Call a listener beside this loop; answer what it raised."""
    try:
        with kept(run):
            await (listener if is_async(listener) else sync_to_async(listener))(run, *args)
    except BaseException as error:  # noqa: BLE001
        return error
    return None


def hear_lock_error(listener: Listener, run: Any, error: Exception, publish: Callable[..., None]) -> None:
    """Call a listener of ``on_lock_error``, in this thread."""
    with running(run):
        failure = hear(listener, run, error)
    if failure is not None:
        tell_failure(publish, Kind.ON_LOCK_ERROR, listener, failure)


def tell_failure(publish: Callable[..., None], kind: Kind, listener: Listener, error: BaseException) -> None:
    name = getattr(listener, "__qualname__", type(listener).__qualname__)
    publish(
        events.ListenerFailed,
        kind=kind.value,
        listener=f"{getattr(listener, '__module__', '')}.{name}",
        error=f"{type(error).__name__}: {message_of(error)[:LONGEST_MESSAGE]}",
        traceback=traceback_of(error, error.__traceback__)[-LONGEST_TRACEBACK:],
    )
