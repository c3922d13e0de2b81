"""Lost runs: what their job asks for, and when it is taken out of the schedule."""

from __future__ import annotations

import pytest

from django_gocron import Every, events
from django_gocron.engine.recovery import stop_instance
from django_gocron.models import Job, JobState, Run
from django_gocron.models.now import database_now
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, make_job, next_tick, state_of, statuses
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

OPTIONS = {"schedule": Every(seconds=10)}


def lose_a_run(job: Job) -> None:
    """One instance runs what the job has to run next, and dies of it."""
    now = database_now(DATABASE)
    gone = HandDriven(name="gone").go_to(max(now, state_of(job).next_run_at or now))
    gone.claim()
    assert gone.start()
    gone.expire()
    HandDriven().go_to(gone.now).recovery.reap()


def test_a_lost_run_is_left_lost():
    job = make_job(**OPTIONS)
    lose_a_run(job)
    assert statuses(job) == ["lost(instance_gone)"]


def test_a_lost_run_is_tried_again_at_once_where_the_job_asks_for_it_and_without_retries():
    job = make_job(**OPTIONS, on_lost="retry")
    lose_a_run(job)
    assert statuses(job) == ["lost(instance_gone)", "queued(retry)"]
    first, second = Run.objects.order_by("pk")
    HandDriven().go_to(second.available_at).step()
    second.refresh_from_db()
    assert (second.attempt, second.status, second.scheduled_for) == (2, "succeeded", first.scheduled_for)


def test_a_job_is_quarantined_after_so_many_losses_in_a_row():
    job = make_job(**OPTIONS, max_crashes=2)
    lose_a_run(job)
    assert state_of(job).quarantined_at is None
    with Heard(events.JobQuarantined) as heard:
        lose_a_run(job)
    state = state_of(job)
    assert state.quarantined_at is not None
    assert (state.next_tick_at, state.next_run_at) == (None, None)
    assert [(event.job_id, event.crashes) for event in heard] == [(job.pk, 2)]


def test_a_poisonous_run_is_tried_again_no_more_often_than_crashes_are_allowed():
    job = make_job(**OPTIONS, on_lost="retry", max_crashes=3)
    Job.objects.filter(pk=job.pk).update(schedule=None)
    job.run_now()
    for _ in range(3):
        lose_a_run(job)
    lost = Run.objects.filter(job=job, status="lost")
    assert sorted(lost.values_list("attempt", flat=True)) == [1, 2, 3]
    assert state_of(job).quarantined_at is not None


def test_what_waits_of_a_quarantined_job_ends_but_not_what_was_started_by_hand():
    job = make_job(**OPTIONS, max_crashes=1)
    tick = next_tick(job).replace(year=2100)
    Run.objects.create(
        job=job,
        task=job.task,
        scheduled_for=tick,
        available_at=tick,
        attempt=2,
        status="queued",
        reason="retry",
    )
    by_hand = job.run_now()
    Run.objects.filter(pk=by_hand.pk).update(available_at=by_hand.available_at.replace(year=2100))
    lose_a_run(job)
    assert sorted(statuses(job)) == ["lost(instance_gone)", "queued(manual)", "skipped(paused)"]


def test_a_success_between_two_losses_starts_the_count_anew():
    job = make_job(**OPTIONS, max_crashes=2)
    lose_a_run(job)
    HandDriven().go_to(next_tick(job)).step()
    lose_a_run(job)
    assert (state_of(job).crashes_in_row, state_of(job).quarantined_at) == (1, None)


def test_a_run_that_a_stop_cut_off_is_no_crash_and_tried_again_where_the_job_asks_for_it():
    job = make_job(**OPTIONS, on_lost="retry", max_crashes=1)
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    stop_instance(DATABASE, engine.lease.instance_id, engine.now)
    assert statuses(job) == ["lost(shutdown)", "queued(retry)"]
    assert (state_of(job).crashes_in_row, state_of(job).quarantined_at) == (0, None)


@pytest.mark.parametrize("way", ["release", "resume"])
def test_a_released_job_has_ticks_again_from_now_on(way: str):
    job = make_job(**OPTIONS, max_crashes=1)
    lose_a_run(job)
    getattr(job, way)()
    state = state_of(job)
    assert (state.quarantined_at, state.crashes_in_row) == (None, 0)
    assert state.next_tick_at > database_now(DATABASE)


def test_releasing_a_job_that_is_in_no_quarantine_changes_nothing():
    job = make_job(**OPTIONS)
    before = JobState.objects.values().get(pk=job.pk)
    assert job.release() is False
    assert JobState.objects.values().get(pk=job.pk) | {"version": before["version"]} == before


def test_an_edit_releases_nothing_and_a_run_by_hand_works():
    job = make_job(**OPTIONS, max_crashes=1)
    lose_a_run(job)
    Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=5))
    assert (state_of(job).next_tick_at, state_of(job).quarantined_at is None) == (None, False)
    run = job.run_now()
    HandDriven().step()
    assert Run.objects.get(pk=run.pk).status == "succeeded"


def test_runs_that_die_together_are_one_crash_of_their_job():
    job = make_job(schedule=None, overlap="allow", max_crashes=2)
    for _ in range(3):
        job.run_now(force=True)
    gone = HandDriven(name="gone")
    gone.claim()
    assert len(gone.start()) == 3
    gone.expire()
    HandDriven().recovery.reap()
    state = state_of(job)
    assert (state.crashes_in_row, len(state.outcomes), state.quarantined_at) == (1, 3, None)


def test_a_run_by_hand_that_kills_its_instances_is_not_tried_again_for_ever():
    job = make_job(schedule=None, on_lost="retry", max_crashes=2)
    job.run_now()
    for _ in range(2):
        lose_a_run(job)
    assert sorted(statuses(job)) == ["lost(instance_gone)"] * 2


def test_no_retry_is_told_of_that_a_quarantine_ends_at_once():
    job = make_job(**OPTIONS, on_lost="retry", max_crashes=1)
    with Heard(events.RetryQueued) as heard:
        lose_a_run(job)
    assert (statuses(job), len(heard)) == (["lost(instance_gone)"], 0)
