"""Refusing: decided at the instant, not before, and never where waiting a moment is right."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest

from django_gocron import Every, events
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

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)


def running(job: Job, **options: int) -> HandDriven:
    """An instance that runs the job's first tick, and holds the second, due a second later."""
    engine = HandDriven(**options).go_to(next_tick(job))
    engine.claim()
    assert len(engine.start()) == 1
    engine.claim()
    assert len(engine.held) == 1
    return engine


def test_a_tick_is_not_refused_before_its_instant_although_its_lock_is_held():
    job = make_job(schedule=Every(seconds=1))
    engine = running(job)
    engine.clock.advance(0.997)
    engine.start()
    assert statuses(job) == ["running", "claimed"]


def test_a_tick_is_skipped_at_its_instant_while_the_previous_run_is_live():
    job = make_job(schedule=Every(seconds=1))
    engine = running(job)
    engine.clock.advance(1)
    with Heard(events.RunSkipped) as heard:
        engine.start()
    assert statuses(job) == ["running", "skipped(overlap)"]
    assert [(event.job_id, event.reason) for event in heard] == [(job.pk, "overlap")]
    assert engine.held == []


meanwhile: list[Callable[[], object]] = []


def do_as_told() -> None:
    meanwhile.pop()()


def test_a_job_that_takes_nearly_its_whole_interval_skips_nothing():
    job = make_job(task=do_as_told, schedule=Every(seconds=1))
    first = next_tick(job)
    engine = HandDriven()

    def run_until_just_before(following: datetime) -> None:
        engine.go_to(following - 4 * MILLISECOND)
        engine.claim()
        engine.start()  # the next start, prepared ahead while this run is live
        engine.go_to(following - 2 * MILLISECOND)

    for tick in [first + number * SECOND for number in range(10)]:
        meanwhile.append(partial(run_until_just_before, tick + SECOND))
        engine.go_to(tick).step()
    assert [run.status for run in runs_of(job)][:10] == ["succeeded"] * 10
    assert engine.executor.began_at == [first + number * SECOND for number in range(10)]


def test_where_the_result_of_the_previous_run_is_about_to_be_written_the_tick_waits_for_it():
    job = make_job(schedule=Every(seconds=1))
    engine = running(job)
    engine.execute()
    engine.clock.advance(1)
    assert engine.start() == []
    assert statuses(job) == ["running", "claimed"]
    engine.finish()
    assert len(engine.start()) == 1


def test_a_tick_is_skipped_where_another_instance_runs_the_job():
    job = make_job(schedule=Every(seconds=1))
    running(job)
    tick = next_tick(job)
    other = HandDriven(name="other").go_to(tick)
    other.claim()
    other.start()
    [run] = runs_of(job, scheduled_for=tick)
    assert (run.status, run.reason, run.instance_id) == ("skipped", "overlap", other.lease.instance_id)


def test_a_skipped_tick_is_an_outcome_of_the_job():
    job = make_job(schedule=Every(seconds=1))
    engine = running(job)
    engine.clock.advance(1)
    engine.start()
    assert state_of(job).outcomes == [["skipped", None]]


def test_a_run_later_than_its_starting_deadline_is_missed():
    job = make_job(schedule=Every(seconds=10), starting_deadline=timedelta(seconds=2))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.clock.advance(2.001)
    with Heard(events.TicksMissed) as heard:
        assert engine.start() == []
    assert statuses(job) == ["missed(deadline)"]
    assert [(event.reason, event.count) for event in heard] == [("deadline", 1)]
    assert engine.memory.count() == 0


def test_a_run_just_within_its_starting_deadline_starts():
    job = make_job(schedule=Every(seconds=10), starting_deadline=timedelta(seconds=2))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.clock.advance(2)
    assert len(engine.start()) == 1


def test_a_late_run_whose_row_has_gone_meanwhile_is_dropped():
    job = make_job(schedule=Every(seconds=10), starting_deadline=timedelta(seconds=2))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    Run.objects.all().delete()
    engine.clock.advance(3)
    with Heard(events.TicksMissed) as heard:
        engine.start()
    assert (engine.memory.count(), len(heard)) == (0, 0)


def test_a_busy_run_whose_row_has_gone_meanwhile_is_dropped():
    job = make_job(schedule=Every(seconds=1))
    engine = running(job)
    Run.objects.filter(status="claimed").delete()
    engine.clock.advance(1)
    with Heard(events.RunSkipped) as heard:
        engine.start()
    assert (engine.held, len(heard)) == ([], 0)


def test_a_run_by_hand_that_finds_the_job_busy_waits_in_the_queue():
    job = make_job(schedule=Every(hours=1))
    by_hand = job.run_now()
    engine = HandDriven().go_to(database_now(DATABASE))
    engine.claim()
    holder = Run.objects.create(
        job=job, scheduled_for=engine.now, status="running", lock_key=str(job.pk), held_lock=str(job.pk)
    )
    engine.start()
    by_hand.refresh_from_db()
    assert (by_hand.status, by_hand.reason, by_hand.instance_id) == ("queued", "manual", None)
    assert engine.memory.count() == 0
    holder.delete()
    assert engine.step() == 1
    by_hand.refresh_from_db()
    assert by_hand.status == "succeeded"


def test_an_interval_from_completion_goes_on_after_a_tick_that_was_missed():
    job = make_job(
        schedule=Every(seconds=10), interval_from_completion=True, starting_deadline=timedelta(seconds=1)
    )
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.clock.advance(5)
    engine.start()
    assert statuses(job) == ["missed(deadline)"]
    assert next_tick(job) == engine.now + 10 * SECOND


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_job_that_somebody_is_editing_does_not_hold_up_the_refusals_of_others():
    edited, other = (
        make_job("edited", schedule=Every(seconds=1)),
        make_job("other", schedule=Every(seconds=1)),
    )
    engine = HandDriven().go_to(max(next_tick(edited), next_tick(other)))
    engine.claim()
    engine.start()
    engine.claim()
    engine.clock.advance(1)
    with open_transaction(lambda: JobState.objects.select_for_update().get(pk=edited.pk)):
        engine.start()
        assert (statuses(edited), statuses(other)) == (
            ["running", "claimed"],
            ["running", "skipped(overlap)"],
        )
    engine.start()
    assert statuses(edited) == ["running", "skipped(overlap)"]
    assert [run.count for run in runs_of(edited)] == [1, 1]


def busy_elsewhere(job: Job) -> tuple[HandDriven, HandDriven]:
    """One instance runs the job's first tick; another meets the second, at its instant."""
    holder = HandDriven(name="holder").go_to(next_tick(job))
    holder.claim()
    holder.start()
    other = HandDriven(name="other")
    for _ in range(3):
        other.clock.advance(10)
        other.parts.heartbeat.beat()
    other.go_to(next_tick(job)).claim()
    return holder, other


def test_a_holder_whose_instance_is_gone_is_reaped_and_the_tick_runs():
    job = make_job(schedule=Every(minutes=1))
    holder, other = busy_elsewhere(job)
    holder.expire()
    assert other.start() == []
    assert statuses(job) == ["lost(instance_gone)", "claimed"]
    assert len(other.start()) == 1


def test_a_tick_waits_where_the_holder_is_gone_and_others_cannot_be_judged_yet():
    job = make_job(schedule=Every(minutes=1))
    holder, other = busy_elsewhere(job)
    holder.expire()
    other.parts.heartbeat._steady_since = None
    assert other.start() == []
    assert statuses(job) == ["running", "claimed"]
    assert len(other.held) == 1


def test_a_holder_that_is_alive_keeps_its_lock():
    job = make_job(schedule=Every(minutes=1))
    busy_elsewhere(job)[1].start()
    assert statuses(job) == ["running", "skipped(overlap)"]


def test_a_tick_whose_lock_was_freed_before_the_refusal_is_not_refused():
    job = make_job(schedule=Every(seconds=1))
    engine = running(job)
    [entry] = engine.held
    Run.objects.filter(status="running").update(status="succeeded", held_lock=None)
    engine.clock.advance(1)
    engine.parts.timer._starts.refuse([entry])
    assert statuses(job) == ["succeeded", "claimed"]
    assert engine.held == [entry]
