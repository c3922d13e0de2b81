"""Listeners: functions that a project has called around its runs. No Django.

Each kind has its moment, in this order:

    before_run                  the run is about to begin: it has its lock
    before_run_skip_on_error    after that; what it raises is why the run is skipped
    (the task)
    after_run                   the task has succeeded
    after_run_panic             it has ended by what is no ordinary error; before the next
    after_run_error             it has failed, was cancelled, or has timed out; attempts that are tried again too
    on_lock_error               instead of all these: the run's locker refused it its lock, or could not answer

A listener is called with the run (``RunContext``), the last three also with the error. It may be a coroutine function.
It runs where its task does, so the task waits for the first two, and the result is recorded after the others; those
of ``on_lock_error`` run in a thread of their own. What it raises is logged and disturbs nobody, but where that is its
purpose. Nothing is called for a run that is lost: nobody is left who could.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict

from django_gocron.options import suggest

if TYPE_CHECKING:
    from django_gocron.context import RunContext
    from django_gocron.exceptions import GocronError

Listener = Callable[..., Any]


class Kind(StrEnum):
    """When a listener is called."""

    BEFORE_RUN = "before_run"
    BEFORE_RUN_SKIP_ON_ERROR = "before_run_skip_on_error"
    AFTER_RUN = "after_run"
    AFTER_RUN_PANIC = "after_run_panic"
    AFTER_RUN_ERROR = "after_run_error"
    ON_LOCK_ERROR = "on_lock_error"


WITH_ERROR = frozenset({Kind.AFTER_RUN_PANIC, Kind.AFTER_RUN_ERROR, Kind.ON_LOCK_ERROR})
"""The kinds that are told the error too."""


class Listeners(TypedDict, total=False):
    """One function of each kind, as ``@job(listeners=...)`` and ``Scheduler(listeners=...)`` take them."""

    before_run: Callable[[RunContext], Any]
    before_run_skip_on_error: Callable[[RunContext], Any]
    after_run: Callable[[RunContext], Any]
    after_run_panic: Callable[[RunContext, BaseException], Any]
    after_run_error: Callable[[RunContext, BaseException], Any]
    on_lock_error: Callable[[RunContext, Exception], Any]


def read_listeners(
    value: object, refusal: type[GocronError], where: str = "listeners"
) -> dict[Kind, Listener]:
    """The listeners in a dictionary by kind, or their dotted paths. Raises ``refusal`` (``bad_listeners``,
    ``listener_unknown``, ``listener_not_importable``, ``listener_not_callable``, ``listener_does_not_fit``), with
    ``listeners`` as its field; ``where`` they stand is in its message."""
    try:
        if not isinstance(value, Mapping):
            raise _Fault("bad_listeners", f"write a dictionary by kind, not {value!r}.")
        return {_read_kind(kind): _read_listener(kind, listener) for kind, listener in value.items()}
    except _Fault as fault:
        code, message = fault.args
        raise refusal(f"{where}: {message}", code=code, field="listeners") from None


class _Fault(Exception):
    """Code and message of what is wrong."""


def _read_kind(kind: object) -> Kind:
    known = [str(one) for one in Kind]
    if kind not in known:
        advice = suggest(str(kind), known) or f" There are {', '.join(known)}."
        raise _Fault("listener_unknown", f"there is no kind of listener {kind!r}.{advice}")
    return Kind(kind)


def _read_listener(kind: str, listener: object) -> Listener:
    if isinstance(listener, str):
        listener = _import(kind, listener)
    if not callable(listener):
        raise _Fault("listener_not_callable", f"the listener {kind} must be a function, not {listener!r}.")
    given = "the run and the error" if kind in WITH_ERROR else "the run"
    if not _can_be_called(listener, 2 if kind in WITH_ERROR else 1):
        message = f"the listener {kind} is called with {given}, which {listener!r} does not take."
        raise _Fault("listener_does_not_fit", message)
    return listener


def _import(kind: str, path: str) -> object:
    module, _dot, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        message = f"the listener {kind}, {path!r}, cannot be imported: {error}."
        raise _Fault("listener_not_importable", message) from error


def _can_be_called(listener: Listener, arguments: int) -> bool:
    try:
        inspect.signature(listener).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, it says nothing about its parameters
        return True
    return True


def is_panic(error: BaseException) -> bool:
    """Whether an error is no ordinary one: it would end a process, or says that the interpreter is at its end."""
    return not isinstance(error, Exception) or isinstance(error, MemoryError | RecursionError)
