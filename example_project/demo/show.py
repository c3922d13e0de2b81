"""The demo while it runs: the web server and the scheduler start, are listened to, and are stopped in order."""

from __future__ import annotations

import re
import signal
import time
from collections import deque
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from django.core.management import CommandError
from django.urls import reverse

from demo.children import Child, Ended, Interrupted, Line, Message
from demo.opening import LOGIN, PASSWORD
from demo.ports import HOST, answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WEB, SCHEDULER = "web server", "scheduler"

START_LIMIT = 60.0
"""Seconds that a child has for its start."""

STOP_LIMIT = 45.0
"""Seconds that a child has to stop: the scheduler waits up to 30 s for a run."""

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

SERVER_ERROR = re.compile(r'" 5\d\d \d+$')
"""How the lines of the web server end that are shown: it has a line for each request."""


class Show:
    """``lines`` are all that the scheduler wrote."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.lines: list[str] = []
        self._web_lines: deque[str] = deque(maxlen=50)
        self._say = say
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        self._children: dict[str, Child] = {}

    def run(self, port: int, seconds: float | None) -> bool:
        """Run until interrupted, or for some seconds; answer whether it ran as long as it should.

        Raises ``CommandError`` when a child ends unasked. No child is left, whatever happens.
        """
        with self._signals():
            try:
                if not (self._open(port) and self._start_scheduler()):
                    return False
                return self._listen(seconds)
            finally:
                self._stop()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """``SimpleQueue.put`` may be called from a signal handler, whatever the code that is interrupted."""
        before = {
            number: signal.signal(number, lambda *_: self._inbox.put(Interrupted()))
            for number in STOP_SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self, name: str, *command: str) -> None:
        self._children[name] = Child(name, command, self._inbox)

    def _open(self, port: int) -> bool:
        """Start the web server and wait until it answers; False when interrupted."""
        self._start(WEB, "runserver", "--noreload", f"{HOST}:{port}")
        deadline = time.monotonic() + START_LIMIT
        while not answers(port, reverse("admin:login")):
            if time.monotonic() > deadline:
                self._tell_web_lines()
                raise CommandError(f"The web server gave no page within {START_LIMIT:.0f} s.")
            if self._handle_next(0.2):
                return False
        self._say(f"\n  http://{HOST}:{port}{reverse('admin:index')}   login: {LOGIN}   password: {PASSWORD}")
        self._say("  Ctrl-C ends the demo.\n")
        return True

    def _start_scheduler(self) -> bool:
        """Start it and wait for its first line; False when interrupted."""
        self._start(SCHEDULER, "runscheduler", "--no-autoreload", "--instance-name", "demo")
        deadline = time.monotonic() + START_LIMIT
        while not self.lines:
            if time.monotonic() > deadline:
                raise CommandError(f"The scheduler said nothing within {START_LIMIT:.0f} s.")
            if self._handle_next(0.2):
                return False
        return True

    def _listen(self, seconds: float | None) -> bool:
        deadline = None if seconds is None else time.monotonic() + seconds
        while deadline is None or time.monotonic() < deadline:
            if self._handle_next(1.0 if deadline is None else max(0.0, deadline - time.monotonic())):
                return False
        return True

    def _handle_next(self, patience: float) -> bool:
        """Wait for one message; True when it asks for the end. Raises ``CommandError`` when a child has ended."""
        match self._next(patience):
            case Line() as line:
                self._show(line)
            case Ended(child=child, code=code):
                if child == WEB:
                    self._tell_web_lines()
                raise CommandError(f"The {child} has ended by itself, with code {code}.")
            case Interrupted():
                return True
            case None:
                pass
        return False

    def _next(self, patience: float) -> Message | None:
        try:
            return self._inbox.get(timeout=patience)
        except Empty:
            return None

    def _show(self, line: Line) -> None:
        if line.child == SCHEDULER:
            self.lines.append(line.text)
            self._say(line.text)
        else:
            self._web_lines.append(line.text)
            if SERVER_ERROR.search(line.text):
                self._say(f"web server: {line.text}")

    def _tell_web_lines(self) -> None:
        """What the web server had to say, when it matters."""
        for line in self._web_lines:
            self._say(f"web server: {line}")

    def _stop(self) -> None:
        """The scheduler first, so that nothing runs behind a closed door."""
        try:
            for name in (SCHEDULER, WEB):
                if child := self._children.get(name):
                    self._stop_child(child)
        finally:
            for child in self._children.values():
                child.end()

    def _stop_child(self, child: Child) -> None:
        """Interrupt it, once more for each interrupt that we get ourselves, and show its last lines."""
        deadline = time.monotonic() + STOP_LIMIT
        child.interrupt()
        while time.monotonic() < deadline:
            message = self._next(0.2)
            if isinstance(message, Line):
                self._show(message)
            elif not child.is_running:
                return
            elif isinstance(message, Interrupted):
                child.interrupt()
        self._say(f"The {child.name} did not stop within {STOP_LIMIT:.0f} s. It is killed.")
