"""Who claims where a leader is elected."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from django_gocron import Every
from django_gocron.backends import Backend
from django_gocron.electors.base import Elector
from django_gocron.engine import life, stopping
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Instance, Job
from django_gocron.models.choices import Status
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of, statuses

pytestmark = REAL_TRANSACTIONS

PATH = "django_gocron.electors.database.DatabaseElector"
TEN_SECONDS = Every(seconds=10)
TTL = 15


@pytest.fixture(autouse=True)
def _elects(settings: Any) -> None:
    settings.GOCRON = {"ELECTOR": {"BACKEND": PATH}}


def start(name: str) -> HandDriven:
    elector = Backend(setting="GOCRON['ELECTOR']", path=PATH, options={"ttl": TTL})
    return HandDriven(name=name, elector=elector)


@pytest.fixture
def leader() -> HandDriven:
    engine = start("leader")
    engine.parts.leadership.campaign()
    return engine


@pytest.fixture
def follower(leader: HandDriven) -> HandDriven:
    engine = start("follower")
    engine.parts.leadership.campaign()
    return engine


def at_tick(engine: HandDriven, job: Job) -> HandDriven:
    return engine.go_to(next_tick(job))


def test_the_leader_alone_claims(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=TEN_SECONDS)
    assert at_tick(follower, job).claim() == []
    assert len(at_tick(leader, job).claim()) == 1


def test_a_run_by_hand_waits_for_the_leader(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=None)
    run = job.run_now()
    follower.clock.advance(1)
    leader.clock.advance(1)
    assert follower.claim() == []
    assert [entry.run_id for entry in leader.claim()] == [run.pk]


def test_a_follower_that_is_elected_claims(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=TEN_SECONDS)
    leader.parts.leadership.resign()
    follower.parts.leadership.campaign()
    assert at_tick(leader, job).claim() == []
    assert len(at_tick(follower, job).claim()) == 1


def test_a_leader_whose_term_is_over_gives_back_what_has_not_started(
    leader: HandDriven, follower: HandDriven
):
    job = make_job(schedule=TEN_SECONDS)
    leader.go_to(next_tick(job) - timedelta(milliseconds=500))
    assert len(leader.claim()) == 1
    leader.parts.leadership.resign()
    assert leader.claim() == []
    assert statuses(job) == ["queued(given_back)"]
    follower.parts.leadership.campaign()
    assert len(at_tick(follower, job).claim()) == 1


def test_what_executes_goes_on_when_the_term_is_over(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=TEN_SECONDS)
    at_tick(leader, job).claim()
    leader.start()
    leader.parts.leadership.resign()
    leader.claim()
    leader.execute()
    leader.finish()
    assert statuses(job) == ["succeeded"]


def test_a_leader_that_cannot_renew_claims_no_more_before_its_term_is_over(leader: HandDriven):
    job = make_job(schedule=TEN_SECONDS)
    leader.clock.advance(TTL - 1)
    assert leader.claim() == []
    assert job.runs.count() == 0


def test_a_follower_reaps_and_replans_as_the_leader_does(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=TEN_SECONDS)
    at_tick(leader, job).claim()
    leader.start()
    leader.expire()
    assert follower.recovery.reap() == 1
    assert statuses(job) == ["lost(instance_gone)"]


def test_an_unlocked_job_is_the_leaders(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=TEN_SECONDS, coordination="unlocked")
    assert at_tick(follower, job).claim() == []
    assert len(at_tick(leader, job).claim()) == 1
    assert [run.scope for run in runs_of(job)] == [""]


def test_a_node_local_job_is_everybodys(leader: HandDriven, follower: HandDriven):
    job = make_job(schedule=TEN_SECONDS, coordination="node_local")
    for engine in (leader, follower):
        engine.claim()
        engine.clock.advance(10)
        assert len(engine.claim()) == 1
    scopes = {run.scope for run in runs_of(job)}
    assert scopes == {str(leader.lease.instance_id), str(follower.lease.instance_id)}


def test_a_follower_keeps_its_own_ticks(leader: HandDriven):
    job = make_job(schedule=TEN_SECONDS, coordination="node_local")
    leader.claim()
    leader.clock.advance(9.5)
    leader.claim()
    leader.parts.leadership.resign()
    leader.claim()
    assert {run.status for run in runs_of(job)} == {Status.CLAIMED}


def test_the_rows_say_who_leads(leader: HandDriven, follower: HandDriven):
    terms = dict(Instance.objects.values_list("name", "term"))
    assert terms == {"leader": 1, "follower": None}
    leader.parts.leadership.resign()
    follower.parts.leadership.campaign()
    assert dict(Instance.objects.values_list("name", "term")) == {"leader": None, "follower": 2}


released = threading.Event()


class HangingElector(Elector):
    ttl = timedelta(seconds=15)

    def campaign(self, candidate: str, *, name: str) -> int | None:
        released.wait()
        return None

    def resign(self, candidate: str) -> bool:
        return False


def test_an_elector_that_hangs_keeps_no_scheduler_from_starting_or_stopping(settings: Any, monkeypatch: Any):
    monkeypatch.setattr(life, "FIRST_ANSWER", 0.05)
    monkeypatch.setattr(stopping, "RESIGN_GRACE", 0.05)
    settings.GOCRON = {"ELECTOR": {"BACKEND": f"{__name__}.HangingElector"}}
    released.clear()
    try:
        with Scheduler(name="patient") as patient:
            assert not patient.is_leader
        assert Instance.objects.get(name="patient").stopped_at is not None
    finally:
        released.set()
