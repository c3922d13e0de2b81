"""What a locker in a cache does beyond the contract: caches that it refuses, that lie, and that are away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from redis.connection import AbstractConnection

from django_gocron.exceptions import ConfigurationError, LockerError
from django_gocron.lockers.base import Locker, Refusal
from django_gocron.lockers.cache import CacheLocker, find_unfit
from django_gocron.testing.crowds import own_connections
from django_gocron.testing.lockers import new_key, new_lock
from tests.contracts.caches import (
    caching,
    database_cache,
    django_redis,
    djangos_redis,
    make_caches,
    private_memcached,
    private_redis,
    pymemcache,
)

pytestmark = pytest.mark.only_on("sqlite")
"""No database has a part in it, but for one of these caches, which the contract is tried on with each."""

LOCMEM = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}


class Liar(BaseCache):
    """Answers what its OPTIONS say, whatever is the case."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._answers = params["OPTIONS"]

    def add(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._answers["add"]

    def get(self, key: str, *args: Any, **kwargs: Any) -> Any:
        return self._answers["get"]

    def touch(self, key: str, *args: Any, **kwargs: Any) -> Any:
        return self._answers["touch"]


def lying(*, add: Any = False, get: Any = None, touch: Any = False) -> dict[str, Any]:
    return {
        "BACKEND": "tests.contracts.test_cache_lockers.Liar",
        "OPTIONS": {"add": add, "get": get, "touch": touch},
    }


class OurLocMemCache(LocMemCache):
    pass


# --- caches and options that are refused --------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("locmem.LocMemCache", "each process has one of its own"),
        ("dummy.DummyCache", "it keeps nothing"),
        ("filebased.FileBasedCache", "several that add one key"),
    ],
)
def test_refuses_a_cache_that_cannot_keep_locks_and_says_what_can(backend: str, reason: str):
    cache = {"BACKEND": f"django.core.cache.backends.{backend}", "LOCATION": "anywhere"}
    with caching(default=cache), pytest.raises(ConfigurationError) as caught:
        CacheLocker()
    assert caught.value.code == "bad_backend"
    assert reason in caught.value.message
    assert "Redis or Memcached, or 'django_gocron.lockers.database.DatabaseLocker'" in caught.value.message


@pytest.mark.parametrize(
    ("cache_class", "is_unfit"),
    [
        (OurLocMemCache, True),
        (FileBasedCache, True),
        (DatabaseCache, False),
        (Liar, False),
    ],
)
def test_tells_from_the_class_alone_whether_a_cache_is_unfit(cache_class: type, is_unfit: bool):
    assert bool(find_unfit(cache_class)) is is_unfit


def test_an_unknown_alias_is_refused_with_those_that_are_known():
    with caching(default=lying(), locks=lying()), pytest.raises(ConfigurationError) as caught:
        CacheLocker(cache="lock")
    assert "(default, locks), not 'lock'. Did you mean 'locks'?" in caught.value.message


def test_a_cache_whose_backend_is_missing_is_refused():
    missing = {"BACKEND": "shop.caches.NoSuchCache"}
    with caching(default=missing), pytest.raises(ConfigurationError, match="cannot be set up"):
        CacheLocker()


@pytest.mark.parametrize("ttl", [0, 0.5, -1, "60", None, True, float("nan"), timedelta(days=31), 10**12])
def test_refuses_a_ttl_that_is_none(ttl: Any):
    with caching(default=lying()), pytest.raises(ConfigurationError) as caught:
        CacheLocker(ttl=ttl)
    assert (caught.value.code, caught.value.field) == ("bad_backend", "ttl")


@pytest.mark.parametrize("ttl", [1, 90.5, timedelta(minutes=5), timedelta(days=30)])
def test_takes_a_ttl_as_seconds_or_timedelta(ttl: Any):
    with caching(default=lying()):
        expected = ttl if isinstance(ttl, timedelta) else timedelta(seconds=ttl)
        assert CacheLocker(ttl=ttl).ttl == expected


@pytest.mark.parametrize("prefix", ["", "two words", "a:b", "Shop", "x" * 51, None])
def test_refuses_a_prefix_that_would_make_keys_ambiguous(prefix: Any):
    with caching(default=lying()), pytest.raises(ConfigurationError) as caught:
        CacheLocker(prefix=prefix)
    assert caught.value.field == "prefix"


def test_refuses_a_cache_whose_own_prefix_leaves_no_room_for_keys():
    cache = {**lying(), "KEY_PREFIX": "x" * 120}
    with caching(default=cache), pytest.raises(ConfigurationError, match="KEY_PREFIX"):
        CacheLocker()


# --- caches that lie ------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, 1, 0, "OK", object()])
def test_an_answer_that_is_neither_true_nor_false_is_an_error_and_no_lock(answer: Any):
    with caching(default=lying(add=answer)):
        (refusal,) = CacheLocker().acquire_many([new_lock()])
    assert refusal is not None
    assert "neither True nor False" in refusal.error


def test_a_key_that_is_neither_added_nor_there_is_an_error_and_no_lock_that_is_held():
    with caching(default=lying(add=False, get=None)):
        (refusal,) = CacheLocker().acquire_many([new_lock()])
    assert refusal is not None
    assert refusal.error != ""


def test_a_lock_of_ours_that_cannot_be_touched_is_not_held():
    lock = new_lock()
    with caching(default=lying(add=False, get=f"{lock.token} {lock.holder}", touch=False)):
        (refusal,) = CacheLocker().acquire_many([lock])
    assert refusal is not None
    assert refusal.error != ""


@pytest.mark.parametrize("value", [17, b"bytes", {"a": 1}, "", "oneword"])
def test_a_value_that_somebody_else_has_put_there_is_held_by_nobody_we_can_name(value: Any):
    with caching(default=lying(add=False, get=value)):
        assert CacheLocker().acquire_many([new_lock()]) == [Refusal(holder="")]


# --- caches that are away -------------------------------------------------------------------------------


@pytest.mark.needs("redis")
def test_django_redis_reports_an_outage_though_it_is_told_to_ignore_exceptions():
    with private_redis() as server:
        url = f"redis://127.0.0.1:{server.port}"
        with caching(default=django_redis(url, IGNORE_EXCEPTIONS=True)):
            server.stop()
            assert caches["default"].add("key", "value") is None
            with pytest.raises(LockerError) as caught:
                CacheLocker().acquire_many([new_lock()])
    assert caught.value.code == "locker_unavailable"
    assert "'default' cannot be used: ConnectionError: " in caught.value.message


@pytest.mark.needs("memcached")
def test_memcached_that_swallows_errors_holds_nothing_while_it_is_away():
    with private_memcached() as server:
        url = f"memcached://127.0.0.1:{server.port}"
        with caching(default=pymemcache(url, ignore_exc=True)):
            server.stop()
            (refusal,) = CacheLocker().acquire_many([new_lock()])
    assert refusal is not None
    assert refusal.error != ""


@pytest.mark.needs("redis")
def test_works_again_after_the_server_has_come_back():
    with private_redis() as server:
        with caching(default=django_redis(f"redis://127.0.0.1:{server.port}")):
            locker, lock = CacheLocker(), new_lock()
            locker.acquire_many([lock])
            server.stop()
            with pytest.raises(LockerError):
                locker.extend_many([lock])
            server.start()
            assert locker.acquire_many([lock]) == [None]


# --- Redis ------------------------------------------------------------------------------------------------


@pytest.fixture
def redis_locker() -> Iterator[Locker]:
    with caching(**make_caches("django-redis")):
        yield CacheLocker()


@pytest.mark.needs("redis")
def test_a_thousand_locks_are_one_round_trip(redis_locker: Locker, monkeypatch: pytest.MonkeyPatch):
    locks = [new_lock() for _ in range(1000)]
    redis_locker.acquire_many(locks[:1])  # connects
    trips = count_trips(monkeypatch)
    for call in (redis_locker.acquire_many, redis_locker.extend_many, redis_locker.release_many):
        trips.clear()
        call(locks)
        assert len(trips) == 1


def count_trips(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    trips: list[object] = []
    send = AbstractConnection.send_packed_command

    def note(self: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
        trips.append(command)
        return send(self, command, *args, **kwargs)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", note)
    return trips


@pytest.mark.needs("redis")
def test_the_caches_own_prefix_stands_before_the_key(redis_locker: Locker):
    lock = new_lock()
    redis_locker.acquire_many([lock])
    client = caches["default"].client.get_client()  # type: ignore[attr-defined]
    assert client.get(f"shop:1:gocron:lock:{lock.key}") == f"{lock.token} {lock.holder}".encode()


@pytest.mark.needs("redis")
def test_a_lock_lasts_as_many_milliseconds_as_it_was_asked_for():
    with caching(**make_caches("django-redis")):
        lock = new_lock()
        CacheLocker(ttl=1.5).acquire_many([lock])
        client = caches["default"].client.get_client()  # type: ignore[attr-defined]
        assert 0 < client.pttl(f"shop:1:gocron:lock:{lock.key}") <= 1500


@pytest.mark.needs("redis")
def test_a_key_of_another_type_concerns_no_other_lock_of_the_batch(redis_locker: Locker):
    odd, fine = new_lock(), new_lock()
    client = caches["default"].client.get_client()  # type: ignore[attr-defined]
    client.lpush(f"shop:1:gocron:lock:{odd.key}", "a list")
    refusal, answer = redis_locker.acquire_many([odd, fine])
    assert refusal is not None
    assert "WRONGTYPE" in refusal.error
    assert answer is None
    assert redis_locker.extend_many([odd, fine]) == [False, True]
    assert redis_locker.release_many([odd, fine]) == [False, True]
    client.delete(f"shop:1:gocron:lock:{odd.key}")


@pytest.mark.needs("redis")
def test_values_that_the_client_decodes_are_understood():
    """The server is its own: django-redis has one pool of connections for all caches at a URL."""
    decoding = {"CONNECTION_POOL_KWARGS": {"decode_responses": True}}
    with (
        private_redis() as server,
        caching(default=django_redis(f"redis://127.0.0.1:{server.port}", **decoding)),
    ):
        locker, lock = CacheLocker(), new_lock(holder="web-1:4711")
        assert locker.acquire_many([lock]) == [None]
        assert locker.acquire_many([new_lock(lock.key)]) == [Refusal(holder="web-1:4711")]
        assert locker.release_many([lock]) == [True]


@pytest.mark.needs("redis")
@pytest.mark.filterwarnings("ignore:.* on sharded client:UserWarning")  # django-redis of itself
def test_a_sharded_redis_is_locked_step_by_step():
    url = make_caches("django-redis")["default"]["LOCATION"]
    with caching(default=django_redis([url, url], CLIENT_CLASS="django_redis.client.ShardClient")):
        locker, lock = CacheLocker(), new_lock()
        assert not locker.is_atomic
        assert locker.acquire_many([lock]) == [None]
        assert locker.acquire_many([new_lock(lock.key)]) == [Refusal(holder=lock.holder)]
        assert locker.release_many([lock]) == [True]


@pytest.mark.needs("redis")
@pytest.mark.parametrize("kind", ["django-redis", "Django's Redis"])
def test_of_two_threads_that_race_a_thousand_times_one_wins_each_time(kind: str):
    keys = [new_key() for _ in range(1000)]
    with caching(**make_caches(kind)):
        winners = race(keys)
    assert [sorted(answers) for answers in winners] == [["lost", "won"]] * len(keys)


def race(keys: list[str]) -> list[tuple[str, str]]:
    """For each key, what came of it for the two who began at the same time."""
    together = threading.Barrier(2)

    def run(_number: int) -> list[str]:
        with own_connections():
            return [attempt(CacheLocker(), key, together) for key in keys]

    with ThreadPoolExecutor(2) as pool:
        one, another = pool.map(run, range(2))
    return list(zip(one, another, strict=True))


def attempt(locker: Locker, key: str, together: threading.Barrier) -> str:
    together.wait(30)
    return "won" if locker.acquire_many([new_lock(key)]) == [None] else "lost"


# --- others -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cache", "is_atomic"),
    [
        (django_redis("redis://127.0.0.1"), True),
        (djangos_redis("redis://127.0.0.1"), False),
        (pymemcache("memcached://127.0.0.1"), False),
        (database_cache(), False),
        (lying(), False),
    ],
)
def test_says_whether_it_looks_and_acts_in_one_step(cache: dict[str, Any], is_atomic: bool):
    with caching(default=cache):
        assert CacheLocker().is_atomic is is_atomic


@pytest.mark.needs("memcached")
def test_lockers_with_different_prefixes_have_different_locks():
    with caching(**make_caches("memcached")):
        key = new_key()
        answers = [CacheLocker(prefix=prefix).acquire_many([new_lock(key)]) for prefix in ("shop", "bank")]
    assert answers == [[None], [None]]


@pytest.mark.needs("memcached")
def test_the_longest_keys_fit_into_memcached_beside_its_prefix():
    cache = {**make_caches("memcached")["default"], "KEY_PREFIX": "x" * 80}
    with caching(default=cache):
        locks = [new_lock(new_key() + "y" * length) for length in (68, 69, 168)]
        assert CacheLocker(prefix="z" * 50).acquire_many(locks) == [None] * 3
