"""The caches that locks are tried in, and how a test comes to have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import caches
from django.test import override_settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.services import find_service
from tests.services.private import PrivateServer, find_program, memcached, redis
from tests.services.servers import Address

TABLE = "cached_locks"
AT_ONCE = {"retry": Retry(NoBackoff(), 0)}
"""An outage is reported by the first attempt; redis-py waits for seconds otherwise."""


def django_redis(url: str, **options: Any) -> dict[str, Any]:
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": url,
        "KEY_PREFIX": "shop",
        "OPTIONS": {"CONNECTION_POOL_KWARGS": AT_ONCE, **options},
    }


def djangos_redis(url: str) -> dict[str, Any]:
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": url,
        "OPTIONS": AT_ONCE,
    }


def pymemcache(url: str, **options: Any) -> dict[str, Any]:
    return {
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": str(Address.parse(url, default_port=11211)),
        "OPTIONS": {"retry_attempts": 0, **options},
    }


def database_cache() -> dict[str, Any]:
    return {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": TABLE,
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }


def make_caches(kind: str) -> dict[str, Any]:
    """CACHES of one cache, in a service that tests share."""
    match kind:
        case "django-redis":
            return {"default": django_redis(find_service("redis").location)}
        case "Django's Redis":
            return {"default": djangos_redis(find_service("redis").location)}
        case "memcached":
            return {"default": pymemcache(find_service("memcached").location)}
        case _:
            return {"default": database_cache()}


@contextmanager
def caching(**aliases: Any) -> Iterator[None]:
    """These are the CACHES meanwhile; their connections are closed at the end."""
    with override_settings(CACHES=aliases):
        try:
            yield
        finally:
            caches.close_all()


@contextmanager
def private_redis() -> Iterator[PrivateServer]:
    program = find_program("redis-server", "valkey-server")
    if program is None:
        pytest.skip("no program redis-server or valkey-server")
    with PrivateServer(redis(program)) as server:
        yield server


@contextmanager
def private_memcached() -> Iterator[PrivateServer]:
    program = find_program("memcached")
    if program is None:
        pytest.skip("no program memcached")
    with PrivateServer(memcached(program)) as server:
        yield server
