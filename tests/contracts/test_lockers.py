"""The contract of a locker, for each that the package has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from django_gocron.lockers.base import Locker
from django_gocron.lockers.cache import CacheLocker
from django_gocron.lockers.database import DatabaseLocker
from django_gocron.models import Lease
from django_gocron.testing import LockerContract
from tests.contracts.caches import (
    TABLE,
    caching,
    django_redis,
    djangos_redis,
    make_caches,
    private_memcached,
    private_redis,
    pymemcache,
)
from tests.services.private import PrivateServer


@pytest.mark.django_db(transaction=True)
class TestDatabaseLocker(LockerContract):
    uses_host_clock = settings.TEST_DATABASE == "sqlite"

    def make_locker(self, ttl: timedelta) -> Locker:
        return DatabaseLocker(ttl=ttl)

    def outage(self) -> AbstractContextManager[None]:
        return without_table(Lease._meta.db_table)


class CacheLockerContract(LockerContract):
    """``kind`` is a cache in a service that tests share."""

    kind: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _cache(self) -> Iterator[None]:
        with caching(**make_caches(self.kind)):
            yield

    def make_locker(self, ttl: timedelta) -> Locker:
        return CacheLocker(ttl=ttl)

    def prepare_process(self) -> None:
        settings.CACHES = make_caches(self.kind)


class ServerCacheLockerContract(CacheLockerContract):
    """No database has a part in it. Its outage is that of a server of its own."""

    @pytest.fixture(autouse=True)
    def _server(self, request: pytest.FixtureRequest) -> Iterator[None]:
        """Where a test is about an outage, it has a server of its own."""
        if "while_the_backend_is_away" not in request.node.name:
            yield
            return
        with self.private_server() as self._private, caching(default=self.cache_at(self._private.port)):
            yield

    def private_server(self) -> AbstractContextManager[PrivateServer]:
        return private_redis()

    def cache_at(self, port: int) -> dict[str, Any]:
        raise NotImplementedError

    @contextmanager
    def outage(self) -> Iterator[None]:
        self._private.stop()
        yield


@pytest.mark.only_on("sqlite")
@pytest.mark.needs("redis")
class TestCacheLockerOnDjangoRedis(ServerCacheLockerContract):
    kind = "django-redis"

    def cache_at(self, port: int) -> dict[str, Any]:
        return django_redis(f"redis://127.0.0.1:{port}")


@pytest.mark.only_on("sqlite")
@pytest.mark.needs("redis")
class TestCacheLockerOnDjangosRedisCache(ServerCacheLockerContract):
    kind = "Django's Redis"

    def cache_at(self, port: int) -> dict[str, Any]:
        return djangos_redis(f"redis://127.0.0.1:{port}")


@pytest.mark.only_on("sqlite")
@pytest.mark.needs("memcached")
class TestCacheLockerOnMemcached(ServerCacheLockerContract):
    kind = "memcached"

    def private_server(self) -> AbstractContextManager[PrivateServer]:
        return private_memcached()

    def cache_at(self, port: int) -> dict[str, Any]:
        return pymemcache(f"memcached://127.0.0.1:{port}")


@pytest.mark.django_db(transaction=True)
class TestCacheLockerOnDatabaseCache(CacheLockerContract):
    kind = "database"
    uses_host_clock = True
    contended_keys = 100

    @pytest.fixture(autouse=True)
    def _table(self, _cache: None, transactional_db: None) -> Iterator[None]:
        call_command("createcachetable", verbosity=0)
        yield
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {TABLE}")

    def outage(self) -> AbstractContextManager[None]:
        return without_table(TABLE)


@contextmanager
def without_table(name: str) -> Iterator[None]:
    rename_table(name, f"{name}_away")
    try:
        yield
    finally:
        rename_table(f"{name}_away", name)


def rename_table(old: str, new: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {old} RENAME TO {new}")
