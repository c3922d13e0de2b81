"""The elector that the database is: a row of ``Lease``, whose expiry and term the database itself reckons.

States of the row: free (no token, or expired) -> held -> renewed ... -> free. A candidate takes and renews, its holder
resigns; nobody else does anything, so a crash leaves the row held until it expires.

A campaign:

1. Read the row: its term, and whether it is held now, by the database's clock.
2. Held by another: that was all. Held by us: extend it. Free: take it, with a term that is one more. Both are one
   conditional update, which moves nothing where the row is not as it was read.

Each statement is complete in itself, so a process that freezes between two locks nothing, and one that wakes up late
finds its condition false.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import BooleanField, Case, F, QuerySet, Value, When

from django_gocron.electors.base import Elector
from django_gocron.electors.options import read_name
from django_gocron.exceptions import ElectorError
from django_gocron.lockers.options import read_alias, read_ttl
from django_gocron.models import Lease
from django_gocron.models.alias import database
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

LONGEST_HOLDER = 255
"""Characters that the row has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The row as a candidate read it. ``holder`` is the token of who holds it, "" where it is free."""

    holder: str
    term: int


class DatabaseElector(Elector):
    """``using`` is an alias of ``DATABASES`` (None: where jobs are written to), ``ttl`` a ``timedelta`` or a number of
    seconds from 1 second to 30 days, ``name`` the election's: schedulers with another name elect a leader of their own.

    To be called outside of transactions. On SQLite the database's clock is the host's. Raises ``ConfigurationError``
    (``bad_backend``) for wrong options; its methods raise ``ElectorError`` (``elector_unavailable``) when the database
    is away, or cannot be written to.
    """

    def __init__(self, using: str | None = None, ttl: timedelta | float = 15, name: str = "leader") -> None:
        self._using = read_alias(using or database(), connections, field="using", setting="DATABASES")
        self.ttl = read_ttl(ttl)
        self._name = read_name(name)

    def campaign(self, candidate: str, *, name: str) -> int | None:
        with self._answering():
            reading = self._read()
            if reading.holder == candidate:
                return self._renew(reading, name)
            return None if reading.holder else self._take(reading, candidate, name)

    def resign(self, candidate: str) -> bool:
        with self._answering():
            held = self._rows().filter(token=candidate, expires_at__gt=DatabaseNow())
            return bool(held.update(token="", holder="", expires_at=DatabaseNow()))

    def _read(self) -> Reading:
        held = When(expires_at__gt=DatabaseNow(), then=Value(True))
        rows = self._rows().annotate(is_held=Case(held, default=Value(False), output_field=BooleanField()))
        row = rows.values("token", "term", "is_held").first()
        if row is None:
            self._make_row()
            return Reading(holder="", term=0)
        return Reading(holder=row["token"] if row["is_held"] else "", term=row["term"])

    def _make_row(self) -> None:
        """Free, so that all who find none make it and one takes it."""
        row = Lease(name=self._name, expires_at=DatabaseNow())
        Lease.objects.using(self._using).bulk_create([row], ignore_conflicts=True)

    def _renew(self, reading: Reading, name: str) -> int | None:
        mine = self._rows().filter(token=reading.holder, term=reading.term, expires_at__gt=DatabaseNow())
        renewed = mine.update(holder=name[:LONGEST_HOLDER], expires_at=DatabaseNow(self.ttl))
        return reading.term if renewed else None

    def _take(self, reading: Reading, candidate: str, name: str) -> int | None:
        """A row with another term has been somebody's since."""
        free = self._rows().filter(term=reading.term).exclude(token__gt="", expires_at__gt=DatabaseNow())
        taken = free.update(
            token=candidate,
            holder=name[:LONGEST_HOLDER],
            term=F("term") + 1,
            acquired_at=DatabaseNow(),
            expires_at=DatabaseNow(self.ttl),
        )
        return reading.term + 1 if taken else None

    def _rows(self) -> QuerySet[Lease]:
        return Lease.objects.using(self._using).filter(name=self._name)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Whatever the database raises, nothing is known; the next question is asked on a connection that works."""
        try:
            yield
        except (DatabaseError, InterfaceError) as error:
            connections[self._using].close_if_unusable_or_obsolete()
            message = f"The database {self._using!r} does not answer: {str(error).strip()}"
            raise ElectorError(message, code="elector_unavailable") from error
