"""A process that a test starts, listens to and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 90
"""Seconds that something which must happen may take on a busy machine."""


def wait_until(condition: Callable[[], bool]) -> None:
    """For what happens in processes that are not ours to wait for."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)


class Process:
    """``lines`` are what it has written so far, to standard output and to standard error."""

    def __init__(self, command: Sequence[str], *, folder: Path, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._popen = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def wait_for(self, text: str) -> str:
        """The first line with that text, once there is one."""
        with self._news:
            self._news.wait_for(lambda: self._find(text) is not None or not self._reader_runs, PATIENCE)
        line = self._find(text)
        assert line is not None, f"no {text!r} in:\n{self.output}"
        return line

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def insist(self, number: signal.Signals) -> None:
        """Send a signal again and again until the process has ended."""
        while not self.has_ended:
            self.send(number)
            self._wait(0.2)

    def wait(self) -> int:
        """Its exit code, once it has ended and all is read."""
        code = self._popen.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def end(self) -> None:
        """Kill it where it still runs, with what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self.wait()
        if self._popen.stdout:
            self._popen.stdout.close()

    def _wait(self, seconds: float) -> None:
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    @property
    def _reader_runs(self) -> bool:
        return self._reader.is_alive()

    def _find(self, text: str) -> str | None:
        return next((line for line in self.lines if text in line), None)

    def _read(self) -> None:
        for line in self._popen.stdout or ():
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()
