"""The electors that come with the package, each against the contract of all electors."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as project
from django.core.management import call_command
from django.test.utils import override_settings

from django_gocron import clock
from django_gocron.backends import Backend
from django_gocron.electors.base import Elector
from django_gocron.electors.cache import CacheElector
from django_gocron.electors.database import DatabaseElector, Reading
from django_gocron.exceptions import ConfigurationError
from django_gocron.models import Lease
from django_gocron.models.now import database_now
from django_gocron.testing.electors import ElectorContract
from tests.contracts.caches import caching, database_cache, django_redis, djangos_redis, pymemcache
from tests.faults.servers import default_connection, free_port
from tests.handdriven import DATABASE, REAL_TRANSACTIONS
from tests.services import find_service

TEST_DATABASE = project.TEST_DATABASE
ELECTION = "GOCRON_TEST_ELECTION"
"""In the environment, so that other processes have it too: the name of the election, another in each test."""


@contextmanager
def database_away() -> Iterator[None]:
    """Nobody listens there, or there is no such folder."""
    nowhere = {"NAME": "/nowhere/db.sqlite3"} if TEST_DATABASE == "sqlite" else elsewhere()
    with default_connection(nowhere):
        yield


def elsewhere() -> dict[str, Any]:
    return {"HOST": "127.0.0.1", "PORT": free_port()}


@REAL_TRANSACTIONS
class TestDatabaseElector(ElectorContract):
    uses_host_clock = TEST_DATABASE == "sqlite"

    def make_elector(self, ttl: timedelta) -> DatabaseElector:
        return DatabaseElector(ttl=ttl)

    def outage(self):
        return database_away()

    def test_the_row_says_who_leads_since_when_and_until_when(self):
        before = database_now(DATABASE)
        term = DatabaseElector(ttl=15).campaign("a", name="left")
        after = database_now(DATABASE)
        row = Lease.objects.get()
        assert (row.name, row.holder, row.token, row.term) == ("leader", "left", "a", term)
        assert before <= row.acquired_at <= after
        assert before <= row.expires_at - timedelta(seconds=15) <= after

    def test_a_renewal_leaves_alone_since_when_one_leads(self):
        elector = DatabaseElector()
        elector.campaign("a", name="left")
        before = Lease.objects.get()
        elector.campaign("a", name="left")
        after = Lease.objects.get()
        assert after.acquired_at == before.acquired_at
        assert after.expires_at > before.expires_at

    def test_after_a_resignation_the_row_names_nobody(self):
        elector = DatabaseElector()
        elector.campaign("a", name="left")
        elector.resign("a")
        row = Lease.objects.get()
        assert (row.holder, row.token, row.term) == ("", "", 1)

    def test_a_follower_only_reads(self, django_assert_num_queries):
        elector = DatabaseElector()
        elector.campaign("a", name="left")
        with django_assert_num_queries(1) as queries:
            elector.campaign("b", name="right")
        assert queries[0]["sql"].startswith("SELECT")

    def test_elections_of_other_names_elect_others(self):
        for name in ("leader", "other"):
            assert DatabaseElector(name=name).campaign(name, name=name) == 1

    def test_a_row_that_was_deleted_under_a_leader_is_made_again(self):
        elector = DatabaseElector()
        elector.campaign("a", name="left")
        Lease.objects.all().delete()
        assert elector.campaign("b", name="right") == 1
        assert elector.campaign("a", name="left") is None

    def test_a_leader_that_was_overtaken_after_it_had_looked_renews_nothing(self, monkeypatch):
        elector, successor = DatabaseElector(), DatabaseElector()
        elector.campaign("a", name="left")

        def overtake() -> None:
            successor.resign("a")
            successor.campaign("b", name="right")

        after_looking(elector, overtake, monkeypatch)
        assert elector.campaign("a", name="left") is None
        assert Lease.objects.get().token == "b"

    def test_a_leader_whose_time_was_over_after_it_had_looked_renews_nothing(self, monkeypatch):
        elector = DatabaseElector()
        elector.campaign("a", name="left")
        over = database_now(DATABASE) - timedelta(seconds=1)
        after_looking(elector, lambda: Lease.objects.update(expires_at=over), monkeypatch)
        assert elector.campaign("a", name="left") is None
        assert Lease.objects.get().expires_at == over

    def test_a_candidate_that_was_overtaken_after_it_had_looked_takes_nothing(self, monkeypatch):
        elector, other = DatabaseElector(), DatabaseElector()
        after_looking(elector, lambda: other.campaign("b", name="right"), monkeypatch)
        assert elector.campaign("a", name="left") is None
        assert (Lease.objects.get().token, Lease.objects.get().term) == ("b", 1)

    def test_a_term_that_has_come_and_gone_after_a_candidate_had_looked_is_not_given_again(self, monkeypatch):
        elector, other = DatabaseElector(), DatabaseElector()

        def come_and_go() -> None:
            other.campaign("b", name="right")
            other.resign("b")

        after_looking(elector, come_and_go, monkeypatch)
        assert elector.campaign("a", name="left") is None
        monkeypatch.undo()
        assert elector.campaign("a", name="left") == 2


def after_looking(
    elector: DatabaseElector, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the elector's two steps something happens, as when its process is frozen there."""
    look = elector._read

    def look_and_wait() -> Reading:
        reading = look()
        act()
        return reading

    monkeypatch.setattr(elector, "_read", look_and_wait)


class CacheElectorContract(ElectorContract):
    """In a cache that other tests use too, for an election of the test's own."""

    def cache(self) -> dict[str, Any]:
        raise NotImplementedError

    def dead_cache(self) -> dict[str, Any]:
        return {**self.cache(), "LOCATION": f"redis://127.0.0.1:{free_port()}"}

    def make_elector(self, ttl: timedelta) -> CacheElector:
        return CacheElector("elections", ttl, name=os.environ[ELECTION])

    def prepare_process(self) -> None:
        override_settings(CACHES={"elections": self.cache()}).enable()

    def outage(self):
        return caching(elections=self.dead_cache())

    @pytest.fixture(autouse=True)
    def _election(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv(ELECTION, uuid.uuid4().hex)
        with caching(elections=self.cache()):
            yield

    def test_elections_of_other_names_elect_others(self):
        for name in (uuid.uuid4().hex, uuid.uuid4().hex):
            assert CacheElector("elections", name=name).campaign(name, name=name) == 1

    def test_a_leader_that_was_late_leads_again_once_nobody_else_does(self, monkeypatch: pytest.MonkeyPatch):
        elector = self.make_elector(timedelta(seconds=2))
        first = elector.campaign("a", name="left")
        late = clock.boottime() + 5
        monkeypatch.setattr(clock, "boottime", lambda: late)
        self.make_elector(timedelta(seconds=2)).resign("a")
        assert elector.campaign("a", name="left") == first + 1


class StepByStep:
    """Where looking whose leadership is and renewing it are two steps."""

    @pytest.mark.parametrize(("seconds", "renews"), [(14, True), (16, False), (21, False)])
    def test_leadership_is_renewed_well_within_its_ttl_alone(self, monkeypatch, seconds: float, renews: bool):
        elector = self.make_elector(timedelta(seconds=20))
        term = elector.campaign("a", name="left")
        late = clock.boottime() + seconds
        monkeypatch.setattr(clock, "boottime", lambda: late)
        assert elector.campaign("a", name="left") == (term if renews else None)
        assert elector.resign("a") is renews


@pytest.mark.needs("redis")
class TestCacheElectorOnDjangoRedis(CacheElectorContract):
    def cache(self):
        return django_redis(find_service("redis").location)


@pytest.mark.needs("redis")
class TestCacheElectorOnDjangoRedisThatSwallowsErrors(CacheElectorContract):
    def cache(self):
        return django_redis(find_service("redis").location, IGNORE_EXCEPTIONS=True)


@pytest.mark.needs("redis")
class TestCacheElectorOnRedis(StepByStep, CacheElectorContract):
    def cache(self):
        return djangos_redis(find_service("redis").location)


@pytest.mark.needs("memcached")
class TestCacheElectorOnMemcached(StepByStep, CacheElectorContract):
    def cache(self):
        return pymemcache(find_service("memcached").location)

    def dead_cache(self):
        return pymemcache(f"memcached://127.0.0.1:{free_port()}")


@REAL_TRANSACTIONS
class TestCacheElectorOnADatabase(StepByStep, CacheElectorContract):
    uses_host_clock = True

    def cache(self):
        return database_cache()

    def outage(self):
        return database_away()

    @pytest.fixture(autouse=True)
    def _table(self, _election: None) -> None:
        call_command("createcachetable", verbosity=0)


@pytest.mark.parametrize(
    ("elector", "options"),
    [
        ("database.DatabaseElector", {"using": "nowhere"}),
        ("database.DatabaseElector", {"ttl": 0.5}),
        ("database.DatabaseElector", {"ttl": "long"}),
        ("database.DatabaseElector", {"name": ""}),
        ("database.DatabaseElector", {"name": "n" * 256}),
        ("database.DatabaseElector", {"cache": "default"}),
        ("cache.CacheElector", {"cache": "nowhere"}),
        ("cache.CacheElector", {"cache": "local"}),
        ("cache.CacheElector", {"ttl": 0.5}),
        ("cache.CacheElector", {"prefix": "a b"}),
        ("cache.CacheElector", {"name": ""}),
        ("cache.CacheElector", {"using": "default"}),
    ],
)
def test_wrong_options_are_refused(settings, elector: str, options: dict[str, object]):
    settings.CACHES = {
        "default": database_cache(),
        "local": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    }
    path, setting = f"django_gocron.electors.{elector}", "GOCRON['ELECTOR']"
    assert Backend(setting=setting, path=path).make(Elector)  # type: ignore[type-abstract]
    with pytest.raises(ConfigurationError) as caught:
        Backend(setting=setting, path=path, options=options).make(Elector)  # type: ignore[type-abstract]
    assert caught.value.code == "bad_backend"
