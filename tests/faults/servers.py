"""Servers that a test may break: a PostgreSQL of its own, and a wire to a server that can be cut."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PrivatePostgreSQL:
    """A server in a folder of its own, on a port of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gocron-faults-"))
        self.port = free_port()
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")

    @property
    def address(self) -> dict[str, Any]:
        return {
            "HOST": "127.0.0.1",
            "PORT": self.port,
            "USER": "postgres",
            "PASSWORD": "",
            "NAME": "postgres",
        }

    def make(self) -> None:
        self._run("initdb", "-U", "postgres", "-A", "trust", "-N", "-D", str(self.folder / "data"))

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self._control("start", "-w", "-o", options, "-l", str(self.folder / "log"))

    def stop(self, mode: str) -> None:
        """``fast`` or ``immediate``: the latter is as if the machine had lost its power."""
        self._control("stop", "-w", "-m", mode)

    def remove(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*as_postgres, str(BINARIES[-1] / program), *arguments]
        subprocess.run(command, check=True, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@contextmanager
def private_postgresql() -> Iterator[PrivatePostgreSQL]:
    """A server with our tables, which the test's own default connection uses meanwhile."""
    if not BINARIES or (os.geteuid() == 0 and not shutil.which("runuser")):
        pytest.skip("no binaries of PostgreSQL's server")
    server = PrivatePostgreSQL()
    try:
        server.make()
        server.start()
        with default_connection(server.address):
            call_command("migrate", verbosity=0)
            yield server
    finally:
        server.remove()


@contextmanager
def default_connection(address: dict[str, Any]) -> Iterator[None]:
    """Elsewhere than usual, for this thread."""
    connection = connections["default"]
    usual = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(address)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(usual)


class Wire:
    """A relay to a server. ``cut`` lets nothing pass any more, in either direction, without a word, as a network does;
    ``mend`` breaks the connections that were cut and takes new ones."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._passes = threading.Event()
        self._passes.set()
        self._pairs: list[socket.socket] = []
        self._entrance = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._entrance.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *error: object) -> None:
        self._entrance.close()
        self._break()
        self._passes.set()

    def cut(self) -> None:
        self._passes.clear()

    def mend(self) -> None:
        self._break()
        self._passes.set()

    def _break(self) -> None:
        pairs, self._pairs = self._pairs, []
        for one in pairs:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._entrance.accept()
                far = socket.create_connection(self._target)
                self._pairs += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._relay, args=(source, target), daemon=True).start()

    def _relay(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._passes.wait()
                target.sendall(data)
        self._end(source, target)

    def _end(self, *sockets: socket.socket) -> None:
        """Both directions, so that the other thread wakes up too."""
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
