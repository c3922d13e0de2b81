"""Locks in one of the project's caches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.cache import InvalidCacheBackendError, caches
from django.core.cache.backends.base import MEMCACHE_MAX_KEY_LENGTH, BaseCache
from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache

from django_gocron.exceptions import LockerError
from django_gocron.lockers.base import Locker
from django_gocron.lockers.names import LONGEST_NAME
from django_gocron.lockers.options import read_alias, read_prefix, read_ttl, refuse
from django_gocron.lockers.redis import RedisLocks
from django_gocron.lockers.stepwise import DatabaseCacheLocks, StepwiseLocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from django_gocron.lockers.base import Lock, Refusal
    from django_gocron.lockers.caching import CacheLocks

UNFIT: dict[type[BaseCache], str] = {
    LocMemCache: "each process has one of its own, so no process would see another's locks",
    DummyCache: "it keeps nothing, so every lock would be free",
    FileBasedCache: "several that add one key at the same time all succeed, so all of them would hold the lock",
}

LONGEST_PREFIX = len(":lock:") + 50
"""What stands before the name of a lock."""


def find_unfit(cache_class: type) -> str:
    """Why locks cannot be kept in a cache of this class, and what to use instead; "" where they can."""
    for unfit, reason in UNFIT.items():
        if issubclass(cache_class, unfit):
            return (
                f"{cache_class.__name__} cannot keep locks: {reason}. Use a cache in Redis or Memcached, or"
                " 'django_gocron.lockers.database.DatabaseLocker'."
            )
    return ""


class CacheLocker(Locker):
    """Locks that last for ``ttl``, a ``timedelta`` or a number of seconds from 1 second to 30 days, in the cache
    ``cache``: an alias of ``CACHES``. Best one that nothing else uses: ``clear()`` removes locks too, and so does a
    cache that is full. Lockers with another ``prefix`` have locks of their own.

    With django-redis each lock is looked at and changed in one step (``is_atomic``). With other caches it is not, and
    a lock lasts up to two seconds longer than ``ttl``, for they count in whole seconds. Django's DatabaseCache has room
    for 300 entries unless its ``MAX_ENTRIES`` says more, and goes by the hosts' clocks.

    Raises ``ConfigurationError`` (``bad_backend``) for wrong options, and for caches that cannot keep locks. Its
    methods raise ``LockerError`` (``locker_unavailable``) when the cache raises.
    """

    def __init__(self, cache: str = "default", ttl: timedelta | float = 60, prefix: str = "gocron") -> None:
        self.ttl = read_ttl(ttl)
        self._alias = read_alias(cache, settings.CACHES, field="cache", setting="CACHES")
        self._locks = _choose(self._alias)(self._alias, self.ttl, read_prefix(prefix))
        self.is_atomic = self._locks.is_atomic

    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]:
        with self._reporting():
            return self._locks.acquire_many(locks)

    def extend_many(self, locks: Sequence[Lock]) -> list[bool]:
        with self._reporting():
            return self._locks.extend_many(locks)

    def release_many(self, locks: Sequence[Lock]) -> list[bool]:
        with self._reporting():
            return self._locks.release_many(locks)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a cache is others' code, and raises what its driver does
            message = f"The cache {self._alias!r} cannot be used: {type(error).__name__}: {error}"
            raise LockerError(message, code="locker_unavailable") from error


def _choose(alias: str) -> type[CacheLocks]:
    """The best way to lock in that cache. Raises ``ConfigurationError`` when there is none."""
    cache = _find_cache(alias)
    if reason := find_unfit(type(cache)):
        raise refuse(f"cache: {alias!r} is no cache for locks. {reason}", field="cache")
    if _is_a(cache, "django_redis.cache.RedisCache") and not _is_a(
        cache.client,  # type: ignore[attr-defined]
        "django_redis.client.sharded.ShardClient",
    ):
        return RedisLocks
    _check_room(alias, cache)
    return DatabaseCacheLocks if isinstance(cache, DatabaseCache) else StepwiseLocks


def _find_cache(alias: str) -> BaseCache:
    try:
        return caches[alias]
    except (InvalidCacheBackendError, ImportError) as error:
        raise refuse(f"cache: {alias!r} cannot be set up: {error}.", field="cache") from error


def _is_a(value: object, path: str) -> bool:
    """Whether it is of the class, which is not imported: its package is an optional one."""
    return any(f"{cls.__module__}.{cls.__qualname__}" == path for cls in type(value).__mro__)


def _check_room(alias: str, cache: BaseCache) -> None:
    """Memcached's keys are short, and the cache's own prefix is part of them."""
    longest = len(cache.make_key("x" * (LONGEST_PREFIX + LONGEST_NAME)))
    if longest > MEMCACHE_MAX_KEY_LENGTH:
        raise refuse(
            f"cache: the KEY_PREFIX of {alias!r} is {longest - MEMCACHE_MAX_KEY_LENGTH} characters too long for locks"
            f" to fit into keys of {MEMCACHE_MAX_KEY_LENGTH}.",
            field="cache",
        )
