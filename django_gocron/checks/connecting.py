"""How the database is connected to, as far as the settings tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core import checks
from django.db import connections

from django_gocron.checks.target import find_database
from django_gocron.conf import get_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from django.core.checks import CheckMessage

LONG = 300
"""Seconds idle after which load balancers, firewalls and servers are known to drop a connection."""

ENGINE_CONNECTIONS = 4
"""The most that the engine's own threads have out of a pool at a time: loop, timer, writer, heartbeat. The elector's,
and each locker's, come on top."""

POOL_SIZE = 4
"""What psycopg's pool holds where nobody says how many."""


def check_connections(**kwargs: Any) -> list[CheckMessage]:
    """E002: a pool of persistent connections. W010: long-lived ones that nobody looks at. W011: a pool too small."""
    using = find_database()
    if using is None or using not in connections.settings:
        return []
    connection = connections[using]
    match connection.vendor:
        case "sqlite":
            return []
        case "postgresql" if pool := connection.settings_dict["OPTIONS"].get("pool"):
            return list(_check_pool(using, connection.settings_dict, pool))
        case _:
            return list(_check_age(using, connection.settings_dict))


def _check_pool(using: str, values: Mapping[str, Any], pool: Any) -> Iterator[CheckMessage]:
    if values["CONN_MAX_AGE"] != 0:
        yield checks.Error(
            f"DATABASES[{using!r}] has a connection pool and CONN_MAX_AGE = {values['CONN_MAX_AGE']!r}: Django refuses"
            " to connect.",
            hint="Leave CONN_MAX_AGE out, or set it to 0. The pool keeps connections open.",
            id="gocron.E002",
        )
    current = get_settings()
    own = ENGINE_CONNECTIONS + current.has_elector + len(current.lockers)
    size, needed = _size(pool), current.max_workers + own
    if size < needed:
        yield checks.Warning(
            f"The connection pool of DATABASES[{using!r}] holds {size}, but a scheduler with"
            f" {current.max_workers} workers uses up to {needed} at a time: its heartbeat may have to wait"
            " for tasks to end, and the others take it for dead.",
            hint=f"In OPTIONS, write 'pool': {{'max_size': {needed}}} or more; or lower GOCRON['MAX_WORKERS'].",
            id="gocron.W011",
        )


def _size(pool: Any) -> int:
    """A pool that is given no greatest size stays at its least."""
    options = pool if isinstance(pool, dict) else {}
    return int(options.get("max_size") or options.get("min_size", POOL_SIZE))


def _check_age(using: str, values: Mapping[str, Any]) -> Iterator[CheckMessage]:
    age = values["CONN_MAX_AGE"]
    if not values["CONN_HEALTH_CHECKS"] and (age is None or age > LONG):
        yield checks.Warning(
            f"DATABASES[{using!r}] keeps connections open ({'for ever' if age is None else f'{age} s'}) and does not"
            " look whether they still work: after a restart of the server or of what stands before it, the first"
            " query of a task fails.",
            hint=f"In DATABASES[{using!r}], write 'CONN_HEALTH_CHECKS': True.",
            id="gocron.W010",
        )
