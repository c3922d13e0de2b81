"""The elector that a cache is: leadership is a lock of ``CacheLocker``, whose token is the candidate.

    free ──campaign──> held ──campaign──> held, for another TTL
                        └──resign, TTL over, cache flushed──> free

A crash leaves the lock held until its TTL is over. A cache that has been flushed knows of no leader, so the next
candidate that asks leads; an old leader learns of it at its own next campaign.

The number of a term comes from a counter beside the lock, and is for people. A cache that was flushed, or has dropped
it, begins at 1 again; one that does not count in one step (Django's ``DatabaseCache``) may give two terms one number.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.cache import caches

from django_gocron import clock
from django_gocron.electors.base import Elector
from django_gocron.electors.options import read_name
from django_gocron.exceptions import ElectorError
from django_gocron.lockers.base import Lock
from django_gocron.lockers.cache import CacheLocker
from django_gocron.lockers.names import exact_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

LONGEST_HOLDER = 200
"""Characters that a lock may say of its holder."""

LINGERS = 2.0
"""Seconds by which a cache that counts in whole ones may keep a lock beyond its TTL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The last that this elector was given: whose, and when it is over unless it is renewed, in seconds since boot."""

    candidate: str
    number: int
    over_at: float


class CacheElector(Elector):
    """``cache``, ``ttl`` and ``prefix`` are those of ``CacheLocker``, which says what caches are fit; ``name`` is the
    election's: schedulers with another prefix or name elect a leader of their own.

    With django-redis leadership is renewed and resigned in one step. With other caches it is not, so neither is done
    when less than a quarter of the TTL is left: it runs out, and is then campaigned for like anybody's.

    Raises ``ConfigurationError`` (``bad_backend``) for wrong options; its methods raise ``ElectorError``
    (``elector_unavailable``) when the cache does not answer.
    """

    def __init__(
        self,
        cache: str = "default",
        ttl: timedelta | float = 15,
        prefix: str = "gocron",
        name: str = "leader",
    ) -> None:
        self._locker = CacheLocker(cache, ttl, f"{prefix}.elections")
        self.ttl = self._locker.ttl
        self._cache = cache
        self._name = read_name(name)
        self._counter = f"{prefix}:terms:{exact_name(name)}"
        self._term: Term | None = None

    def campaign(self, candidate: str, *, name: str) -> int | None:
        asked_at = clock.boottime()
        if self._is_running_out(asked_at):
            return None
        with self._answering():
            if not self._acquire(candidate, name):
                self._term = None
                return None
            held = self._term
            is_renewal = held is not None and held.candidate == candidate and asked_at < held.over_at
            number = held.number if held is not None and is_renewal else self._count()
        over_at = asked_at + self.ttl.total_seconds()
        self._term = Term(candidate=candidate, number=number, over_at=over_at)
        return number

    def resign(self, candidate: str) -> bool:
        if self._is_running_out(clock.boottime()):
            return False
        with self._answering():
            (released,) = self._locker.release_many([self._lock(candidate)])
        self._term = None
        return released

    def _is_running_out(self, now: float) -> bool:
        """Whether the lock may be another's by the time that this process has seen that it is ours."""
        if self._locker.is_atomic or self._term is None:
            return False
        left = self._term.over_at - now
        return -LINGERS < left < self.ttl.total_seconds() / 4

    def _acquire(self, candidate: str, name: str) -> bool:
        (refusal,) = self._locker.acquire_many([self._lock(candidate, name)])
        if refusal is not None and refusal.error:
            raise _unavailable(refusal.error)
        return refusal is None

    def _lock(self, candidate: str, name: str = "") -> Lock:
        holder = " ".join(name.split())[:LONGEST_HOLDER]
        return Lock(key=self._name, holder=holder, token=candidate)

    def _count(self) -> int:
        cache = caches[self._cache]
        cache.add(self._counter, 0, timeout=None)
        number: object = cache.incr(self._counter)
        if not isinstance(number, int):
            raise _unavailable(f"The cache answered {number!r} to incr, which is no number.")
        return number

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except ElectorError:
            raise
        except Exception as error:  # a cache is others' code, and each raises what its driver does
            raise _unavailable(str(error)) from error


def _unavailable(message: str) -> ElectorError:
    return ElectorError(message, code="elector_unavailable")
