"""Locks in any cache that adds a key for one caller alone, step by step: ``add``, ``get``, ``touch``, ``delete``.

Between looking whose a lock is and touching or deleting it, its time may run out and another may take it. So a
scheduler takes these steps only while a good part of the TTL is left.

A cache may be set to swallow errors. Then ``add`` answers neither True nor False, or False for a key that nobody has:
both are errors here, and never a lock that is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connections, router
from django.utils import timezone

from django_gocron import clock
from django_gocron.lockers.base import Refusal
from django_gocron.lockers.caching import CacheLocks, is_marked, read_holder, whole_seconds, write_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_gocron.lockers.base import Lock

NOT_KEPT = Refusal(error="The cache neither adds the key nor has it.")


class StepwiseLocks(CacheLocks):
    is_atomic = False

    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]:
        return [self._acquire(lock) for lock in locks]

    def extend_many(self, locks: Sequence[Lock]) -> list[bool]:
        return [is_ours and self._touch(lock) for lock, is_ours in self._look(locks)]

    def release_many(self, locks: Sequence[Lock]) -> list[bool]:
        return [
            is_ours and bool(self._cache.delete(self._name(lock.key))) for lock, is_ours in self._look(locks)
        ]

    def _acquire(self, lock: Lock) -> Refusal | None:
        """Twice, for a lock may have run out after the first ``add``."""
        for _attempt in range(2):
            self._forget_expired(lock)
            added: Any = self._cache.add(self._name(lock.key), write_value(lock), timeout=self._seconds)
            if added is True:
                return None
            if added is not False:
                return Refusal(error=f"The cache answered {added!r} to add, neither True nor False.")
            found = self._cache.get(self._name(lock.key))
            if is_marked(found, lock):
                return None if self._touch(lock) else NOT_KEPT
            if found is not None:
                return Refusal(holder=read_holder(found))
        return NOT_KEPT

    def _look(self, locks: Sequence[Lock]) -> list[tuple[Lock, bool]]:
        """Each with whether it is held by its token."""
        for lock in locks:
            self._forget_expired(lock)
        found = self._cache.get_many([self._name(lock.key) for lock in locks])
        return [(lock, is_marked(found.get(self._name(lock.key)), lock)) for lock in locks]

    def _touch(self, lock: Lock) -> bool:
        return bool(self._cache.touch(self._name(lock.key), self._seconds))

    @property
    def _seconds(self) -> int:
        return whole_seconds(self._ttl)

    def _forget_expired(self, lock: Lock) -> None:
        """Caches do that themselves."""


class DatabaseCacheLocks(StepwiseLocks):
    """Django's DatabaseCache lets two callers add a key whose time is over, and who reads such a key deletes it, even
    if it has just been added anew. So such rows are deleted first, under the condition that they are such.

    Its expiry is the host's clock: the hosts' must agree.
    """

    def _forget_expired(self, lock: Lock) -> None:
        cache: Any = self._cache
        connection = connections[router.db_for_write(cache.cache_model_class)]
        quote = connection.ops.quote_name
        now = clock.host_now()
        moment = now if settings.USE_TZ else timezone.make_naive(now, timezone.get_default_timezone())
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {quote(cache._table)} WHERE {quote('cache_key')} = %s AND {quote('expires')} < %s",
                [
                    cache.make_key(self._name(lock.key)),
                    connection.ops.adapt_datetimefield_value(moment),
                ],
            )
