"""The statements of a locker in the database: each conditional, each right on its own, on the database's clock.

None is inside a longer transaction, so that a process that freezes between two of them keeps nobody waiting. The
exception is taking away what has expired, which passes over rows that somebody else has locked. PostgreSQL limits waits
within a transaction only, so there each write is one.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import connections, transaction

from django_gocron.models import Lease
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import timedelta

    from django.db.models import QuerySet

    from django_gocron.lockers.base import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a row of ``Lease`` said when it was read. Not live: its time was over."""

    holder: str
    token: str
    is_live: bool

    def is_held_by(self, lock: Lock) -> bool:
        return self.is_live and self.token == lock.token


class Leases:
    """Rows of one database, by name."""

    def __init__(self, using: str) -> None:
        self._using = using

    def find(self, names: Collection[str]) -> dict[str, Row]:
        """The rows there are. Locks none, and waits for none."""
        if not names:
            return {}
        rows = self._rows(names).annotate(now=DatabaseNow())
        found = rows.values_list("name", "holder", "token", "expires_at", "now")
        return {
            name: Row(holder=holder, token=token, is_live=expires_at is not None and expires_at > now)
            for name, holder, token, expires_at, now in found
        }

    def add(self, locks: Mapping[str, Lock], ttl: timedelta) -> None:
        """Insert a row for each name that has none. In the order of names, so that two who add the same do not
        deadlock."""
        if not locks:
            return
        leases = [
            Lease(
                name=name,
                holder=locks[name].holder,
                token=locks[name].token,
                acquired_at=DatabaseNow(),
                expires_at=DatabaseNow(ttl),
            )
            for name in sorted(locks)
        ]
        with self._writing():
            Lease.objects.using(self._using).bulk_create(leases, ignore_conflicts=True)

    def prolong(self, locks: Mapping[str, Lock], ttl: timedelta) -> int:
        """Let the rows last that are live and have these tokens; answer how many."""
        if not locks:
            return 0
        with self._writing():
            live = self._owned(locks).filter(expires_at__gt=DatabaseNow())
            return live.update(expires_at=DatabaseNow(ttl))

    def remove(self, locks: Mapping[str, Lock]) -> None:
        """Delete the rows that have these tokens."""
        if locks:
            with self._writing():
                self._owned(locks)._raw_delete(self._using)

    def remove_expired(self, names: Collection[str]) -> Collection[str]:
        """Delete the rows whose time is over, and answer their names. One that somebody else has locked stays."""
        if not names:
            return ()
        expired = self._rows(names).filter(expires_at__lte=DatabaseNow())
        if not connections[self._using].features.has_select_for_update_skip_locked:
            expired._raw_delete(self._using)
            return names
        with self._writing(), transaction.atomic(using=self._using):
            locked = expired.order_by("name").select_for_update(skip_locked=True)
            removed = set(locked.values_list("name", flat=True))
            self._rows(removed)._raw_delete(self._using)
            return removed

    def _rows(self, names: Iterable[str]) -> QuerySet[Lease]:
        return Lease.objects.using(self._using).filter(name__in=sorted(names))

    def _owned(self, locks: Mapping[str, Lock]) -> QuerySet[Lease]:
        return self._rows(locks).filter(token__in=[lock.token for lock in locks.values()])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        connection = connections[self._using]
        if connection.vendor != "postgresql" or connection.in_atomic_block:
            yield
            return
        with transaction.atomic(using=self._using), connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('lock_timeout', '500ms', true),"
                " set_config('idle_in_transaction_session_timeout', '3s', true)"
            )
            yield
