"""PgBouncer between a test and PostgreSQL. Its clients share a few connections, one transaction at a time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.services.private import PrivateServer
from tests.services.servers import Address

CONNECTIONS = 4
"""To the server, for all its clients: fewer than one scheduler has."""


def find_program() -> str | None:
    """Debian puts it where only root looks."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class PgBouncer(PrivateServer):
    """``with PgBouncer(program, url, folder) as pooler: ...`` answers on ``pooler.port`` of 127.0.0.1, without a
    password. A stop breaks all its connections, on both sides."""

    def __init__(self, program: str, url: str, folder: Path) -> None:
        server, file = Address.parse(url, default_port=5432), folder / "pgbouncer.ini"
        user = ["--user", "nobody"] if os.geteuid() == 0 else []

        def command(port: int) -> list[str]:
            file.write_text(_configuration(server, port))
            return [program, "--quiet", *user, str(file)]

        super().__init__(command)


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
