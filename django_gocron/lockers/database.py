"""Locks as rows of the project's own database.

    no row ──acquire──> a row with holder, token, expires_at ──release──> no row
                         │ └──extend──> a later expires_at
                         └──time over──> a row that the next who wants the lock takes away

The database's clock alone says when a lock is over: the hosts' may be wrong (on SQLite the two are one). A holder that
crashes leaves its row, which locks nothing once its time is over, until somebody wants that lock again.

How a batch is acquired:

1. Read the rows there are. A live one of somebody else is a refusal, and touches nothing.
2. Let those that are live and ours already last for another TTL.
3. Delete those whose time is over. One that somebody else has locked is being taken just now: a refusal.
4. Insert a row for each that has none, passing over those that somebody else has inserted meanwhile: the primary key
   decides.
5. Read those rows: the token says whose they are.

Each step is right whatever has happened since the step before, so that the whole may be repeated after an error of
unknown outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.db import (
    DatabaseError,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
)

from django_gocron import clock
from django_gocron.exceptions import LockerError
from django_gocron.lockers.base import Locker, Refusal
from django_gocron.lockers.leases import Leases, Row
from django_gocron.lockers.names import exact_name
from django_gocron.lockers.options import read_alias, read_prefix, read_ttl
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from django_gocron.lockers.base import Lock

A = TypeVar("A")
T = TypeVar("T")

BATCH = 100
"""Locks that one statement names, at most: SQLite bounds its parameters."""

ATTEMPTS = 4
"""How often a batch is tried before nothing is known."""

PASSING = (OperationalError, InterfaceError, InternalError)
"""Errors after which the same may work: a lost connection, a deadlock, a row that somebody else had locked."""

NO_ROW = Row(holder="", token="", is_live=False)


class DatabaseLocker(Locker):
    """Locks that last for ``ttl``, a ``timedelta`` or a number of seconds from 1 second to 30 days, in the database
    ``using``: an alias of ``DATABASES``; None: where jobs are written to. Lockers with another ``prefix`` have locks of
    their own.

    Waits for nobody's lock. For a row that another transaction is just writing it waits half a second at most on
    PostgreSQL, and as long as the connection's own limit says elsewhere: a scheduler's is a second.

    Raises ``ConfigurationError`` (``bad_backend``) for wrong options. Its methods raise ``LockerError``
    (``locker_unavailable``) when the database stays away, stays locked or lacks our tables.
    """

    is_atomic = True

    def __init__(self, using: str | None = None, ttl: timedelta | float = 60, prefix: str = "lock") -> None:
        self.ttl = read_ttl(ttl)
        self._prefix = read_prefix(prefix)
        self.using = (
            database()
            if using is None
            else read_alias(using, connections, field="using", setting="DATABASES")
        )
        self._leases = Leases(self.using)

    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]:
        return self._in_batches(self._acquire, locks)

    def extend_many(self, locks: Sequence[Lock]) -> list[bool]:
        return self._in_batches(self._extend, locks)

    def release_many(self, locks: Sequence[Lock]) -> list[bool]:
        return self._in_batches(self._release, locks)

    def _acquire(self, wanted: Mapping[str, Lock]) -> list[Refusal | None]:
        rows = self._leases.find(wanted)
        rows |= self._prolong(_held(rows, wanted))
        over = [name for name, row in rows.items() if not row.is_live]
        for name in self._leases.remove_expired(over):
            del rows[name]
        free = {name: lock for name, lock in wanted.items() if name not in rows}
        self._leases.add(free, self.ttl)
        rows |= self._leases.find(free)
        return [_judge(lock, rows.get(name, NO_ROW)) for name, lock in wanted.items()]

    def _extend(self, wanted: Mapping[str, Lock]) -> list[bool]:
        rows = self._leases.find(wanted)
        rows |= self._prolong(_held(rows, wanted))
        return _tell_held(rows, wanted)

    def _release(self, wanted: Mapping[str, Lock]) -> list[bool]:
        rows = self._leases.find(wanted)
        self._leases.remove(_held(rows, wanted))
        return _tell_held(rows, wanted)

    def _prolong(self, held: Mapping[str, Lock]) -> dict[str, Row]:
        """Answers the rows anew where the time of some was over before they could be prolonged."""
        if self._leases.prolong(held, self.ttl) == len(held):
            return {}
        return dict.fromkeys(held, NO_ROW) | self._leases.find(held)

    def _in_batches(self, work: Callable[[Mapping[str, Lock]], list[A]], locks: Sequence[Lock]) -> list[A]:
        answers: list[A] = []
        for start in range(0, len(locks), BATCH):
            batch = {self._name(lock.key): lock for lock in locks[start : start + BATCH]}
            answers += self._tried(lambda batch=batch: work(batch))  # type: ignore[misc]
        return answers

    def _name(self, key: str) -> str:
        return f"{self._prefix}:{exact_name(key)}"

    def _tried(self, work: Callable[[], T]) -> T:
        try:
            return self._persistently(work)
        except (DatabaseError, InterfaceError) as error:
            message = f"The database {self.using!r} cannot be used: {type(error).__name__}: {error}"
            raise LockerError(message, code="locker_unavailable") from error

    def _persistently(self, work: Callable[[], T]) -> T:
        connection = connections[self.using]
        for attempt in range(1, ATTEMPTS):
            try:
                return work()
            except PASSING:
                if connection.in_atomic_block:
                    raise
                connection.close_if_unusable_or_obsolete()
                clock.pause(0.005 * 2**attempt)
        return work()


def _held(rows: Mapping[str, Row], wanted: Mapping[str, Lock]) -> dict[str, Lock]:
    return {name: lock for name, lock in wanted.items() if rows.get(name, NO_ROW).is_held_by(lock)}


def _tell_held(rows: Mapping[str, Row], wanted: Mapping[str, Lock]) -> list[bool]:
    held = _held(rows, wanted)
    return [name in held for name in wanted]


def _judge(lock: Lock, row: Row) -> Refusal | None:
    return None if row.is_held_by(lock) else Refusal(holder=row.holder)
