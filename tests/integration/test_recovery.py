"""Recovering what instances that are gone have left behind, and what this one has lost sight of."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from django_gocron import Every, events
from django_gocron.engine import audit
from django_gocron.models import Instance, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from tests.elsewhere import open_transaction
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS


def gone_while_running(*jobs) -> HandDriven:
    """An instance that ran the jobs and died of it."""
    engine = HandDriven(name="gone").go_to(max(next_tick(job) for job in jobs))
    engine.claim()
    engine.start()
    engine.expire()
    return engine


def gone_while_holding(*jobs) -> HandDriven:
    engine = HandDriven(name="gone").go_to(max(next_tick(job) for job in jobs))
    engine.claim()
    engine.expire()
    return engine


def test_a_claimed_run_of_an_instance_that_is_gone_goes_back_to_the_queue_and_runs_elsewhere():
    job = make_job(schedule=Every(seconds=10))
    gone = gone_while_holding(job)
    reaper = HandDriven().go_to(gone.now)
    assert reaper.recovery.reap() == 1
    [run] = runs_of(job)
    assert (run.status, run.reason, run.instance_id, run.claim_id) == ("queued", "recovered", None, None)
    assert reaper.step() == 1
    assert statuses(job) == ["succeeded"]


def test_a_running_run_of_an_instance_that_is_gone_is_lost_and_its_lock_free():
    job = make_job(schedule=Every(seconds=10))
    gone_while_running(job)
    HandDriven().recovery.reap()
    [run] = runs_of(job)
    assert (run.status, run.reason, run.held_lock) == ("lost", "instance_gone", None)
    assert run.finished_at is not None


def test_a_lost_run_is_an_outcome_and_a_crash_of_its_job():
    job = make_job(schedule=Every(seconds=10))
    gone_while_running(job)
    HandDriven().recovery.reap()
    state = state_of(job)
    assert (state.outcomes, state.crashes_in_row, state.last_status) == ([["lost", None]], 1, "lost")


def test_the_next_tick_of_a_job_whose_run_was_lost_runs():
    job = make_job(schedule=Every(seconds=10))
    gone_while_running(job)
    reaper = HandDriven()
    reaper.recovery.reap()
    reaper.go_to(next_tick(job)).step()
    assert statuses(job) == ["lost(instance_gone)", "succeeded"]


def test_an_interval_from_completion_goes_on_after_a_lost_run():
    job = make_job(schedule=Every(seconds=10), interval_from_completion=True)
    gone = gone_while_running(job)
    assert state_of(job).next_run_at is None
    HandDriven().go_to(gone.now).recovery.reap()
    assert (next_tick(job) - gone.now).total_seconds() == 10


def test_reaping_is_told_once_and_each_lost_run():
    first, second = (
        make_job("first", schedule=Every(seconds=10)),
        make_job("second", schedule=Every(seconds=10)),
    )
    gone = gone_while_running(first, second)
    with Heard(events.InstanceReaped, events.RunLost) as heard:
        HandDriven().recovery.reap()
        HandDriven(name="late").recovery.reap()
    reaped, *lost = heard
    assert (reaped.instance, reaped.name, reaped.lost, reaped.requeued) == (
        gone.lease.instance_id,
        "gone",
        2,
        0,
    )
    assert {event.job_id for event in lost} == {first.pk, second.pk}


def test_an_instance_with_a_lease_is_left_alone():
    job = make_job(schedule=Every(seconds=10))
    alive = HandDriven(name="alive").go_to(next_tick(job))
    alive.claim()
    alive.start()
    assert HandDriven().recovery.reap() == 0
    assert statuses(job) == ["running"]


def test_what_an_instance_commits_after_it_was_declared_dead_is_found_too():
    job = make_job(schedule=Every(seconds=10))
    gone = gone_while_holding(job)
    reaper = HandDriven()
    reaper.recovery.reap()
    Run.objects.update(status=Status.RUNNING, instance=gone.lease.instance_id, held_lock=str(job.pk))
    with Heard(events.InstanceReaped) as heard:
        reaper.recovery.reap()
    assert statuses(job) == ["lost(instance_gone)"]
    assert [event.lost for event in heard] == [1]


def test_what_an_instance_that_has_stopped_left_behind_is_found_too():
    job = make_job(schedule=Every(seconds=10))
    stopped = HandDriven(name="stopped").go_to(next_tick(job))
    stopped.claim()
    Instance.objects.filter(name="stopped").update(stopped_at=database_now(DATABASE))
    HandDriven().recovery.reap()
    assert statuses(job) == ["queued(recovered)"]


def test_nobody_is_judged_before_our_own_renewals_have_gone_well_for_a_while():
    job = make_job(schedule=Every(seconds=10))
    gone_while_running(job)
    engine = HandDriven()
    engine.parts.heartbeat.beat()
    engine.parts.loop._look_after_others()
    assert statuses(job) == ["running"]
    for _ in range(2):
        engine.clock.advance(10)
        engine.parts.heartbeat.beat()
    engine.parts.loop._look_after_others()
    assert statuses(job) == ["lost(instance_gone)"]


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_job_that_somebody_is_editing_does_not_hold_up_the_recovery_of_others():
    edited, other = (
        make_job("edited", schedule=Every(seconds=10)),
        make_job("other", schedule=Every(seconds=10)),
    )
    gone_while_running(edited, other)
    reaper = HandDriven()
    with open_transaction(lambda: JobState.objects.select_for_update().get(pk=edited.pk)):
        reaper.recovery.reap()
        assert (statuses(edited), statuses(other)) == (["running"], ["lost(instance_gone)"])
        assert runs_of(edited)[0].held_lock is not None
    reaper.recovery.reap()
    assert statuses(edited) == ["lost(instance_gone)"]


# --- what this instance has lost sight of ----------------------------------------------------------


def test_a_claim_whose_answer_was_lost_goes_back_to_the_queue():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(job))
    engine.memory.forget(engine.claim())
    assert engine.audit.requeue_unknown() == 1
    assert engine.step() == 1
    assert statuses(job) == ["succeeded"]


def test_a_start_whose_answer_was_lost_and_whose_run_was_dropped_goes_back_to_the_queue():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(job))
    [entry] = engine.claim()
    engine.start()
    engine.executor.submitted.clear()
    engine.memory.forget([entry])
    assert engine.audit.requeue_unknown() == 1
    [run] = runs_of(job)
    assert (run.status, run.held_lock, run.started_at, run.instance_id) == ("queued", None, None, None)


def test_what_is_held_or_runs_here_is_not_touched_by_the_audit():
    held, running = (
        make_job("held", schedule=Every(seconds=11)),
        make_job("running", schedule=Every(seconds=10)),
    )
    engine = HandDriven().go_to(next_tick(running))
    engine.claim()
    engine.start()
    engine.go_to(next_tick(held) - (next_tick(held) - engine.now) / 10).claim()
    assert engine.audit.requeue_unknown() == 0
    assert {statuses(held)[0], statuses(running)[0]} == {"claimed", "running"}


def test_the_audit_leaves_other_instances_alone():
    job = make_job(schedule=Every(seconds=10))
    other = HandDriven(name="other").go_to(next_tick(job))
    other.claim()
    assert HandDriven().audit.requeue_unknown() == 0
    assert statuses(job) == ["claimed"]


def test_an_audit_that_is_executed_late_leaves_alone_what_has_been_claimed_again():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.memory.forget(engine.held)
    late = patch.object(audit, "statement", side_effect=lambda _using, write: writes.append(write) or 0)
    writes: list = []
    with late:
        engine.audit.requeue_unknown()
    engine.audit.requeue_unknown()
    engine.claim()
    assert len(engine.start()) == 1
    writes[0]()
    assert statuses(job) == ["running"]


def test_an_instance_that_renewed_its_lease_meanwhile_is_not_reaped():
    job = make_job(schedule=Every(seconds=10))
    alive = HandDriven(name="alive").go_to(next_tick(job))
    alive.claim()
    alive.start()
    HandDriven().recovery._reap_one(alive.lease.instance_id)
    assert statuses(job) == ["running"]
    assert alive.row.reaped_at is None
