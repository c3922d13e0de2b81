"""The lease: how an instance is known to be alive, and what it does when it is not."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

import pytest

from django_gocron import Every, events
from django_gocron.engine.lease import lease_is_valid
from django_gocron.executors.base import Work
from django_gocron.models import Instance
from django_gocron.models.now import database_now
from tests.handdriven import (
    DATABASE,
    LEASE,
    REAL_TRANSACTIONS,
    HandDriven,
    do_nothing,
    make_job,
    next_tick,
    statuses,
)
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS


def is_valid(engine: HandDriven) -> bool:
    return Instance.objects.filter(
        lease_is_valid(engine.lease.instance_id), pk=engine.lease.instance_id
    ).exists()


def test_an_instance_registers_with_what_people_and_other_instances_want_to_know():
    make_job()
    engine = HandDriven(name="left", labels=["gpu"], workers=3)
    row = engine.row
    assert (row.name, row.host, row.pid) == ("left", socket.gethostname(), os.getpid())
    assert (row.labels, row.workers) == (["gpu"], 3)
    assert f"{do_nothing.__module__}.do_nothing" in row.tasks
    assert set(row.versions) == {"django-gocron", "django", "python"}


def test_without_a_name_an_instance_is_known_by_host_and_process():
    assert HandDriven(name="").row.name == f"{socket.gethostname()}:{os.getpid()}"


def test_a_lease_lasts_from_the_registration_on_the_clock_of_the_database():
    before = database_now(DATABASE)
    row = HandDriven().row
    after = database_now(DATABASE)
    assert before <= row.started_at <= after
    assert row.started_at + LEASE - timedelta(seconds=1) < row.lease_expires_at <= after + LEASE


def test_a_renewal_extends_the_lease():
    engine = HandDriven()
    engine.expire()
    assert not is_valid(engine)
    assert engine.lease.renew() is True
    assert is_valid(engine)
    assert engine.row.heartbeat_at >= engine.row.started_at


def test_trust_ends_a_tenth_before_the_lease_does():
    engine = HandDriven()
    engine.clock.advance(LEASE * 0.9 - timedelta(seconds=1))
    assert engine.lease.is_trusted
    engine.clock.advance(1)
    assert not engine.lease.is_trusted


def test_trust_counts_from_before_the_renewal_was_sent(monkeypatch):
    engine = HandDriven()
    before_it_was_sent = iter([0.0])
    monkeypatch.setattr(engine.clock, "boottime", lambda: next(before_it_was_sent, LEASE.total_seconds()))
    assert engine.lease.renew()
    assert not engine.lease.is_trusted


def test_setting_the_wall_clock_moves_no_trust():
    engine = HandDriven()
    engine.clock.set(engine.now + timedelta(days=1))
    assert engine.lease.is_trusted


@pytest.mark.parametrize("ending", ["reaped_at", "stopped_at"])
def test_a_lease_that_was_taken_cannot_be_renewed(ending):
    engine = HandDriven()
    Instance.objects.update(**{ending: database_now(DATABASE)})
    assert engine.lease.renew() is False
    assert not is_valid(engine)


def test_an_instance_can_be_asked_to_stop_through_its_row():
    engine = HandDriven()
    assert not engine.lease.is_asked_to_stop()
    Instance.objects.update(stop_requested_at=database_now(DATABASE))
    assert engine.lease.is_asked_to_stop()


# --- declared dead ---------------------------------------------------------------------------------


def declared_dead() -> tuple[HandDriven, dict[str, Work], dict[str, str]]:
    """An instance with a run that executes, one that was started, and one that is held; then it is reaped. Answers the
    instance, the work of its executor, and what became of the runs."""
    jobs = {name: make_job(name, schedule=Every(seconds=10)) for name in ("executing", "started", "held")}
    engine = HandDriven(workers=2).go_to(max(next_tick(job) for job in jobs.values()))
    engine.parts.loop.claim(engine.now)
    works = {work.context.job_name: work for work in engine.start()}
    assert works["executing"].begin() is True
    engine.expire()
    HandDriven(name="reaper").recovery.reap()
    return engine, works, {name: statuses(job)[0] for name, job in jobs.items()}


def test_an_instance_that_was_declared_dead_goes_on_under_a_new_identity():
    engine, _works, _runs = declared_dead()
    before = engine.lease.instance_id
    with Heard(events.LeaseLost) as heard:
        engine.parts.heartbeat.beat()
    assert engine.lease.instance_id != before
    assert is_valid(engine)
    assert [(event.instance, event.running) for event in heard] == [(before, 1)]


def test_an_instance_that_was_declared_dead_drops_what_has_not_begun():
    engine, _works, _runs = declared_dead()
    engine.parts.heartbeat.beat()
    assert [entry.job_name for entry in engine.memory.entries()] == ["executing"]


def test_a_task_of_an_instance_that_was_declared_dead_is_told():
    engine, works, _runs = declared_dead()
    assert not works["executing"].context.lease_lost
    engine.parts.heartbeat.beat()
    assert works["executing"].context.lease_lost


def test_user_code_of_an_instance_that_was_declared_dead_does_not_begin():
    engine, works, _runs = declared_dead()
    engine.parts.heartbeat.beat()
    assert works["started"].begin() is False


def test_what_had_not_begun_is_in_the_queue_and_what_had_is_lost():
    _engine, _works, runs = declared_dead()
    assert runs["held"] == "queued(recovered)"
    assert runs["executing"] == runs["started"] == "lost(instance_gone)"


# --- judging others --------------------------------------------------------------------------------


def test_an_instance_judges_others_only_after_its_own_renewals_have_gone_well_for_a_while():
    engine = HandDriven()
    heartbeat = engine.parts.heartbeat
    heartbeat.beat()
    for seconds, may_reap in ((5, False), (5, False), (4, False), (2, True)):
        engine.clock.advance(seconds)
        heartbeat.beat()
        assert heartbeat.may_reap is may_reap


def test_a_gap_in_the_renewals_begins_the_wait_anew():
    engine = HandDriven()
    heartbeat = engine.parts.heartbeat
    for seconds in (0, 10, 10):
        engine.clock.advance(seconds)
        heartbeat.beat()
    assert heartbeat.may_reap
    engine.clock.advance(60)
    heartbeat.beat()
    assert not heartbeat.may_reap


def test_an_instance_that_never_renewed_judges_nobody():
    engine = HandDriven()
    engine.clock.advance(60)
    assert not engine.parts.heartbeat.may_reap
