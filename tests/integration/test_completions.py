"""Finishing: what is kept of a run, and that no result is ever dropped."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DataError, OperationalError

from django_gocron import Every, events, registry
from django_gocron.engine import completions
from django_gocron.engine.completions import Completions
from django_gocron.models import Job, JobState, Run
from django_gocron.models.state import RING
from tests.elsewhere import open_transaction
from tests.handdriven import (
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
WITH_ROW_LOCKS = pytest.mark.only_on("postgresql", "mariadb")


def answer(value: Any = None) -> Any:
    return value


def fail(message: str = "no luck", password: str = "") -> None:
    raise LookupError(f"{message} {password}".strip())


def run_once(task: Any, **values: Any) -> Run:
    """The row of a run of the task, when it has ended."""
    job = make_job(task=task, **values)
    HandDriven().go_to(next_tick(job)).step()
    [run] = runs_of(job)
    return run


def executed(*jobs: Job) -> HandDriven:
    """An instance that has executed the jobs' next ticks, all at once, and written no result."""
    engine = HandDriven().go_to(max(next_tick(job) for job in jobs))
    engine.claim()
    engine.start()
    assert engine.execute() == len(jobs)
    return engine


# --- what is kept of a run -------------------------------------------------------------------------


def test_a_run_that_ends_well_keeps_its_result_and_when_it_ran():
    run = run_once(answer, kwargs={"value": {"orders": [1, 2]}})
    assert (run.status, run.reason, run.result) == ("succeeded", "", {"orders": [1, 2]})
    assert run.started_at is not None
    assert run.finished_at is not None
    assert run.started_at <= run.finished_at


def test_a_run_that_fails_keeps_error_and_traceback_without_frames_of_ours():
    run = run_once(fail)
    assert (run.status, run.reason) == ("failed", "exception")
    assert (run.error_type, run.error_message) == ("LookupError", "no luck")
    assert run.traceback.startswith("Traceback (most recent call last):")
    assert 'in fail\n    raise LookupError(f"{message} {password}".strip())' in run.traceback
    assert "django_gocron" not in run.traceback


def test_secret_arguments_are_masked_in_what_a_failed_run_leaves_behind():
    run = run_once(fail, kwargs={"message": "refused:", "password": "hunter2-hunter2"})
    assert run.error_message == "refused: ********"
    assert "hunter2" not in run.traceback


def test_arguments_that_do_not_fit_fail_the_run_with_a_reason_of_its_own():
    job = make_job(task=answer)
    engine = HandDriven().go_to(next_tick(job))
    [entry] = engine.claim()
    entry.kwargs["wrong"] = 1
    engine.step()
    [run] = runs_of(job)
    assert (run.status, run.reason) == ("failed", "bad_arguments")


def exit_well() -> None:
    sys.exit(0)


def exit_badly() -> None:
    sys.exit("out of paper")


def interrupt() -> None:
    raise KeyboardInterrupt


class OutOfLine(BaseException):
    pass


def step_out_of_line() -> None:
    raise OutOfLine("!")


def recurse() -> None:
    recurse()


@pytest.mark.parametrize(
    ("task", "status", "reason", "error"),
    [
        (exit_well, "succeeded", "", ""),
        (exit_badly, "failed", "exit", "SystemExit"),
        (interrupt, "failed", "exception", "KeyboardInterrupt"),
        (step_out_of_line, "failed", "exception", f"{__name__}.OutOfLine"),
        (recurse, "failed", "exception", "RecursionError"),
    ],
)
def test_whatever_a_task_raises_becomes_an_outcome(task, status, reason, error):
    run = run_once(task)
    assert (run.status, run.reason, run.error_type) == (status, reason, error)


def answer_with_an_object() -> Any:
    return object


def answer_at_length() -> Any:
    return "x" * 1_000_000


def answer_with_nul() -> Any:
    return {"text": "a\x00b"}


def answer_with_half_a_character() -> Any:
    return ["\ud800"]


def answer_with_no_number() -> Any:
    return float("nan")


def answer_in_depth() -> Any:
    value: list[Any] = []
    for _ in range(50):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("task", "beginning"),
    [
        (answer_with_an_object, "<class 'object'>"),
        (answer_at_length, '"xxx'),
        (answer_with_nul, "{'text': 'a\\x00b'}"),
        (answer_with_half_a_character, "['\\ud800']"),
        (answer_with_no_number, "nan"),
        (answer_in_depth, "[[["),
    ],
)
def test_a_result_that_a_database_may_refuse_is_kept_as_text(task, beginning):
    run = run_once(task)
    assert run.status == "succeeded"
    text = run.result if isinstance(run.result, str) else repr(run.result)
    assert text.startswith(beginning)
    assert len(text) < 70_000


def fail_with_what_no_database_takes() -> None:
    raise ValueError("NUL \x00, half a character \ud800")


def test_an_error_that_a_database_may_refuse_is_written_out():
    run = run_once(fail_with_what_no_database_takes)
    assert run.error_message == "NUL \\x00, half a character \\ud800"


# --- what a run means for its job ------------------------------------------------------------------


def test_an_ended_run_frees_the_lock_of_its_job():
    assert run_once(answer).held_lock is None


def test_the_state_of_the_job_knows_its_last_run_and_its_last_success():
    run = run_once(answer)
    state = JobState.objects.get()
    assert (state.last_run, state.last_status, state.last_started_at) == (run.pk, "succeeded", run.started_at)
    assert (state.last_success, state.last_success_at) == (run.pk, run.finished_at)
    assert (state.last_failure, state.run_count, state.failures_in_row) == (None, 1, 0)


def test_failures_in_a_row_are_counted_until_a_success():
    job = make_job(task=fail, schedule=Every(seconds=10))
    engine = HandDriven()
    for _ in range(2):
        engine.go_to(next_tick(job)).step()
    state = state_of(job)
    assert (state.failures_in_row, state.last_success) == (2, None)
    assert state.last_failure == runs_of(job)[-1].pk
    Job.objects.filter(pk=job.pk).update(task=registry.register(answer).name)
    engine.go_to(next_tick(job)).step()
    assert state_of(job).failures_in_row == 0


def test_the_ring_keeps_the_latest_outcomes():
    job = make_job(task=answer, schedule=Every(seconds=10))
    old = [["skipped", None]] * RING
    JobState.objects.filter(pk=job.pk).update(outcomes=old)
    HandDriven().go_to(next_tick(job)).step()
    ring = state_of(job).outcomes
    assert (len(ring), ring[-1][0], ring[0]) == (RING, "succeeded", ["skipped", None])


def test_each_interval_from_completion_counts_from_the_end_of_its_own_run():
    early, late = (
        make_job(name, schedule=Every(seconds=10), interval_from_completion=True)
        for name in ("early", "late")
    )
    engine = HandDriven().go_to(max(next_tick(early), next_tick(late)))
    engine.claim()
    engine.start()
    first, second = engine.executor.submitted
    ends = {}
    for work in (first, second):
        engine.executor.submitted = [work]
        engine.execute()
        ends[work.context.job_id] = engine.now
        engine.clock.advance(3)
    assert engine.finish() == 2
    assert next_tick(early) == ends[early.pk] + 10 * SECOND
    assert next_tick(late) == ends[late.pk] + 10 * SECOND


def test_the_result_of_a_job_that_was_deleted_meanwhile_is_kept():
    job = make_job(task=answer)
    engine = executed(job)
    job.delete()
    assert engine.finish() == 1
    run = Run.objects.get()
    assert (run.status, run.job_id, run.job_name) == ("succeeded", None, "job")


# --- events ----------------------------------------------------------------------------------------


def test_success_is_published_when_it_is_in_the_database():
    seen = []

    def look(event: events.Event) -> None:
        if isinstance(event, events.RunSucceeded):
            seen.append(Run.objects.get(pk=event.run_id).status)

    events.subscribe(look)
    try:
        run_once(answer)
    finally:
        events.unsubscribe(look)
    assert seen == ["succeeded"]


def test_a_failure_is_published_with_what_one_wants_to_know_of_it():
    with Heard(events.RunFailed) as heard:
        run = run_once(fail)
    [event] = heard
    assert (event.run_id, event.reason, event.error_type) == (run.pk, "exception", "LookupError")
    assert (event.error_message, event.failures_in_row) == ("no luck", 1)
    assert event.traceback == run.traceback


# --- writing ---------------------------------------------------------------------------------------


def test_whatever_has_ended_is_written_in_one_batch():
    engine = executed(*[make_job(f"job {number}", task=answer) for number in range(3)])
    assert engine.finish() == 3
    assert engine.memory.count() == 0


def test_a_batch_is_no_longer_than_a_statement_may_be():
    engine = executed(*[make_job(f"job {number}", task=answer_at_length) for number in range(3)])
    with patch.object(completions, "MOST_CHARACTERS", 100_000):
        assert [engine.finish() for _ in range(4)] == [1, 1, 1, 0]


def test_a_result_that_comes_after_the_run_was_lost_changes_nothing():
    job = make_job(task=answer)
    engine = executed(job)
    engine.expire()
    HandDriven(name="reaper").recovery.reap()
    with Heard(events.ResultRefused, events.RunSucceeded) as heard:
        engine.finish()
    assert [(type(event), event.status) for event in heard] == [(events.ResultRefused, "succeeded")]
    assert statuses(job) == ["lost(instance_gone)"]
    assert state_of(job).last_success is None


def away(times: int) -> Any:
    """The database cannot be reached, ``times`` times."""
    return failing(times, OperationalError("could not connect to server"))


def failing(times: int, error: Exception, *, after_the_write: bool = False) -> Any:
    real, failures = completions.unit, iter(range(times))

    def unit(using: str, work: Any) -> Any:
        fails = next(failures, None) is not None
        report = real(using, work) if after_the_write or not fails else None
        if fails:
            raise error
        return report

    return patch.object(completions, "unit", unit)


def test_results_wait_while_the_database_is_away():
    job = make_job(task=answer)
    engine = executed(job)
    with away(3):
        for _ in range(3):
            with pytest.raises(OperationalError):
                engine.finish()
        assert statuses(job) == ["running"]
        assert engine.finish() == 1
    assert statuses(job) == ["succeeded"]


def test_a_result_whose_write_got_no_answer_is_found_to_be_written():
    job = make_job(task=answer)
    engine = executed(job)
    with failing(1, OperationalError("gone"), after_the_write=True), pytest.raises(OperationalError):
        engine.finish()
    with Heard(events.ResultRefused, events.RunSucceeded) as heard:
        assert engine.finish() == 1
    assert [type(event) for event in heard] == [events.RunSucceeded]
    assert (state_of(job).run_count, len(state_of(job).outcomes)) == (1, 1)


def answer_in_greek() -> str:
    return "αβγ"


def test_a_result_that_the_database_refuses_is_kept_in_ascii_and_stands_in_no_others_way():
    greek, plain = (
        make_job("greek", task=answer_in_greek),
        make_job("plain", task=answer, kwargs={"value": "abc"}),
    )
    engine = executed(greek, plain)
    real = Completions._save

    def refuse_greek(self: Completions, runs: list[Run]) -> None:
        if any(run.result == "αβγ" for run in runs):
            raise DataError("Incorrect string value")
        real(self, runs)

    with patch.object(Completions, "_save", refuse_greek):
        assert engine.finish() == 2
    assert runs_of(greek)[0].result == r'"\u03b1\u03b2\u03b3"'
    assert runs_of(plain)[0].result == "abc"


@WITH_ROW_LOCKS
def test_a_job_that_somebody_is_editing_does_not_hold_up_the_results_of_others():
    edited, other = make_job("edited", task=answer), make_job("other", task=answer)
    engine = executed(edited, other)
    with open_transaction(lambda: JobState.objects.select_for_update().get(pk=edited.pk)):
        assert engine.finish() == 1
        assert engine.finish() == 0
        assert (statuses(edited), statuses(other)) == (["running"], ["succeeded"])
    assert engine.finish() == 1
    assert statuses(edited) == ["succeeded"]


def test_a_claim_ahead_is_not_disturbed_by_the_results_of_earlier_ticks():
    job = make_job(task=answer, schedule=Every(seconds=1))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    engine.execute()
    ahead = next_tick(job)
    engine.finish()
    assert next_tick(job) == ahead


def test_the_result_of_a_run_that_another_instance_runs_meanwhile_is_refused():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    engine.execute()
    Run.objects.update(instance=HandDriven(name="other").lease.instance_id)
    with Heard(events.ResultRefused) as heard:
        engine.finish()
    assert statuses(job) == ["running"]
    assert len(heard) == 1
