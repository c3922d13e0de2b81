"""Jobs that every instance runs for itself: ``node_local``, and ``unlocked`` where no leader is elected."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_gocron import Every
from django_gocron.engine.everywhere import runs_everywhere
from tests.handdriven import (
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    runs_of,
    state_of,
    statuses,
)
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
    with_elector,
)

pytestmark = REAL_TRANSACTIONS


# --- which jobs, and whose runs ----------------------------------------------------------------------


@pytest.mark.parametrize("coordination", ["node_local", "unlocked"])
def test_every_instance_runs_each_tick(coordination: str):
    job = local_job(coordination=coordination)
    one, other = two_instances()
    for number in range(1, 4):
        tick = tick_of(job) + (number - 1) * 10 * SECOND
        assert one.go_to(tick).step() == 1
        assert other.go_to(tick).step() == 1
    assert of(one, job) == of(other, job) == ["succeeded"] * 3
    assert len(runs_of(job)) == 6


def test_all_instances_have_the_same_ticks():
    job = local_job()
    one = started("web-1")
    meet(one, tick_of(job))
    end(one)
    late = HandDriven(name="web-2").go_to(one.now + 3 * SECOND)
    late.claim()
    for engine in (one, late):
        meet(engine, tick_of(job) + 10 * SECOND)
    ticks = {
        engine: [run.scheduled_for for run in runs_of(job, scope=scope(engine))] for engine in (one, late)
    }
    assert ticks == {one: [tick_of(job), tick_of(job) + 10 * SECOND], late: [tick_of(job) + 10 * SECOND]}


@with_elector
def test_an_unlocked_job_is_claimed_once_where_a_leader_is_elected():
    job = local_job(coordination="unlocked")
    one, other = two_instances()
    tick = next_tick(job)
    assert one.go_to(tick).step() + other.go_to(tick).step() == 1
    [run] = runs_of(job)
    assert (run.scope, run.lock_key) == ("", str(job.pk))


@with_elector
def test_a_node_local_job_runs_everywhere_under_an_elector_too():
    job = local_job()
    one, other = two_instances()
    tick = tick_of(job)
    assert one.go_to(tick).step() == other.go_to(tick).step() == 1


def test_a_locked_job_runs_once():
    job = make_job(schedule=TEN_SECONDS)
    one, other = two_instances()
    tick = next_tick(job)
    assert one.go_to(tick).step() + other.go_to(tick).step() == 1
    assert not runs_everywhere(job)


def test_a_run_says_whose_it_is_and_excludes_only_runs_of_its_instance():
    job = local_job()
    one, other = two_instances()
    tick = tick_of(job)
    meet(one, tick)
    meet(other, tick)
    runs = runs_of(job)
    assert {run.scope for run in runs} == {scope(one), scope(other)}
    assert {run.held_lock for run in runs} == {f"{job.pk}@{scope(one)}", f"{job.pk}@{scope(other)}"}


def test_a_job_that_may_overlap_has_no_lock_to_take():
    job = local_job(overlap="allow")
    meet(started(), tick_of(job))
    [run] = runs_of(job)
    assert (run.lock_key, run.held_lock) == ("", None)


def test_the_shared_state_knows_of_no_next_tick_and_the_sweep_leaves_it_so():
    job = local_job()
    state = state_of(job)
    assert (state.next_tick_at, state.next_run_at, state.finished_at) == (None, None, None)
    assert state.anchor_at is not None
    engine = started()
    engine.parts.sweep.start()
    engine.parts.sweep.step()
    assert state_of(job).version == state.version


def test_a_foreign_label_is_left_alone():
    job = local_job(label="gpu")
    plain, labelled = started(), started("gpu-1", labels=["gpu"])
    tick = tick_of(job)
    assert plain.go_to(tick).step() == 0
    assert labelled.go_to(tick).step() == 1


def test_nothing_is_claimed_once_the_lease_is_over_in_the_database():
    job = local_job()
    engine = started()
    engine.expire()
    engine.go_to(tick_of(job))
    assert engine.claim() == []
    assert runs_of(job) == []


def test_nothing_is_claimed_past_the_trust_in_the_lease():
    job = local_job()
    engine = started()
    engine.lease.distrust()
    engine.go_to(tick_of(job))
    assert engine.claim() == []
    assert runs_of(job) == []


def test_without_room_nothing_is_claimed_and_the_tick_is_not_forgotten():
    first, second = local_job(name="first"), local_job(name="second")
    engine = started(workers=1, ahead=SECOND / 1000)
    engine.parts.capacity._average = 10.0
    engine.go_to(tick_of(second))
    engine.claim()
    assert len(runs_of(first)) + len(runs_of(second)) == 1
    engine.start()
    end(engine)
    engine.claim()
    assert len(runs_of(first)) + len(runs_of(second)) == 2


def test_the_loop_wakes_for_the_next_of_these_ticks():
    job = local_job(schedule=Every(seconds=1.5))
    engine = started()
    engine.go_to(tick_of(job) - 1.3 * SECOND)
    assert engine.claim() == []
    assert engine.parts.loop._seconds_to_next() == pytest.approx(0.3, abs=0.05)


def test_a_project_without_such_jobs_pays_one_query_a_pass(django_assert_num_queries):
    make_job()
    engine = started()
    with django_assert_num_queries(1):
        engine.parts.loop._local_claims.claim(engine.now, room=10)


# --- overlap, retries, misfire: within the instance ----------------------------------------------------


def test_the_tick_is_skipped_where_the_instances_own_run_is_live_and_there_alone():
    job = local_job()
    one, other = two_instances()
    tick = tick_of(job)
    meet(one, tick)
    for engine in (one, other):
        meet(engine, tick + 10 * SECOND)
    assert of(one, job) == ["running", "skipped(overlap)"]
    assert of(other, job)[-1] == "running"


def test_each_instance_has_a_queue_of_its_own():
    job = local_job(overlap="queue", max_queued=1)
    one, other = two_instances()
    tick = tick_of(job)
    for number in range(3):
        meet(one, tick + number * 10 * SECOND)
        meet(other, tick + number * 10 * SECOND)
    expected = ["running", "queued(overlap)", "skipped(queue_full)"]
    assert of(one, job) == of(other, job) == expected


def test_the_latest_pushes_out_only_what_waits_on_its_own_instance():
    job = local_job(overlap="queue_latest", max_queued=1)
    one, other = two_instances()
    tick = tick_of(job)
    for number in range(2):
        meet(one, tick + number * 10 * SECOND)
        meet(other, tick + number * 10 * SECOND)
    meet(other, tick + 20 * SECOND)
    assert of(one, job) == ["running", "queued(overlap)"]
    assert of(other, job) == ["running", "skipped(superseded)", "queued(overlap)"]


def test_what_waits_for_one_instance_is_taken_by_no_other():
    job = local_job(overlap="queue")
    one, other = two_instances()
    tick = tick_of(job)
    meet(one, tick)
    meet(one, tick + 10 * SECOND)
    end(one)
    other.parts.loop._local_claims.claim = lambda *_args, **_options: []
    assert other.go_to(one.now).step() == 0
    assert one.step() == 1
    assert of(one, job) == ["succeeded", "succeeded"]


def test_runs_that_may_overlap_do_so():
    job = local_job(overlap="allow")
    engine = started()
    tick = tick_of(job)
    meet(engine, tick)
    meet(engine, tick + 10 * SECOND)
    assert of(engine, job) == ["running", "running"]


def test_a_retry_stays_on_its_instance():
    job = local_job(task=fail, retries=1, retry_delay=SECOND, retry_jitter=0.0)
    one, other = two_instances()
    assert one.go_to(tick_of(job)).step() == 1
    other.parts.loop._local_claims.claim = lambda *_args, **_options: []
    for engine in (other, one):
        engine.go_to(one.now + 2 * SECOND)
    assert other.step() == 0
    assert one.step() == 1
    assert [(run.attempt, run.status, run.scope) for run in runs_of(job)] == [
        (1, "failed", scope(one)),
        (2, "failed", scope(one)),
    ]


def test_overdue_ticks_are_coalesced_within_the_scope():
    job = local_job()
    one, other = two_instances()
    tick = tick_of(job)
    for number in range(4):
        assert other.go_to(tick + number * 10 * SECOND).step() == 1
    one.go_to(tick + 35 * SECOND)
    assert one.step() == 1
    assert of(one, job) == ["coalesced", "succeeded"]
    assert [run.count for run in runs_of(job, scope=scope(one))] == [3, 1]
    assert of(other, job) == ["succeeded"] * 4


def test_all_overdue_ticks_run_where_the_job_says_so():
    job = local_job(misfire="run_all", overlap="allow")
    engine = started()
    engine.go_to(tick_of(job) + 35 * SECOND)
    assert engine.step() == 4


def test_what_an_instance_could_not_start_in_time_waits_for_it_and_runs_late():
    job = local_job()
    one, other = two_instances()
    tick = tick_of(job)
    one.go_to(tick)
    one.claim()
    one.clock.advance(2)
    one.parts.loop._give_back_late(one.now)
    assert of(one, job) == ["queued(given_back)"]
    other.parts.loop._local_claims.claim = lambda *_args, **_options: []
    assert other.go_to(one.now).step() == 0
    assert one.step() == 1


def test_what_two_instances_could_not_start_in_time_runs_late_on_both():
    job = local_job()
    instances = two_instances()
    tick = tick_of(job)
    for engine in instances:
        engine.go_to(tick).claim()
        engine.clock.advance(2)
        engine.parts.loop._give_back_late(engine.now)
    for engine in instances:
        assert engine.step() == 1
    assert statuses(job) == ["succeeded", "succeeded"]


def test_of_several_that_it_could_not_start_in_time_the_latest_runs():
    job = local_job(overlap="allow")
    engine = started()
    tick = tick_of(job)
    for number in range(3):
        engine.go_to(tick + number * 10 * SECOND)
        engine.claim()
        engine.clock.advance(2)
        engine.parts.loop._give_back_late(engine.now)
    assert engine.step() == 1
    assert of(engine, job) == ["coalesced", "coalesced", "succeeded"]


def test_a_tick_later_than_the_grace_is_missed_on_the_instance_that_is_late():
    job = local_job(misfire="skip", misfire_grace=timedelta(seconds=5))
    one, other = two_instances()
    tick = tick_of(job)
    assert other.go_to(tick).step() == 1
    one.go_to(tick)
    one.claim()
    one.clock.advance(7)
    one.parts.loop._give_back_late(one.now)
    one.step()
    assert of(one, job) == ["missed(grace)"]
    assert of(other, job) == ["succeeded"]
