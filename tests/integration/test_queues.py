"""Ticks that wait for the end of the job's live run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import transaction

from django_gocron import Every, events
from django_gocron.models import Job, Run
from django_gocron.models.now import database_now
from tests.elsewhere import elsewhere, open_transaction
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)
TEN_SECONDS = Every(seconds=10)


def busy(job: Job, ticks: int, **options) -> HandDriven:
    """An instance that runs the job's first tick, and has met so many more at their instants."""
    engine = HandDriven(**options).go_to(next_tick(job))
    engine.claim()
    assert len(engine.start()) == 1
    for _ in range(ticks):
        meet(engine)
    return engine


def meet(engine: HandDriven) -> None:
    """Ten seconds later, with the next tick at its instant."""
    engine.clock.advance(10)
    engine.claim()
    engine.start()


def end(engine: HandDriven) -> None:
    engine.execute()
    engine.finish()


def test_a_tick_waits_while_the_previous_run_is_live_and_then_runs():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    engine = busy(job, 1)
    assert statuses(job) == ["running", "queued(overlap)"]
    [first, waiting] = runs_of(job)
    assert (waiting.instance, waiting.claim_id, waiting.held_lock) == (None, None, None)
    end(engine)
    assert engine.step() == 1
    assert statuses(job) == ["succeeded", "succeeded"]
    assert first.scheduled_for < waiting.scheduled_for


def test_b51_never_more_wait_than_allowed_and_a_further_one_is_skipped():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    with Heard(events.RunSkipped) as heard:
        busy(job, 3)
    assert statuses(job) == ["running", "queued(overlap)", "skipped(queue_full)", "skipped(queue_full)"]
    assert [event.reason for event in heard] == ["queue_full", "queue_full"]
    assert state_of(job).outcomes == [["skipped", None]] * 2


def test_as_many_wait_as_the_job_allows():
    job = make_job(schedule=TEN_SECONDS, overlap="queue", max_queued=2)
    busy(job, 3)
    assert statuses(job) == ["running", "queued(overlap)", "queued(overlap)", "skipped(queue_full)"]


def test_the_latest_takes_the_place_of_the_oldest():
    job = make_job(schedule=TEN_SECONDS, overlap="queue_latest", max_queued=2)
    with Heard(events.RunSkipped) as heard:
        busy(job, 4)
    assert statuses(job) == [
        "running",
        "skipped(superseded)",
        "skipped(superseded)",
        "queued(overlap)",
        "queued(overlap)",
    ]
    assert [event.run_id for event in heard] == [run.pk for run in runs_of(job, reason="superseded")]


def test_what_waits_runs_in_the_order_of_its_ticks_one_at_a_time():
    job = make_job(schedule=TEN_SECONDS, overlap="queue", max_queued=3)
    engine = busy(job, 3)
    for _ in range(4):
        end(engine)
        engine.claim()
        assert len(engine.start()) <= 1
    assert statuses(job) == ["succeeded"] * 4
    began = [run.started_at for run in runs_of(job)]
    assert began == sorted(began)


def test_a_tick_that_finds_others_waiting_joins_them_although_the_lock_is_free():
    job = make_job(schedule=TEN_SECONDS, overlap="queue", max_queued=5)
    engine = busy(job, 1)
    end(engine)
    other = HandDriven(name="other").go_to(engine.now + 9.5 * SECOND)
    other.parts.loop._queue.claim = lambda *_args, **_options: []  # it has no look at the queue
    other.claim()
    other.clock.advance(0.5)
    assert other.start() == []
    assert statuses(job) == ["succeeded", "queued(overlap)", "queued(overlap)"]


def test_another_instance_takes_what_waits():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    engine = busy(job, 1)
    end(engine)
    other = HandDriven(name="other").go_to(engine.now)
    assert other.step() == 1
    assert runs_of(job)[1].instance_id == other.lease.instance_id


def test_a_waiting_tick_that_is_taken_too_early_goes_back_to_its_place():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    engine = busy(job, 1)
    end(engine)
    engine.claim()
    [entry] = engine.held
    first = runs_of(job)[0]
    Run.objects.filter(pk=first.pk).update(status="running", held_lock=entry.lock_key)
    with Heard(events.RunQueued) as heard:
        engine.start()
    assert statuses(job) == ["running", "queued(overlap)"]
    assert len(heard) == 0


def test_what_waits_outlives_the_instance_that_had_taken_it_and_keeps_its_reason():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    engine = busy(job, 1)
    end(engine)
    engine.claim()
    engine.expire()
    HandDriven(name="reaper").recovery.reap()
    assert statuses(job) == ["succeeded", "queued(overlap)"]


def test_a_pause_ends_what_waits():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    busy(job, 1)
    Run.objects.update(available_at=database_now(DATABASE))
    job.pause()
    assert statuses(job) == ["running", "skipped(paused)"]


def test_a_starting_deadline_holds_for_what_waits():
    job = make_job(schedule=TEN_SECONDS, overlap="queue", starting_deadline=3 * SECOND)
    engine = busy(job, 1)
    engine.clock.advance(5)
    end(engine)
    engine.step()
    assert statuses(job) == ["succeeded", "missed(deadline)"]


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_tick_of_a_job_that_somebody_is_editing_is_looked_at_again():
    job = make_job(schedule=TEN_SECONDS, overlap="queue")
    engine = busy(job, 0)
    engine.clock.advance(10)
    engine.claim()
    with open_transaction(lambda: Job.objects.filter(pk=job.pk).update(description="...")):
        engine.start()
        assert statuses(job) == ["running", "claimed"]
    engine.start()
    assert statuses(job) == ["running", "queued(overlap)"]


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_latest"])
def test_ticks_that_are_caught_up_with_are_all_waited_for(overlap: str):
    job = make_job(schedule=Every(minutes=1), misfire="run_all", overlap=overlap)
    plan_at(job, next_tick(job) - timedelta(minutes=4))
    engine = HandDriven()
    for _ in range(10):
        engine.step()
    assert statuses(job) == ["succeeded"] * 4
    assert engine.memory.count() == 0


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_waiting_tick_that_is_starting_now_is_not_pushed_out():
    job = make_job(schedule=TEN_SECONDS, overlap="queue_latest")
    engine = busy(job, 1)
    waiting = runs_of(job, status="queued")[0]
    engine.clock.advance(10)
    engine.claim()
    begun = threading.Event()

    def start_elsewhere() -> None:
        with transaction.atomic():
            Run.objects.filter(pk=waiting.pk).update(status="running", reason="")
            begun.set()
            time_passes.wait(0.5)

    time_passes = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(elsewhere, start_elsewhere)
        assert begun.wait(PATIENCE)
        engine.start()
        done.result(PATIENCE)
    waiting.refresh_from_db()
    assert waiting.status == "running"


@pytest.mark.parametrize("slots", [0, 1])
def test_overdue_ticks_are_planned_again_slots_or_no_slots(slots: int):
    job = make_job(schedule=Every(minutes=1), misfire="skip", misfire_grace=2 * SECOND)
    gone = HandDriven(name="gone").go_to(next_tick(job))
    gone.claim()
    gone.expire()
    engine = HandDriven().go_to(gone.now)
    engine.recovery.reap()
    engine.clock.advance(10)
    engine.parts.loop._queue.claim(engine.now, slots=slots)
    assert statuses(job) == []


def test_while_the_oldest_has_been_taken_and_has_not_started_nobody_takes_the_next():
    job = make_job(schedule=TEN_SECONDS, overlap="queue", max_queued=3)
    engine = busy(job, 2)
    end(engine)
    engine.claim()
    assert len(engine.held) == 1
    other = HandDriven(name="other").go_to(engine.now)
    other.claim()
    assert other.held == []
    engine.start()
    assert statuses(job) == ["succeeded", "running", "queued(overlap)"]
