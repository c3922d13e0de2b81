"""What the system check says of lockers and the elector."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import checks

from django_gocron.checks import TAG

CACHE_LOCKER = "django_gocron.lockers.cache.CacheLocker"
CACHE_ELECTOR = "django_gocron.electors.cache.CacheElector"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "nothing": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "files": {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": "cache"},
    "table": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"},
    "memcached": {
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": "127.0.0.1:11211",
    },
    "redis": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://127.0.0.1:6379/1"},
    "quiet": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": "redis://127.0.0.1:6379/1",
        "OPTIONS": {"IGNORE_EXCEPTIONS": True},
    },
}


@pytest.fixture(autouse=True)
def _caches(settings: Any) -> None:
    settings.CACHES = CACHES


def found(settings: Any, **gocron: Any) -> list[tuple[str | None, str]]:
    settings.GOCRON = gocron
    return [(message.id, message.msg) for message in checks.run_checks(tags=[TAG], databases=[])]


def locker(path: str = CACHE_LOCKER, **options: Any) -> dict[str, Any]:
    return {"locks": {"BACKEND": path, "OPTIONS": options}}


@pytest.mark.parametrize("cache", ["default", "nothing", "files"])
def test_a_cache_that_cannot_keep_locks_is_refused(settings: Any, cache: str):
    ((identity, message),) = found(settings, LOCKERS=locker(cache=cache))
    assert identity == "gocron.E004"
    assert message.startswith(f"GOCRON['LOCKERS']['locks']: cache: '{cache}' is no cache for locks.")


def test_the_default_cache_is_the_one_that_is_meant_where_none_is_named(settings: Any):
    ((identity, message),) = found(settings, LOCKERS=locker())
    assert identity == "gocron.E004"
    assert "LocMemCache cannot keep locks" in message


def test_an_elector_has_the_same_needs(settings: Any):
    ((identity, message),) = found(
        settings, ELECTOR={"BACKEND": CACHE_ELECTOR, "OPTIONS": {"cache": "nothing"}}
    )
    assert identity == "gocron.E004"
    assert message.startswith("GOCRON['ELECTOR']: ")


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (locker("shop.locks.Locker"), "'shop.locks.Locker' cannot be imported"),
        (
            locker("datetime.timedelta"),
            "datetime.timedelta is not a subclass of django_gocron.lockers.base.Locker.",
        ),
        (locker(cash="redis"), "does not take these OPTIONS"),
        (locker(cache="redsi"), "redsi"),
        (locker(cache="redis", ttl=0), "ttl"),
    ],
)
def test_what_cannot_be_made_is_told(settings: Any, backend: dict[str, Any], words: str):
    ((identity, message),) = found(settings, LOCKERS=backend)
    assert identity == "gocron.E004"
    assert words in message


def test_with_coordination_off_it_does_not_matter(settings: Any):
    assert found(settings, LOCKERS=locker(cache="nothing"), COORDINATION="off") == []


@pytest.mark.parametrize("cache", ["memcached", "table"])
def test_a_cache_that_may_drop_locks_is_warned_of(settings: Any, cache: str):
    ((identity, message),) = found(settings, LOCKERS=locker(cache=cache))
    assert identity == "gocron.W013"
    assert f"the cache '{cache}' drops entries when it is full" in message


def test_a_cache_that_ignores_exceptions_is_warned_of(settings: Any):
    ((identity, message),) = found(settings, LOCKERS=locker(cache="quiet"))
    assert identity == "gocron.W014"
    assert "'quiet' ignores exceptions" in message


def test_so_is_one_that_does_so_by_a_general_setting(settings: Any):
    settings.DJANGO_REDIS_IGNORE_EXCEPTIONS = True
    assert [identity for identity, _ in found(settings, LOCKERS=locker(cache="redis"))] == ["gocron.W014"]


def test_redis_is_fine(settings: Any):
    assert (
        found(
            settings,
            LOCKERS=locker(cache="redis"),
            ELECTOR={"BACKEND": CACHE_ELECTOR, "OPTIONS": {"cache": "redis"}},
        )
        == []
    )
