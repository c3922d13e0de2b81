"""What the ways to lock in a cache have in common: the entry of a lock, its key and its value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from django.core.cache import caches

from django_gocron.lockers.names import exact_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from django.core.cache.backends.base import BaseCache

    from django_gocron.lockers.base import Lock, Refusal


class CacheLocks(ABC):
    """The three calls of a locker on the entries of one cache. They raise whatever the cache raises."""

    is_atomic: bool

    def __init__(self, alias: str, ttl: timedelta, prefix: str) -> None:
        self._alias = alias
        self._ttl = ttl
        self._prefix = prefix

    @abstractmethod
    def acquire_many(self, locks: Sequence[Lock]) -> list[Refusal | None]: ...

    @abstractmethod
    def extend_many(self, locks: Sequence[Lock]) -> list[bool]: ...

    @abstractmethod
    def release_many(self, locks: Sequence[Lock]) -> list[bool]: ...

    @property
    def _cache(self) -> BaseCache:
        """Django gives each thread an object of its own."""
        return caches[self._alias]

    def _name(self, key: str) -> str:
        """The cache adds its own prefix and version to it."""
        return f"{self._prefix}:lock:{exact_name(key)}"


def write_value(lock: Lock) -> str:
    return f"{mark(lock)}{lock.holder}"


def mark(lock: Lock) -> str:
    """What a value begins with that is this lock's: no token has a blank."""
    return f"{lock.token} "


def is_marked(value: object, lock: Lock) -> bool:
    return isinstance(value, str) and value.startswith(mark(lock))


def read_holder(value: object) -> str:
    """Who has a lock, "" where the value is none of ours."""
    return value.partition(" ")[2] if isinstance(value, str) else ""


def whole_seconds(ttl: timedelta) -> int:
    """At least the TTL for a cache that counts in seconds, and may count the one that has begun: one second more."""
    return math.ceil(ttl.total_seconds()) + 1
