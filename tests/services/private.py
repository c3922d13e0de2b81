"""Servers of a test's own, without a password and without files, which it may stop and start again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Self

PATIENCE = 20
"""Seconds that one may take to answer."""


def find_program(*names: str) -> str | None:
    """The first of the names that is installed."""
    return next(filter(None, map(shutil.which, names)), None)


def memcached(program: str) -> Callable[[int], list[str]]:
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    return lambda port: [program, *user, "-U", "0", "-l", "127.0.0.1", "-p", str(port)]


def redis(program: str) -> Callable[[int], list[str]]:
    """The program may be Redis's or Valkey's."""
    return lambda port: [
        program,
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--save",
        "",
        "--appendonly",
        "no",
    ]


class PrivateServer:
    """``with PrivateServer(redis(program)) as server: ...`` answers on ``server.port`` of 127.0.0.1. ``stop`` and
    ``start`` make an outage of it, after which it has forgotten everything."""

    def __init__(self, command: Callable[[int], list[str]]) -> None:
        self.port = _free_port()
        self._command = command(self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns once it answers."""
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdin=nothing, stdout=nothing, stderr=nothing)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, f"{self._command[0]} ended with {self._process.returncode}"
            assert time.monotonic() < deadline, f"{self._command[0]} does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """Without a farewell."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
