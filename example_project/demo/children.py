"""The processes that the demo starts: what they say and how they end comes to one inbox, in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from queue import SimpleQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that a child has written."""

    child: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A child has ended, after its last line."""

    child: str
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """Somebody wants the demo to stop."""


Message = Line | Ended | Interrupted


class Child:
    """A command of ``manage.py`` in a process of its own, on a leash (see ``demo.leash``).

    In a session of its own, too: Ctrl-C in the terminal reaches the demo alone, which then stops one after the other.
    """

    def __init__(self, name: str, command: Sequence[str], inbox: SimpleQueue[Message]) -> None:
        self.name = name
        self._inbox = inbox
        self._process = subprocess.Popen(
            [sys.executable, *(f"-W{option}" for option in sys.warnoptions), "-m", "demo.leash", *command],
            cwd=settings.BASE_DIR,
            env={**os.environ, "PYTHONIOENCODING": "utf-8:replace", "PYTHONUNBUFFERED": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=f"reader of the {name}")
        self._reader.start()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        if self.is_running:
            self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Make sure that it runs no more."""
        if self.is_running:
            self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._inbox.put(Line(child=self.name, text=line.rstrip("\n")))
        self._inbox.put(Ended(child=self.name, code=self._process.wait()))
