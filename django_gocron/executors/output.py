"""The log records of a run, kept with it: the latest lines, bounded.

One handler on the root logger looks whether the code that logs is part of a run (a context variable, which threads of
``asyncio`` and coroutines carry along) and keeps the line, as it was said then. No lock is taken: a run's buffer is
written by whoever runs it, and a deque's append is atomic. Another thread may read it meanwhile.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from django_gocron.executors.results import describe
from django_gocron.executors.texts import storable

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_LINES = 1000
LONGEST_LINE = 2_000
LONGEST = 100_000
"""Characters of a run's output that are kept."""

_formatter = logging.Formatter("%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s  %(message)s", "%H:%M:%S")


class Output:
    """The records of one run."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._dropped = 0

    def add(self, record: logging.LogRecord) -> None:
        if len(self._lines) == MOST_LINES:
            self._dropped += 1
        self._lines.append(_format(record))

    def text(self) -> str:
        """One line a record, the oldest first; how many were dropped, if any."""
        lines = self._lines.copy()
        length = sum(len(line) + 1 for line in lines)
        dropped = self._dropped
        while length > LONGEST:
            length -= len(lines.popleft()) + 1
            dropped += 1
        head = [f"... {dropped} earlier lines were dropped ..."] if dropped else []
        return storable("\n".join([*head, *lines]))


def _format(record: logging.LogRecord) -> str:
    try:
        text = _formatter.format(record)
    except BaseException as error:  # noqa: BLE001 - arguments that do not fit, or that raise when they are shown
        what = f"could not be formatted: {type(error).__name__}"
        text = f"{record.levelname} {record.name} {describe(record.msg)} ({what})"
    return text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "..."


_current: ContextVar[Output | None] = ContextVar("gocron_output", default=None)


class _Handler(logging.Handler):
    def handle(self, record: logging.LogRecord) -> bool:
        """In place of ``emit``: ``logging`` calls that one under the handler's lock."""
        output = _current.get()
        if output is not None:
            output.add(record)
        return True


_handler = _Handler()


@contextmanager
def capture(output: Output | None = None) -> Iterator[Output]:
    """Keep what the enclosed code logs, in ``output`` if given."""
    root = logging.getLogger()
    if _handler not in root.handlers:
        root.addHandler(_handler)
    output = output or Output()
    token = _current.set(output)
    try:
        yield output
    finally:
        _current.reset(token)
