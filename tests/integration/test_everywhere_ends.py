"""Ticks that every instance has for itself, when an instance ends, or the job does."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

from django_gocron import Every, OneTime, events
from django_gocron.engine.recovery import stop_instance
from django_gocron.models import Job, Run
from django_gocron.models.now import database_now
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
from tests.integration.everywhere_support import (
    SECOND,
    TEN_SECONDS,
    end,
    fail,
    local_job,
    meet,
    of,
    scope,
    started,
    tick_of,
    two_instances,
)

pytestmark = REAL_TRANSACTIONS


# --- the end of an instance ----------------------------------------------------------------------------


def left_behind(**values: Any) -> tuple[Job, HandDriven, HandDriven]:
    """A job, an instance that has died with a run of it running, one queued and one claimed, and another instance."""
    job = local_job(overlap="queue", **values)
    dead, reaper = two_instances()
    tick = tick_of(job)
    meet(dead, tick)
    meet(dead, tick + 10 * SECOND)
    dead.go_to(tick + 20 * SECOND).claim()
    dead.expire()
    return job, dead, reaper


def test_the_reaper_ends_what_only_the_dead_instance_could_have_run():
    job, dead, reaper = left_behind(on_lost="retry")
    assert of(dead, job) == ["running", "queued(overlap)", "claimed"]
    with Heard(events.RunCancelled, events.RunLost, events.InstanceReaped) as heard:
        assert reaper.recovery.reap() == 1
    assert of(dead, job) == ["lost(instance_gone)", "cancelled(instance_gone)", "cancelled(instance_gone)"]
    assert [run.held_lock for run in runs_of(job)] == [None] * 3
    assert all(run.finished_at for run in runs_of(job))
    assert sorted(event.__class__.__name__ for event in heard) == [
        "InstanceReaped",
        "RunCancelled",
        "RunCancelled",
        "RunLost",
    ]
    assert [event.requeued for event in heard if isinstance(event, events.InstanceReaped)] == [0]
    assert reaper.recovery.reap() == 0


def test_what_any_instance_may_have_goes_back_to_the_queue_beside_that():
    local, shared = local_job(name="local"), make_job("shared", schedule=TEN_SECONDS)
    dead, reaper = two_instances()
    dead.go_to(max(tick_of(local), next_tick(shared))).claim()
    dead.expire()
    reaper.recovery.reap()
    assert statuses(local) == ["cancelled(instance_gone)"]
    assert statuses(shared) == ["queued(recovered)"]


def test_a_retry_that_waits_for_a_dead_instance_is_cancelled():
    job = local_job(task=fail, retries=1)
    dead, reaper = two_instances()
    dead.go_to(tick_of(job)).step()
    assert of(dead, job) == ["failed(exception)", "queued(retry)"]
    dead.expire()
    reaper.recovery.reap()
    assert of(dead, job) == ["failed(exception)", "cancelled(instance_gone)"]


def test_what_is_queued_for_an_instance_after_it_was_reaped_is_found():
    job = local_job(task=fail, retries=1)
    dead, reaper = two_instances()
    dead.go_to(tick_of(job)).step()
    retry = runs_of(job, status="queued")[0]
    dead.expire()
    reaper.recovery.reap()
    Run.objects.filter(pk=retry.pk).update(status="queued", reason="retry", instance=None)
    assert reaper.recovery.reap() == 1
    assert of(dead, job)[-1] == "cancelled(instance_gone)"


def test_losses_count_against_the_job():
    job, _dead, reaper = left_behind(max_crashes=1)
    reaper.recovery.reap()
    assert state_of(job).crashes_in_row == 1
    assert state_of(job).quarantined_at is not None
    assert reaper.go_to(tick_of_grid(job)).step() == 0


def tick_of_grid(job: Job) -> datetime:
    """A tick of a job that has no next run."""
    anchor = state_of(job).anchor_at
    assert anchor is not None
    return anchor + 100 * SECOND


def test_a_clean_stop_ends_what_has_not_begun():
    job, engine, _other = left_behind()
    engine.parts.lease.renew()
    facts = stop_instance(DATABASE, engine.lease.instance_id, engine.now)
    assert of(engine, job) == ["lost(shutdown)", "cancelled(shutdown)", "cancelled(shutdown)"]
    assert sorted(type(fact).__name__ for fact in facts) == ["RunCancelled", "RunCancelled", "RunLost"]


def test_a_new_identity_goes_on_from_now_under_its_own_scope():
    job = local_job(first_run="immediately")
    engine, reaper = started(), HandDriven(name="web-2")
    engine.start()
    end(engine)
    former = scope(engine)
    tick = tick_of(job)
    engine.go_to(tick - SECOND / 2).claim()
    engine.expire()
    reaper.recovery.reap()
    engine.parts.heartbeat.beat()
    engine.claim()
    assert scope(engine) != former
    assert engine.go_to(tick).step() == 1
    assert [run.scheduled_for for run in runs_of(job, scope=scope(engine))] == [tick]
    assert statuses(job)[-2:] == ["cancelled(instance_gone)", "succeeded"]


# --- first runs, limits, ends ------------------------------------------------------------------------


def test_an_immediate_first_run_is_had_at_each_start_of_an_instance():
    job = local_job(first_run="immediately")
    for number in range(1, 4):
        engine = HandDriven(name=f"web-{number}")
        assert engine.step() == 1
        assert engine.step() == 0
    assert statuses(job) == ["succeeded"] * 3


def test_a_new_job_runs_immediately_on_instances_that_have_long_started():
    one, other = two_instances()
    local_job(first_run="immediately")
    assert one.step() == other.step() == 1


def test_a_limit_counts_the_runs_of_all_instances():
    job = local_job(max_runs=3)
    one, other = two_instances()
    tick = tick_of(job)
    for number in range(3):
        for engine in (one, other):
            engine.go_to(tick + number * 10 * SECOND).step()
    assert statuses(job) == ["succeeded"] * 3
    assert state_of(job).run_count == 3
    one.claim()
    assert state_of(job).finished_at is not None


def test_what_others_have_claimed_counts_against_the_limit_and_may_be_freed():
    job = local_job(max_runs=1)
    one, other = two_instances()
    tick = tick_of(job)
    one.go_to(tick).claim()
    assert other.go_to(tick).claim() == []
    looks_again_at = other.parts.loop._local_claims.next_due_at
    assert looks_again_at is not None
    assert looks_again_at >= tick + SECOND
    one.expire()
    other.recovery.reap()
    other.clock.advance(1)
    assert other.step() == 1
    assert sorted(statuses(job)) == ["cancelled(instance_gone)", "succeeded"]


def test_raising_the_limit_reopens_the_job():
    job = local_job(max_runs=1)
    engine = started()
    engine.go_to(tick_of(job)).step()
    engine.claim()
    assert state_of(job).finished_at is not None
    Job.objects.filter(pk=job.pk).update(max_runs=2)
    assert state_of(job).finished_at is None
    engine.claim()
    engine.go_to(engine.now + 10 * SECOND).step()
    assert statuses(job) == ["succeeded", "succeeded"]


def test_a_job_whose_schedule_has_ended_is_finished_once_every_instance_could_run_it():
    job = local_job(schedule=OneTime(database_now(DATABASE) + 2 * SECOND))
    one, other = two_instances()
    tick = tick_of(job)
    for engine in (one, other):
        assert engine.go_to(tick).step() == 1
        assert state_of(job).finished_at is None
    for engine in (one, other):
        engine.clock.sleep(max(0.0, (tick + 3 * SECOND - engine.now).total_seconds()))
    while database_now(DATABASE) <= tick:
        threading.Event().wait(0.05)
    with Heard(events.JobFinished) as heard:
        one.claim()
        other.claim()
    assert len(heard) == 1
    assert state_of(job).finished_at is not None
    assert statuses(job) == ["succeeded", "succeeded"]


def test_an_interval_counts_from_the_completion_of_the_instances_own_run():
    job = local_job(interval_from_completion=True)
    one, other = two_instances()
    tick = tick_of(job)
    meet(one, tick)
    meet(other, tick)
    end(other)
    one.clock.advance(4)
    end(one)
    for engine, seconds in ((one, 14), (other, 10)):
        engine.claim()
        assert engine.go_to(tick + seconds * SECOND).step() == 1
    assert [run.scheduled_for for run in runs_of(job, scope=scope(one))] == [tick, tick + 14 * SECOND]
    assert [run.scheduled_for for run in runs_of(job, scope=scope(other))] == [tick, tick + 10 * SECOND]
    assert (state_of(job).next_tick_at, state_of(job).next_run_at) == (None, None)


def test_while_the_run_lasts_no_tick_is_planned_of_a_job_that_counts_from_completion():
    job = local_job(interval_from_completion=True)
    engine = started()
    meet(engine, tick_of(job))
    for _ in range(3):
        engine.clock.advance(10)
        engine.claim()
    Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=5))
    engine.clock.advance(10)
    engine.claim()
    assert of(engine, job) == ["running"]
    assert engine.parts.wakeup.awaits_ends
