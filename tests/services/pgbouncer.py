"""PgBouncer between a test and PostgreSQL. Its clients share a few connections, one transaction at a time."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.services.servers import Address

PATIENCE = 20
"""Seconds that it may take to answer."""

CONNECTIONS = 4
"""To the server, for all its clients: fewer than one scheduler has."""


def find_program() -> str | None:
    """Debian puts it where only root looks."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class PgBouncer:
    """``with PgBouncer(program, url, folder) as pooler: ...`` answers on ``pooler.port`` of 127.0.0.1, without a
    password. ``stop`` and ``start`` make an outage of it."""

    def __init__(self, program: str, url: str, folder: Path) -> None:
        self.port = _free_port()
        self._file = folder / "pgbouncer.ini"
        self._file.write_text(_configuration(Address.parse(url, default_port=5432), self.port))
        self._command = [
            program,
            "--quiet",
            *(["--user", "nobody"] if os.geteuid() == 0 else []),
            str(self._file),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns once it answers."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, f"PgBouncer ended with {self._process.returncode}"
            assert time.monotonic() < deadline, "PgBouncer does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """All its connections break, on both sides."""
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


def _configuration(server: Address, port: int) -> str:
    password = f" password='{server.password}'" if server.password else ""
    return f"""
[databases]
* = host={server.host} port={server.port or 5432} user={server.user}{password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {CONNECTIONS}
"""
