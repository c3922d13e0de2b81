"""How the engine talks to the database: units of work, and retries.

A unit is one short transaction that can be repeated: everything it writes is conditional, so running it again after
an error of unknown outcome is right. No user code and no network call happens inside.

PostgreSQL: each unit limits how long it may wait for a lock or sit idle, so that a frozen process holds nothing.
MySQL, MariaDB: the like, set once for each connection that an engine thread opens. SQLite: a unit begins with a
write, which takes the write lock at once whatever the project's transaction mode, and units are spaced, since
SQLite's lock is not fair.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
    transaction,
)
from django.db.backends.signals import connection_created

from django_gocron import clock
from django_gocron.models import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")

logger = logging.getLogger("django_gocron")

DATABASE_ERRORS = (DatabaseError, InterfaceError)
"""What a database may raise: Django's InterfaceError is no DatabaseError."""

PASSING = (OperationalError, InterfaceError, InternalError)
"""Errors after which the same may work: a lost connection, a deadlock, a lock not obtained, a transaction that the
server has ended because its process was frozen."""

ATTEMPTS = 5
"""How often a unit is tried before its error is the caller's."""

SQLITE_PAUSE = 0.005
"""Seconds between two units on SQLite; with less, other processes starve."""


def unit(using: str, work: Callable[[], T], *, attempts: int = ATTEMPTS) -> T:
    """Run ``work`` as one transaction and answer what it answers; repeat it when the database asks for that.

    Inside a transaction of the caller's, ``work`` simply joins it. Raises the last ``DatabaseError`` when the
    database stays away, stays locked, or refuses for good.
    """
    return _unit(using, work, attempts)


def _unit(using: str, work: Callable[[], T], attempts: int) -> T:
    if connections[using].in_atomic_block:
        return work()
    return read(using, lambda: _paced(using, lambda: _transaction(using, work)), attempts=attempts)


def statement(using: str, work: Callable[[], T], *, attempts: int = ATTEMPTS) -> T:
    """Run one write in autocommit: the server completes it even if this process freezes. Else like ``unit``.

    PostgreSQL limits the wait for a lock only within a transaction, so there it is one.
    """
    if connections[using].vendor == "postgresql":
        return _unit(using, work, attempts)
    return read(using, lambda: _paced(using, work), attempts=attempts)


def read(using: str, work: Callable[[], T], *, attempts: int = ATTEMPTS) -> T:
    """Run ``work``, which must be repeatable, again after a lost connection, a deadlock or a lock not obtained."""
    for attempt in range(1, attempts):
        stamp()
        try:
            return work()
        except PASSING as error:
            if connections[using].in_atomic_block:
                raise
            logger.debug("Attempt %d of a unit of work failed: %s", attempt, error)
            connections[using].close_if_unusable_or_obsolete()
            clock.pause(0.005 * 2**attempt)
    return work()


def skips_locked(using: str) -> bool:
    """Whether a statement that locks rows can pass over those that somebody else has locked."""
    return connections[using].features.has_select_for_update_skip_locked


def _transaction(using: str, work: Callable[[], T]) -> T:
    with transaction.atomic(using=using):
        _begin(connections[using])
        return work()


def _begin(connection: BaseDatabaseWrapper) -> None:
    if connection.vendor == "sqlite":
        JobState.objects.using(connection.alias).filter(pk=-1).update(version=0)
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('lock_timeout', '1s', true),"
                " set_config('idle_in_transaction_session_timeout', '3s', true)"
            )


_pace = threading.Lock()
_last_write = [0.0]


def _paced(using: str, work: Callable[[], T]) -> T:
    """On SQLite, one unit of this process at a time, and a pause between two."""
    if connections[using].vendor != "sqlite" or connections[using].in_atomic_block:
        return work()
    with _pace:
        clock.pause(_last_write[0] + SQLITE_PAUSE - clock.boottime())
        try:
            return work()
        finally:
            _last_write[0] = clock.boottime()


_stamps: dict[int, float] = {}
"""When each engine thread was last seen at work, by its ident, in seconds since boot."""


def stamp() -> None:
    """Note that the current thread, if it is the engine's, is at work."""
    ident = threading.get_ident()
    if ident in _stamps:
        _stamps[ident] = clock.boottime()


def stamped_at(ident: int | None) -> float | None:
    """When that engine thread was last seen at work, in seconds since boot; None: it does not run."""
    return _stamps.get(ident) if ident is not None else None


@contextmanager
def engine_thread(using: str) -> Iterator[None]:
    """Mark the current thread as the engine's for as long as it lives, and close its connections when it ends."""
    _stamps[threading.get_ident()] = clock.boottime()
    connections[using].close()
    try:
        yield
    finally:
        _stamps.pop(threading.get_ident(), None)
        connections.close_all()


def in_engine_thread(using: str, work: Callable[[], T]) -> T:
    """Run ``work`` in a thread of the engine's own, whose waits are limited, and answer what it answers."""

    def run() -> T:
        with engine_thread(using):
            return work()

    with ThreadPoolExecutor(1, "gocron-stop") as pool:
        return pool.submit(run).result()


def _prepare(sender: Any, connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """The engine's own connections are kept open; on MySQL and MariaDB their waits are limited."""
    if threading.get_ident() not in _stamps:
        return
    _keep_open(connection)
    if connection.vendor == "mysql":
        _limit_waits(connection)


def _keep_open(connection: BaseDatabaseWrapper) -> None:
    """Without a CONN_MAX_AGE Django closes a connection after each request. The engine has none: its steps would each
    connect anew. A connection from a pool goes back to it."""
    if not connection.settings_dict["CONN_MAX_AGE"] and not connection.settings_dict["OPTIONS"].get("pool"):
        connection.close_at = None


def _limit_waits(connection: BaseDatabaseWrapper) -> None:
    """For the session: these databases cannot do it for one transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION innodb_lock_wait_timeout = 1")
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if connection.mysql_is_mariadb:  # type: ignore[attr-defined]
            cursor.execute("SET SESSION idle_write_transaction_timeout = 3")


connection_created.connect(_prepare, dispatch_uid="gocron_prepare_connection")


def is_away(error: BaseException) -> bool:
    """Whether an error says that the database cannot be reached or used now, and later may."""
    return isinstance(error, PASSING)


CONTENTION = {"55P03", "40P01", "40001", 1205, 1213}
"""What PostgreSQL and MySQL say when a lock is not obtained, or a deadlock is broken up."""


def is_contention(error: BaseException) -> bool:
    """Whether an error says that somebody else has locked what was wanted."""
    cause = error.__cause__
    codes = {getattr(cause, "sqlstate", None), *getattr(cause, "args", ())[:1]}
    return bool(codes & CONTENTION) or "is locked" in str(error)
