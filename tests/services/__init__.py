"""The services that tests use: named in the environment, found on this machine, or started from a wheel.

``find_service(name)`` searches once per process and puts what it finds into the environment, so that the
processes that a test starts meet the same server. The search ends in a :class:`Service` that says where the
service is, or why it is absent; an absent one raises nothing.
"""

from __future__ import annotations

import functools
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from tests.services import pgbouncer
from tests.services.servers import SERVERS, Server, ServerAbsentError

DATABASES = ("sqlite", "postgresql", "mariadb")
SERVICES = (*DATABASES, "redis", "memcached", "chromium", "pgbouncer")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """``location`` is a URL (Chromium, PgBouncer: a path), "" when absent; ``note`` says which, or why none."""

    name: str
    location: str = ""
    note: str

    @property
    def is_present(self) -> bool:
        return self.location != ""


@functools.cache
def find_service(name: str) -> Service:
    if name == "sqlite":
        return Service(name=name, location="sqlite://", note=f"SQLite {sqlite3.sqlite_version}")
    if name == "chromium":
        return _find_chromium()
    if name == "pgbouncer":
        return _find_pgbouncer()
    if name in SERVERS:
        return _find_server(SERVERS[name])
    raise ValueError(f"{name!r} is no service that tests know. Use one of: {', '.join(SERVICES)}.")


def required_services() -> tuple[str, ...]:
    """The services whose absence fails the run, from ``GOCRON_TEST_REQUIRE``."""
    names = [name.strip() for name in os.environ.get("GOCRON_TEST_REQUIRE", "").split(",") if name.strip()]
    if unknown := sorted(set(names) - set(SERVICES)):
        raise ValueError(
            f"GOCRON_TEST_REQUIRE names {', '.join(unknown)}. It may name: {', '.join(SERVICES)}."
        )
    return tuple(names)


def _find_server(server: Server) -> Service:
    variable = f"GOCRON_TEST_{server.name.upper()}_URL"
    reasons = []
    for service in _search(server, os.environ.get(variable)):
        if service.is_present:
            os.environ[variable] = service.location
            return service
        reasons.append(service.note)
    return Service(name=server.name, note=f"{'; '.join(reasons)}. Start one, or set {variable}")


def _search(server: Server, given: str | None) -> Iterator[Service]:
    """A URL in the environment is the last word: where it is set, no other server is tried."""
    if given:
        yield _meet(server, given)
        return
    for url in server.usual_urls:
        yield _meet(server, url)
    yield _start(server)


def _meet(server: Server, url: str) -> Service:
    try:
        return Service(name=server.name, location=url, note=server.greet(url))
    except ServerAbsentError as error:
        return Service(name=server.name, note=str(error))


def _start(server: Server) -> Service:
    try:
        return _meet(server, server.start())
    except ServerAbsentError as error:
        return Service(name=server.name, note=str(error))


def _find_chromium() -> Service:
    given = os.environ.get("GOCRON_TEST_CHROMIUM")
    for name in (given,) if given else CHROMIUM_NAMES:
        if path := shutil.which(name):
            return Service(name="chromium", location=path, note=path)
    return Service(
        name="chromium", note=f"no {given or 'chromium'} on PATH. Install it, or set GOCRON_TEST_CHROMIUM"
    )


def _find_pgbouncer() -> Service:
    """A program, which each test that needs it starts for itself."""
    path = pgbouncer.find_program()
    return Service(name="pgbouncer", location=path or "", note=path or "no pgbouncer found. Install it")
