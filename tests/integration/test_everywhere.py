"""Jobs that every instance runs for itself: ``node_local``, and ``unlocked`` where no leader is elected."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import override_settings

from django_gocron import Every, OneTime, events, operations
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.engine.local_courses import Courses
from django_gocron.engine.recovery import stop_instance
from django_gocron.models import Job, JobState, Run
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
from tests.integration.planned import record

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)
TEN_SECONDS = Every(seconds=10)

with_elector = override_settings(
    GOCRON={"ELECTOR": {"BACKEND": "django_gocron.electors.database.DatabaseElector"}}
)


def local_job(**values: Any) -> Job:
    """A job of every ten seconds that every instance runs."""
    return make_job(**{"schedule": TEN_SECONDS, "coordination": "node_local", **values})


def started(name: str = "web-1", **options: Any) -> HandDriven:
    """An instance that has made its first pass."""
    engine = HandDriven(name=name, **options)
    engine.claim()
    return engine


def two_instances() -> tuple[HandDriven, HandDriven]:
    return started("web-1"), started("web-2")


def tick_of(job: Job) -> datetime:
    """The next tick, which all instances have in common."""
    return operations.next_runs(Job.objects.get(pk=job.pk))[0]


def meet(engine: HandDriven, tick: datetime) -> None:
    """Claim and start what is due at the tick."""
    engine.go_to(tick)
    engine.claim()
    engine.start()


def end(engine: HandDriven) -> None:
    engine.execute()
    engine.finish()


def scope(engine: HandDriven) -> str:
    return str(engine.lease.instance_id)


def of(engine: HandDriven, job: Job) -> list[str]:
    """What became of the job's ticks on this instance, the earliest first."""
    return [
        f"{run.status}({run.reason})" if run.reason else run.status
        for run in runs_of(job, scope=scope(engine))
    ]


def fail() -> None:
    raise ValueError("no")


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


# --- edits -----------------------------------------------------------------------------------------


def claimed_by_two(job: Job) -> tuple[HandDriven, HandDriven]:
    one, other = two_instances()
    tick = tick_of(job)
    for engine in (one, other):
        engine.go_to(tick).claim()
    assert statuses(job) == ["claimed", "claimed"]
    return one, other


def test_a_pause_withdraws_the_claimed_ticks_of_all_instances():
    job = local_job()
    instances = claimed_by_two(job)
    operations.pause(job)
    assert statuses(job) == []
    for engine in instances:
        assert engine.start() == []
        assert engine.held == []
        engine.clock.advance(10)
        assert engine.step() == 0
    assert statuses(job) == []


def test_a_resumed_job_goes_on_from_then_and_does_not_run_at_once():
    job = local_job(first_run="immediately")
    engine = started()
    engine.start()
    end(engine)
    operations.pause(job)
    engine.claim()
    operations.resume(job)
    assert engine.step() == 0
    assert engine.go_to(tick_of(job)).step() == 1
    assert statuses(job) == ["succeeded", "succeeded"]


def test_a_pause_with_an_end_ends_by_itself():
    job = local_job()
    engine = started()
    until = database_now(DATABASE) + 25 * SECOND
    operations.pause(job, until=until)
    for seconds in (0, 10, 20):
        engine.go_to(until - (25 - seconds) * SECOND)
        assert engine.step() == 0
    tick = tick_of(job)
    assert tick >= until
    assert engine.go_to(tick).step() == 1
    assert [run.scheduled_for for run in runs_of(job)] == [tick]


def test_an_immediate_first_run_waits_for_the_end_of_a_pause():
    job = local_job(first_run="immediately")
    until = database_now(DATABASE) + 5 * SECOND
    operations.pause(job, until=until)
    engine = HandDriven()
    assert engine.step() == 0
    assert engine.go_to(until).step() == 1
    assert [run.scheduled_for for run in runs_of(job)] == [until]


@pytest.mark.parametrize("values", [{"enabled": False}, {"schedule": None}])
def test_a_job_that_is_disabled_or_without_schedule_has_no_ticks(values: dict[str, Any]):
    job = local_job()
    instances = claimed_by_two(job)
    Job.objects.filter(pk=job.pk).update(**values)
    for engine in instances:
        engine.clock.advance(10)
        assert engine.step() == 0
    assert statuses(job) == []


def test_a_deleted_job_has_no_ticks():
    job = local_job()
    instances = claimed_by_two(job)
    job.delete()
    for engine in instances:
        engine.clock.advance(10)
        assert engine.step() == 0
    assert not Run.objects.filter(status__in=("claimed", "running", "succeeded")).exists()


def test_an_edit_of_the_arguments_alone_loses_no_tick_that_was_claimed():
    job = local_job(kwargs={"n": 1})
    one, other = claimed_by_two(job)
    tick = tick_of(job)
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    assert statuses(job) == []
    for engine in (one, other):
        engine.go_to(tick + SECOND / 2).claim()
        engine.start()  # what was withdrawn is dropped
        assert engine.step() == 1
    assert [(run.scheduled_for, run.kwargs) for run in runs_of(job)] == [(tick, {"n": 2})] * 2


def test_an_edit_of_the_arguments_runs_nothing_a_second_time():
    job = local_job()
    engine = started()
    tick = tick_of(job)
    assert engine.go_to(tick).step() == 1
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    assert engine.step() == 0
    assert engine.go_to(tick + 10 * SECOND).step() == 1


def test_a_new_schedule_counts_from_now():
    job = local_job()
    one, other = claimed_by_two(job)
    Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=4))
    tick = tick_of(job)
    for engine in (one, other):
        engine.go_to(tick - 2 * SECOND).claim()
        assert engine.go_to(tick).step() == 1
    assert {run.scheduled_for for run in runs_of(job)} == {tick}


@pytest.mark.only_on("postgresql", "mariadb")
def test_while_an_edit_is_open_nothing_is_claimed_and_then_the_edit_counts():
    job = local_job()
    engine = started()
    engine.go_to(tick_of(job))
    with open_transaction(lambda: Job.objects.filter(pk=job.pk).update(enabled=False)):
        assert engine.claim() == []
    assert engine.step() == 0
    assert statuses(job) == []


def test_a_plan_that_is_old_by_the_time_the_state_is_locked_claims_nothing():
    job = local_job()
    engine = started()
    engine.go_to(tick_of(job))
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    engine.parts.loop._local_claims._courses.follow = lambda *_args: None  # it has looked just before
    assert engine.claim() == []
    assert runs_of(job) == []


def test_what_the_schedule_of_one_job_raises_breaks_that_job_alone():
    broken, sound = local_job(name="broken"), local_job(name="sound")
    engine = HandDriven()
    with_faulty_schedule(broken)
    with Heard(events.JobBroken) as heard:
        engine.claim()
    assert [event.job_id for event in heard] == [broken.pk]
    assert state_of(broken).broken_code == "unknown_kind"
    assert engine.go_to(tick_of(sound)).step() == 1


def with_faulty_schedule(job: Job) -> None:
    """Past Django's models, and not noticed yet."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_job SET schedule = %s WHERE id = %s", ['{"kind": "nonsense"}', job.pk])


# --- coordination changed ---------------------------------------------------------------------------


def test_a_job_that_becomes_local_is_run_by_every_instance_from_then_on():
    job = make_job(schedule=TEN_SECONDS, first_run="immediately")
    one, other = two_instances()
    one.step()
    other.step()
    assert statuses(job) == ["succeeded"]
    tick = next_tick(job)
    one.go_to(tick).claim()
    Job.objects.filter(pk=job.pk).update(coordination="node_local")
    assert state_of(job).next_run_at is None
    for engine in (one, other):
        engine.go_to(tick - SECOND)
        engine.claim()
        engine.go_to(tick).step()
    assert statuses(job) == ["succeeded"] * 3
    assert [run.scope for run in runs_of(job, scheduled_for=tick)] != ["", ""]


def test_a_job_that_is_local_no_more_is_run_by_one():
    job = local_job()
    one, other = claimed_by_two(job)
    Job.objects.filter(pk=job.pk).update(coordination="locked")
    tick = next_tick(job)
    for engine in (one, other):
        engine.go_to(tick).step()
    assert statuses(job) == ["succeeded"]
    assert runs_of(job)[0].scope == ""


@pytest.mark.parametrize(("before", "after"), [("locked", "node_local"), ("node_local", "locked")])
def test_a_tick_that_waits_while_the_coordination_changes_runs_late(before: str, after: str):
    job = local_job(coordination=before)
    engine = started()
    own = {"scope": scope(engine), "lock_key": f"{job.pk}@{scope(engine)}"} if before == "node_local" else {}
    tick = database_now(DATABASE) - 2 * SECOND
    waiting = record(job, tick, status="queued", reason="given_back", **own)
    JobState.objects.filter(pk=job.pk).update(planned_through=tick)
    Job.objects.filter(pk=job.pk).update(coordination=after)
    assert engine.step() == 1
    waiting.refresh_from_db()
    assert waiting.status == "succeeded"


def test_an_elector_that_is_set_between_two_starts_makes_an_unlocked_job_shared_and_back():
    job = local_job(coordination="unlocked")
    with with_elector:
        engine = HandDriven()
        engine.parts.sweep.start()
        assert engine.go_to(next_tick(job)).step() == 1
        assert runs_of(job)[-1].scope == ""
    again = HandDriven()
    again.parts.sweep.start()
    assert state_of(job).next_tick_at is None
    again.go_to(engine.now).claim()
    assert again.go_to(tick_of(job) + 10 * SECOND).step() == 1
    assert runs_of(job)[-1].scope == scope(again)


def test_a_state_that_was_planned_as_shared_is_not_claimed_as_such():
    job = local_job()
    tick = tick_of(job)
    JobState.objects.filter(pk=job.pk).update(next_tick_at=tick, next_run_at=tick)
    engine = started()
    engine.go_to(tick).claim()
    assert [run.scope for run in runs_of(job)] == [scope(engine)]


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


# --- people ----------------------------------------------------------------------------------------------


def test_a_run_by_hand_runs_once_under_the_lock_of_the_instance_that_has_it():
    job = local_job()
    one, other = two_instances()
    run = operations.run_now(job)
    one.clock.set(database_now(DATABASE))
    other.clock.set(one.now)
    one.claim()
    one.start()
    assert other.step() == 0
    run.refresh_from_db()
    assert (run.status, run.held_lock) == ("running", f"{job.pk}@{scope(one)}")
    end(one)
    assert statuses(job) == ["succeeded"]


def test_a_run_by_hand_waits_for_no_run_of_another_instance():
    job = local_job()
    one, other = two_instances()
    meet(one, tick_of(job))
    run = operations.run_now(job)
    assert len(one.claim()) == 0
    other.clock.set(one.now - 5 * SECOND)
    assert other.step() == 1
    run.refresh_from_db()
    assert (run.status, run.lock_key) == ("succeeded", f"{job.pk}@{scope(other)}")


def test_a_run_by_hand_that_comes_back_is_for_any_instance():
    job = local_job()
    one, other = two_instances()
    operations.run_now(job)
    for engine in (one, other):
        engine.clock.set(database_now(DATABASE))
    [entry] = one.claim()
    one.clock.advance(2)
    one.parts.loop._give_back_late(one.now)
    [entry] = other.claim()
    assert entry.lock_key == f"{job.pk}@{scope(other)}"


def test_the_next_runs_are_those_that_all_instances_have_in_common():
    job = local_job()
    anchor = state_of(job).anchor_at
    assert anchor is not None
    expected = [anchor + number * 10 * SECOND for number in range(1, 6)]
    assert operations.next_runs(job, now=anchor) == expected
    operations.pause(job)
    assert operations.next_runs(job) == []


def test_a_tick_that_is_skipped_is_skipped_by_all_instances():
    job = local_job()
    one, other = claimed_by_two(job)
    skipped = operations.skip_next(job, by="ann")
    for engine in (one, other):
        assert engine.go_to(skipped).step() == 0
        assert engine.go_to(skipped + 10 * SECOND).step() == 1
    assert statuses(job) == ["skipped(by_user)", "succeeded", "succeeded"]
    assert operations.next_runs(job)[0] > skipped


def test_a_tick_that_was_skipped_once_keeps_no_later_start_from_running_at_once():
    job = local_job(first_run="immediately")
    skipped = operations.skip_next(job)
    engine = HandDriven().go_to(skipped + SECOND)
    assert engine.step() == 1


# --- edits, outages and ends that meet a pass --------------------------------------------------------


def test_an_outage_in_the_first_pass_breaks_no_job(monkeypatch: pytest.MonkeyPatch):
    job = local_job()
    engine = HandDriven()
    follow = Courses._follow_completions
    monkeypatch.setattr(Courses, "_follow_completions", go_away)
    with pytest.raises(OperationalError):
        engine.claim()
    monkeypatch.setattr(Courses, "_follow_completions", follow)
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    engine.clock.advance(0.5)
    engine.claim()
    assert state_of(job).broken_code == ""


def go_away(self: Courses, now: datetime) -> None:
    raise OperationalError("server closed the connection")


@pytest.mark.only_on("postgresql", "mariadb")
def test_an_edit_that_stays_open_beyond_a_claimed_tick_loses_it_not():
    job = local_job()
    engine = started()
    tick = tick_of(job)
    engine.go_to(tick - SECOND / 2).claim()
    assert of(engine, job) == ["claimed"]
    with open_transaction(lambda: Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})):
        for later in (0.5, 1.6, 2.6):
            engine.go_to(tick + later * SECOND).claim()
    engine.go_to(tick + 3 * SECOND).claim()
    engine.go_to(tick + 3.5 * SECOND).claim()
    assert [run.scheduled_for for run in runs_of(job)] == [tick]


@pytest.mark.only_on("postgresql", "mariadb")
def test_an_open_edit_of_a_job_at_its_end_holds_up_no_other():
    now = database_now(DATABASE)
    once = local_job(name="once", schedule=OneTime(now + 5 * SECOND))
    shared = make_job(name="shared", schedule=TEN_SECONDS)
    engine = started()
    engine.go_to(now + 5 * SECOND).step()
    engine.go_to(next_tick(shared))
    with open_transaction(lambda: list(JobState.objects.select_for_update().filter(pk=once.pk))):
        assert [entry.job_id for entry in engine.claim()] == [shared.pk]


def test_a_job_made_between_two_passes_runs_at_a_tick_between_them():
    engine = started()
    job = local_job(schedule=OneTime(engine.now + SECOND / 2))
    engine.clock.advance(0.9)
    engine.claim()
    assert len(runs_of(job)) == 1


def test_a_job_that_is_at_its_end_by_completion_alone_is_not_planned_again_and_again():
    start = database_now(DATABASE)
    hour = timedelta(hours=1)
    ends = {"ends_at": start + 2 * hour + 300 * SECOND, "interval_from_completion": True}
    job = local_job(schedule=Every(hour), **ends)
    engine = started()
    tick = tick_of(job)
    meet(engine, tick)
    engine.execute()
    engine.finish()
    Run.objects.update(finished_at=tick + hour / 3)
    version = state_of(job).version
    for later in range(1, 7):
        engine.go_to(tick + hour / 3 + later * SECOND).claim()
    assert state_of(job).version <= version + 1
