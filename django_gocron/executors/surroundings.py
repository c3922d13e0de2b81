"""What belongs to the whole process, and a task can leave changed: put back, and told, once its run has ended.

Threads cannot have a working directory, a locale or a time zone of their own. What is there when a run begins
while no other executes is how the process wants it: it is kept. A run that finds something else at its end puts that
back, unless others execute beside it. One of them may be about to do so itself (``with contextlib.chdir(...)``), and
would lose its footing: they are let out first, those that begin meanwhile are not waited for.

Nothing can be done for what runs beside a task that changes its process. What a thread has of its own
(``threading.local``) stays, as it does from request to request; so does the umask, which cannot be read without setting
another for a moment.
"""

from __future__ import annotations

import locale
import logging
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.context import RunContext

logger = logging.getLogger("django_gocron")


class Surroundings(NamedTuple):
    """``working_directory`` is "" when it has been deleted."""

    working_directory: str
    locale: str
    time_zone: tuple[str | None, tuple[str, str]]
    recursion_limit: int


def look() -> Surroundings:
    """Takes some microseconds. Raises nothing."""
    return Surroundings(
        _read_directory(),
        locale.setlocale(locale.LC_ALL),
        (os.environ.get("TZ"), time.tzname),
        sys.getrecursionlimit(),
    )


def _read_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - no path is wanted, and this is called around every run
    except OSError:
        return ""


def _set_time_zone(value: tuple[str | None, tuple[str, str]]) -> None:
    name, _ = value
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    if hasattr(time, "tzset"):  # Windows has none
        time.tzset()


PUT_BACK: dict[str, Callable[..., object]] = {
    "working_directory": os.chdir,
    "locale": lambda value: locale.setlocale(locale.LC_ALL, value),
    "time_zone": _set_time_zone,
    "recursion_limit": sys.setrecursionlimit,
}


class Keeper:
    """One a process. May be used from any thread."""

    def __init__(self) -> None:
        self.kept = look()
        self._found = self.kept
        self._lock = threading.Lock()
        self._executing: set[object] = set()
        self._waited_for: set[object] = set()

    def enter(self, block: object) -> None:
        with self._lock:
            if not self._executing:
                self.kept = self._found = look()
            self._executing.add(block)

    def leave(self, block: object, run: RunContext) -> None:
        """What was found changed is put back once all have left who were there then."""
        with self._lock:
            self._executing.discard(block)
            found = look()
            if found != self._found:
                self._found, self._waited_for = found, self._executing.copy()
            self._waited_for.discard(block)
            if found != self.kept and not self._waited_for:
                self._put_back(found, run)
                self._found = look()

    def _put_back(self, found: Surroundings, run: RunContext) -> None:
        for name, was, kept in zip(found._fields, found, self.kept, strict=True):
            if was != kept:
                _tell(run, name, was, kept)
                try:
                    PUT_BACK[name](kept)
                except (OSError, RecursionError, locale.Error):
                    logger.exception("That was not possible.")


def _tell(run: RunContext, name: str, was: object, kept: object) -> None:
    logger.warning(
        "Run %s of job %r, or one beside it, has changed the %s of the process to %r. It is put back to %r.",
        run.run_id,
        run.job_name,
        name.replace("_", " "),
        was,
        kept,
    )


keeper = Keeper()


class kept:
    """``with kept(run): ...`` around user code, in whatever thread."""

    __slots__ = ("_run",)

    def __init__(self, run: RunContext) -> None:
        self._run = run

    def __enter__(self) -> None:
        keeper.enter(self)

    def __exit__(self, *error: object) -> None:
        """Under the lowest limit that a task can set nothing of ours could be called: that one cannot wait."""
        if (limit := sys.getrecursionlimit()) < keeper.kept.recursion_limit:
            sys.setrecursionlimit(keeper.kept.recursion_limit)
            _tell(self._run, "recursion_limit", limit, keeper.kept.recursion_limit)
        keeper.leave(self, self._run)
