"""SQLite's own options. The scheduler copes with any; the admin and the tasks beside it do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core import checks
from django.db import DatabaseError, connections

from django_gocron.checks.target import find_checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from django.core.checks import CheckMessage
    from django.db.backends.base.base import BaseDatabaseWrapper

ADVICE = (
    "Set OPTIONS = {'transaction_mode': 'IMMEDIATE', 'timeout': 20,"
    " 'init_command': 'PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;'}."
)

SHORTEST_WAIT = 5.0
"""Seconds that a writer should wait for another one, at least."""


def check_sqlite(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """W005 to W008, of the database that schedulers work on."""
    using = find_checked(databases)
    if using is None:
        return []
    try:
        return list(find_troubles(connections[using]))
    except DatabaseError:
        return []  # whoever needs the database says better what is wrong with it


def find_troubles(connection: BaseDatabaseWrapper) -> Iterator[CheckMessage]:
    """What would make people meet "database is locked", or lose everything; nothing where it is another database,
    or a test runner's in memory. Asks the connection."""
    if connection.vendor != "sqlite" or _is_made_for_a_test(connection):
        return
    if connection.is_in_memory_db():  # type: ignore[attr-defined]
        yield checks.Warning(
            "SQLite in memory: no other process sees these jobs, and threads lock each other's tables.",
            hint="Let NAME be a file.",
            id="gocron.W007",
        )
        return
    yield from _find_locking(connection)


def _is_made_for_a_test(connection: BaseDatabaseWrapper) -> bool:
    """Whether it is the database in memory that test runners make where the settings name no other."""
    name = connection.settings_dict["NAME"]
    return bool(name == f"file:memorydb_{connection.alias}?mode=memory&cache=shared")


def _find_locking(connection: BaseDatabaseWrapper) -> Iterator[CheckMessage]:
    journal = _ask(connection, "journal_mode")
    if journal != "wal":
        yield checks.Warning(
            f"SQLite without write-ahead log (journal_mode is {journal!r}): whoever reads makes writers wait.",
            hint=ADVICE,
            id="gocron.W005",
        )
    wait = int(_ask(connection, "busy_timeout")) / 1000
    if wait < SHORTEST_WAIT:
        yield checks.Warning(
            f'SQLite gives up after {wait:g} s: beside a scheduler, people meet "database is locked".',
            hint=ADVICE,
            id="gocron.W006",
        )
    mode = connection.settings_dict["OPTIONS"].get("transaction_mode") or "DEFERRED"
    if mode.upper() == "DEFERRED":
        yield checks.Warning(
            "SQLite begins transactions DEFERRED: a page that reads and then writes while a scheduler works meets"
            ' "database is locked" at once.',
            hint=ADVICE,
            id="gocron.W008",
        )


def _ask(connection: BaseDatabaseWrapper, pragma: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {pragma}")
        return str(cursor.fetchone()[0])
