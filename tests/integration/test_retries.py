"""Retries: every attempt is a run, queued in the transaction that ends the one before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_gocron import Every, Retry, events
from django_gocron.models import Job, Run
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of, state_of, statuses
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)
EXACT = {"retry_delay": 10 * SECOND, "retry_jitter": 0.0}


def fail() -> None:
    raise RuntimeError("no")


answers: list[BaseException | None] = []


def answer() -> None:
    error = answers.pop(0)
    if error is not None:
        raise error


def run_once(job: Job) -> HandDriven:
    engine = HandDriven().go_to(next_tick(job))
    assert engine.step() == 1
    return engine


def follow(engine: HandDriven, job: Job) -> list[float]:
    """Let every attempt begin at its instant; answer how long after the tick each was due."""
    while queued := runs_of(job, status="queued"):
        engine.go_to(queued[0].available_at).step()
    return [
        (run.available_at - run.scheduled_for) / SECOND for run in Run.objects.filter(job=job).order_by("pk")
    ]


def test_b55_three_attempts_begin_at_their_delays_and_a_fourth_never():
    job = make_job(task=fail, retries=2, **EXACT)
    engine = run_once(job)
    assert follow(engine, job) == [0, 10, 30]
    assert statuses(job) == ["failed(exception)"] * 3
    assert [run.attempt for run in Run.objects.order_by("pk")] == [1, 2, 3]
    assert {run.scheduled_for for run in runs_of(job)} == {runs_of(job)[0].scheduled_for}
    engine.clock.advance(600)
    engine.step()
    assert Run.objects.filter(attempt=4).count() == 0


def test_b55_the_next_tick_runs_while_a_retry_waits_and_the_retry_waits_while_the_tick_runs():
    job = make_job(
        task=fail, schedule=Every(seconds=10), retries=1, retry_delay=12 * SECOND, retry_jitter=0.0
    )
    engine = run_once(job)
    engine.clock.advance(10)
    engine.claim()
    assert len(engine.start()) == 1
    engine.clock.advance(2)
    engine.claim()
    engine.start()
    assert sorted(statuses(job)) == ["failed(exception)", "queued(retry)", "running"]
    engine.execute()
    engine.finish()
    engine.step()
    assert runs_of(job, attempt=2)[0].status == "failed"
    assert not Run.objects.filter(status="skipped").exists()


def test_a_retry_that_was_claimed_and_finds_the_job_busy_waits_in_the_queue():
    job = make_job(task=fail, schedule=Every(seconds=10), retries=1, **EXACT)
    engine = run_once(job)
    [retry] = runs_of(job, attempt=2)
    engine.go_to(retry.available_at).claim()
    entry = next(entry for entry in engine.held if entry.run_id == retry.pk)
    Run.objects.filter(status="failed").update(status="running", held_lock=entry.lock_key)
    engine.start()
    assert runs_of(job, attempt=2)[0].reason == "retry"
    assert runs_of(job, attempt=2)[0].status == "queued"


def test_an_attempt_takes_over_what_the_run_before_was_started_with():
    job = make_job(task=fail, retries=1, priority=7, **EXACT)
    run = job.run_now(by="ada")
    HandDriven().step()
    first, second = Run.objects.order_by("pk")
    assert (second.parent_id, second.attempt, second.reason) == (run.pk, 2, "retry")
    for name in ("scope", "origin", "args", "kwargs", "lock_key", "priority", "requested_by", "task"):
        assert getattr(second, name) == getattr(first, name)


def test_a_retry_is_told():
    job = make_job(task=fail, retries=1, **EXACT)
    with Heard(events.RetryQueued) as heard:
        engine = run_once(job)
    [event] = heard
    assert (event.attempt, event.due_at - event.at) == (2, 10 * SECOND)
    assert event.run_id == runs_of(job, attempt=2)[0].pk
    assert engine.memory.count() == 0


def test_a_success_ends_the_attempts_and_the_failures_in_a_row():
    job = make_job(task=answer, retries=3, **EXACT)
    answers[:] = [RuntimeError("first"), None]
    engine = run_once(job)
    assert state_of(job).failures_in_row == 1
    follow(engine, job)
    assert statuses(job) == ["failed(exception)", "succeeded"]
    assert state_of(job).failures_in_row == 0


def test_a_task_may_say_itself_when_it_wants_to_be_tried_again():
    job = make_job(task=answer, retries=2, **EXACT)
    answers[:] = [Retry("busy", after=3), Retry("busy", after=timedelta(minutes=2)), None]
    engine = run_once(job)
    assert follow(engine, job) == [0, 3, 123]
    assert statuses(job) == ["failed(exception)", "failed(exception)", "succeeded"]


def test_asking_again_takes_a_retry_and_without_one_the_run_has_failed():
    job = make_job(task=answer)
    answers[:] = [Retry("busy", after=3)]
    run_once(job)
    assert statuses(job) == ["failed(exception)"]


@pytest.mark.parametrize("after", [-1, timedelta(days=40_000), "soon", float("nan"), 1e300])
def test_a_delay_that_is_none_is_refused_where_it_is_asked_for(after):
    with pytest.raises(ValueError, match="from 0 to 36525 days, not"):
        Retry(after=after)


def test_arguments_that_do_not_fit_are_not_tried_again():
    job = make_job(task=fail, retries=3)
    Job.objects.filter(pk=job.pk).update(schedule=None)
    Run.objects.all().delete()
    run = job.run_now()
    Run.objects.filter(pk=run.pk).update(args=["one too many"])
    HandDriven().step()
    assert statuses(job) == ["failed(bad_arguments)"]


@pytest.mark.parametrize("stop", ["pause", "disable"])
def test_a_job_that_is_stopped_is_not_tried_again_and_a_waiting_attempt_ends(stop: str):
    job = make_job(task=fail, retries=3, **EXACT)
    engine = run_once(job)
    _stop(job, stop)
    assert statuses(job) == ["failed(exception)", "skipped(paused)"]
    other = make_job("other", task=fail, retries=3, **EXACT)
    engine.go_to(next_tick(other)).claim()
    engine.start()
    _stop(other, stop)
    engine.execute()
    engine.finish()
    assert statuses(other) == ["failed(exception)"]


def _stop(job: Job, how: str) -> None:
    if how == "pause":
        job.pause()
    else:
        Job.objects.filter(pk=job.pk).update(enabled=False)


def test_a_paused_job_that_was_run_by_hand_is_tried_again():
    job = make_job(task=fail, retries=1, **EXACT)
    job.pause()
    job.run_now()
    HandDriven().step()
    assert statuses(job) == ["failed(exception)", "queued(retry)"]


def test_an_interval_from_completion_counts_from_the_last_attempt():
    job = make_job(task=fail, schedule=Every(minutes=5), interval_from_completion=True, retries=1, **EXACT)
    engine = run_once(job)
    assert state_of(job).next_run_at is None
    follow(engine, job)
    assert next_tick(job) - engine.now == timedelta(minutes=5)


def test_only_first_attempts_count_against_the_limit_of_runs():
    job = make_job(task=fail, schedule=Every(minutes=5), max_runs=2, retries=1, **EXACT)
    engine = run_once(job)
    follow(engine, job)
    assert state_of(job).run_count == 1
    engine.go_to(next_tick(job)).step()
    assert state_of(job).run_count == 2


def test_a_failed_run_written_twice_has_one_next_attempt():
    job = make_job(task=fail, retries=3, **EXACT)
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    engine.execute()
    batch = list(engine.parts.completions._waiting)
    engine.finish()
    engine.parts.completions._waiting.extend(batch)
    engine.finish()
    assert statuses(job) == ["failed(exception)", "queued(retry)"]
    assert state_of(job).failures_in_row == 1


def test_a_waiting_attempt_outlives_an_edit_of_the_job():
    job = make_job(task=fail, retries=3, **EXACT)
    run_once(job)
    Job.objects.filter(pk=job.pk).update(schedule=Every(minutes=3))
    assert statuses(job) == ["failed(exception)", "queued(retry)"]
