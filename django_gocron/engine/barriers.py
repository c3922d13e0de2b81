"""Named points in the engine's code, at which a test has this process killed, frozen or held up.

Out of use, which is always but in tests of faults, a point costs one comparison with None. The environment puts them
to use, when this module is imported:

``GOCRON_BARRIERS``
    What happens where: ``start.after=kill, renew.before@3=stop``. ``@3`` is the third time that the point is reached
    (default: the first); it happens that once.
``GOCRON_TRACE``
    A file to which every point that is reached is appended, as a line of JSON.

The actions: ``kill`` and ``stop`` send the process SIGKILL and SIGSTOP, ``raise`` raises ``BarrierError``,
``disconnect`` breaks the thread's connections to servers of databases, ``wait:PATH`` lasts until the file at PATH
exists.

Points may be reached from any thread. A crash loses the counts, nothing else; they are no part of the protocol.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from django.db import connections

from django_gocron import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

POINTS = (
    "claim.before",
    "record.before",
    "record.after",
    "claim.after",
    "take.before",
    "take.inside",
    "take.after",
    "start.before",
    "start.after",
    "begin.before",
    "begin.after",
    "finish.before",
    "finish.inside",
    "finish.after",
    "renew.before",
    "renew.after",
    "reap.before",
    "reap.inside",
    "reap.after",
    "resign.before",
    "resign.inside",
    "resign.after",
    "elect.before",
    "elect.after",
)
"""``record`` is within a claim's transaction, on both sides of the rows' insertion; ``take`` is a claim of queued
runs; ``resign`` is an instance's last transaction; ``elect`` is on both sides of what an elector is asked, and reached
only where there is one. ``inside`` is when all is written and nothing committed."""

LOOK_AGAIN = 0.01
"""Seconds between two looks for the file that ends a ``wait``."""


class BarrierError(Exception):
    """Raised by ``raise``: something that nobody has thought of."""


@dataclass(slots=True, kw_only=True)
class Plan:
    """What happens at which point, and the trace. ``actions`` are by point and occurrence, counted from 1."""

    actions: Mapping[tuple[str, int], str]
    trace: str = ""
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def read(cls, text: str, trace: str = "") -> Self:
        """Raises ``ValueError`` for what is not a list of ``point@occurrence=action``."""
        return cls(actions=dict(_read_action(part) for part in text.split(",") if part.strip()), trace=trace)

    def reach(self, point: str, runs: Iterable[Any]) -> None:
        with self._lock:
            self._counts[point] += 1
            occurrence = self._counts[point]
        action = self.actions.get((point, occurrence), "")
        if self.trace:
            self._write(point, occurrence, action, [getattr(run, "run_id", run) for run in runs])
        if action:
            name, _, argument = action.partition(":")
            ACTIONS[name](*filter(None, [argument]))

    def _write(self, point: str, occurrence: int, action: str, runs: list[Any]) -> None:
        append(self.trace, kind="reach", point=point, occurrence=occurrence, action=action, runs=runs)


def reach(point: str, runs: Iterable[Any] = ()) -> None:
    """This thread is at that point, with these runs (entries, or ids) in hand."""
    if _plan is not None:
        _plan.reach(point, runs)


def arm(environment: Mapping[str, str]) -> None:
    """Do as the environment says from now on."""
    global _plan
    text, trace = environment.get("GOCRON_BARRIERS", ""), environment.get("GOCRON_TRACE", "")
    _plan = Plan.read(text, trace) if text or trace else None


def append(trace: str, **facts: object) -> None:
    """Add a line to a trace, with the process, and the time since boot and on the wall. Lines of many processes do not
    mix: each is one write to a file opened for appending."""
    line = {"boottime": clock.boottime(), "wall": clock.host_now().timestamp(), "pid": os.getpid(), **facts}
    file = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, (json.dumps(line, default=str) + "\n").encode())
    finally:
        os.close(file)


def _read_action(text: str) -> tuple[tuple[str, int], str]:
    place, _, action = text.strip().partition("=")
    point, _, occurrence = place.partition("@")
    name, _, argument = action.partition(":")
    is_action = name in ACTIONS and bool(argument) == (name == "wait")
    if point not in POINTS or not is_action or not (occurrence or "1").isdecimal():
        raise ValueError(
            f"GOCRON_BARRIERS has {text.strip()!r}, which is no point=action. Points: {', '.join(POINTS)}."
            f" Actions: {', '.join(ACTIONS)}."
        )
    return (point, int(occurrence or 1)), action


def _raise() -> None:
    raise BarrierError


def _disconnect() -> None:
    """Under the drivers' feet: what is asked next fails as when the network does. SQLite has none."""
    for connection in connections.all(initialized_only=True):
        driver: Any = connection.connection
        line = getattr(driver, "_sock", driver)  # PyMySQL hides its socket
        if hasattr(line, "fileno"):
            with socket.socket(fileno=os.dup(line.fileno())) as broken:
                broken.shutdown(socket.SHUT_RDWR)


def _wait(path: str) -> None:
    while not Path(path).exists():
        clock.pause(LOOK_AGAIN)


ACTIONS: Mapping[str, Callable[..., None]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "raise": _raise,
    "disconnect": _disconnect,
    "wait": _wait,
}

_plan: Plan | None = None
arm(os.environ)
