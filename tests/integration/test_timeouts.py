"""Timeouts of functions, step by step: the task itself lets time pass and moves the engine while it executes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from django_gocron import current_run, events
from django_gocron.engine.memory import IN_A_SLOT, State
from django_gocron.models import Job, JobState, Run
from django_gocron.schedules import Every
from tests.elsewhere import open_transaction
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of, state_of, statuses
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

TIMEOUT = timedelta(seconds=5)

inside: list[Callable[[], None]] = []


@pytest.fixture(autouse=True)
def _nothing_inside() -> Iterator[None]:
    inside.clear()
    yield
    inside.clear()


def take_long() -> str:
    logging.getLogger("shop").warning("on my way")
    for act in inside:
        act()
    return "too late"


class Overrun:
    """A run of a job with a timeout: ``execute`` lets it execute, ``record`` is for its inside."""

    def __init__(self, **values: object) -> None:
        values = {"schedule": Every(seconds=10), "timeout": TIMEOUT, **values}
        self.job: Job = make_job(task=take_long, **values)
        self.engine = HandDriven().go_to(next_tick(self.job))

    def execute(self, *acts: Callable[[], object]) -> None:
        inside.extend(acts)  # type: ignore[arg-type]
        self.engine.claim()
        self.engine.start()
        assert self.engine.execute() == 1

    def time_out(self, by: float = 5.0) -> None:
        self.engine.clock.advance(by)
        self.engine.parts.timeouts.step()

    def record(self) -> None:
        self.time_out()
        self.engine.finish()

    @property
    def run(self) -> Run:
        return runs_of(self.job)[0]


def test_a_function_has_timed_out_as_soon_as_its_time_is_over():
    overrun = Overrun()
    seen: list[Run] = []
    overrun.execute(overrun.record, lambda: seen.append(overrun.run))
    [run] = seen
    assert (run.status, run.reason, run.took) == ("timed_out", "", TIMEOUT)
    assert run.error_message == "It ran longer than its timeout of 5 s."


def test_it_keeps_its_lock_until_its_code_ends():
    overrun = Overrun()
    held: list[str | None] = []
    overrun.execute(overrun.record, lambda: held.append(overrun.run.held_lock))
    assert held == [str(overrun.job.pk)]
    overrun.engine.finish()
    assert (overrun.run.status, overrun.run.held_lock) == ("timed_out", None)
    assert overrun.engine.memory.count() == 0


def test_a_run_within_its_time_is_left_alone():
    overrun = Overrun()
    overrun.execute(lambda: overrun.time_out(4.99))
    overrun.engine.finish()
    assert statuses(overrun.job) == ["succeeded"]


def test_time_counts_from_the_begin_and_not_from_the_instant():
    overrun = Overrun()
    overrun.engine.claim()
    overrun.engine.start()
    overrun.engine.clock.advance(60)
    inside.append(lambda: overrun.time_out(4.99))
    overrun.engine.execute()
    overrun.engine.finish()
    assert statuses(overrun.job) == ["succeeded"]


def test_a_job_without_a_timeout_is_not_watched():
    overrun = Overrun(timeout=None)
    waits: list[float] = []
    overrun.execute(
        lambda: overrun.time_out(10**6),
        lambda: waits.append(overrun.engine.parts.timeouts.seconds_to_next()),
    )
    overrun.engine.finish()
    assert (waits, statuses(overrun.job)) == ([float("inf")], ["succeeded"])


def test_what_has_ended_is_watched_no_longer():
    overrun = Overrun()
    overrun.execute()
    assert overrun.engine.parts.timeouts.seconds_to_next() == float("inf")
    overrun.time_out()
    overrun.engine.finish()
    assert statuses(overrun.job) == ["succeeded"]


def test_its_late_result_is_refused_with_an_event():
    overrun = Overrun()
    overrun.execute(overrun.record)
    with Heard(events.ResultRefused) as heard:
        overrun.engine.finish()
    assert [(event.run_id, event.status) for event in heard] == [(overrun.run.pk, "succeeded")]
    assert overrun.run.result is None


def test_a_task_that_looks_ends_in_time_and_there_is_nothing_to_refuse():
    overrun = Overrun()
    overrun.execute(overrun.record, lambda: current_run().raise_if_cancelled())
    with Heard(events.ResultRefused) as heard:
        overrun.engine.finish()
    assert (list(heard), overrun.run.status, overrun.run.held_lock) == ([], "timed_out", None)


def test_a_task_sees_that_its_time_is_over():
    overrun = Overrun()
    seen: list[bool] = []
    look = lambda: seen.append(current_run().cancelled)  # noqa: E731
    overrun.execute(look, overrun.time_out, look)
    assert seen == [False, True]


def test_it_stays_in_its_slot_until_its_code_ends():
    overrun = Overrun()
    memory, counts = overrun.engine.memory, []
    overrun.execute(
        overrun.record, lambda: counts.append((memory.count(*IN_A_SLOT), memory.count(State.OVERRUN)))
    )
    assert (counts, memory.count(*IN_A_SLOT)) == ([(1, 1)], 0)


def test_no_other_run_of_the_job_starts_before_its_code_ends():
    overrun = Overrun()
    overrun.execute(
        overrun.record, lambda: overrun.engine.clock.advance(5), overrun.engine.claim, overrun.engine.start
    )
    overrun.engine.finish()
    assert statuses(overrun.job) == ["timed_out", "skipped(overlap)"]


def test_a_job_whose_runs_may_overlap_holds_no_lock():
    overrun = Overrun(overlap="allow")
    held: list[str | None] = []
    overrun.execute(overrun.record, lambda: held.append(overrun.run.held_lock))
    overrun.engine.finish()
    assert (held, statuses(overrun.job)) == ([None], ["timed_out"])


def test_code_that_ends_before_its_time_out_is_recorded_leaves_no_lock():
    overrun = Overrun()
    overrun.execute(overrun.time_out)
    overrun.engine.finish()
    assert (overrun.run.status, overrun.run.held_lock) == ("timed_out", None)
    assert overrun.engine.memory.count() == 0


@pytest.mark.only_on("postgresql", "mariadb")
def test_a_time_out_that_waits_for_an_open_edit_leaves_no_lock_either():
    overrun = Overrun()
    overrun.execute(overrun.time_out)
    with open_transaction(lambda: list(JobState.objects.select_for_update().filter(pk=overrun.job.pk))):
        assert overrun.engine.finish() == 0
    overrun.engine.finish()
    assert (overrun.run.status, overrun.run.held_lock) == ("timed_out", None)


def test_it_counts_as_a_failure_of_the_job():
    overrun = Overrun()
    overrun.execute(overrun.record)
    state = state_of(overrun.job)
    assert (state.failures_in_row, state.last_status, state.last_failure) == (1, "timed_out", overrun.run.pk)
    assert state.outcomes == [["timed_out", 5.0]]


def test_an_event_tells_of_it():
    overrun = Overrun()
    with Heard(events.RunTimedOut, events.RunFailed) as heard:
        overrun.execute(overrun.record)
    [event] = heard
    assert (event.run_id, event.took, event.timeout) == (overrun.run.pk, TIMEOUT, TIMEOUT)
    assert (event.still_executes, event.failures_in_row) == (True, 1)


def test_the_row_says_what_was_logged_and_where_the_code_stood():
    overrun = Overrun()
    overrun.execute(overrun.record)
    run = overrun.run
    assert "on my way" in run.output
    assert run.traceback.startswith("Where it was when its time was over")
    assert "in take_long" in run.traceback
    assert "running.py" not in run.traceback


def test_it_is_tried_again_once_its_code_has_ended():
    overrun = Overrun(retries=1, retry_delay=timedelta(0), retry_jitter=0)
    claimed: list[int] = []
    overrun.execute(overrun.record, lambda: claimed.append(len(overrun.engine.claim())))
    assert (claimed, statuses(overrun.job)) == ([0], ["timed_out", "queued(retry)"])
    inside.clear()
    overrun.engine.finish()
    overrun.engine.step()
    assert statuses(overrun.job) == ["timed_out", "succeeded"]


def test_the_next_run_of_a_job_that_counts_from_completion_is_set():
    overrun = Overrun(interval_from_completion=True)
    overrun.execute(overrun.record)
    assert overrun.run.finished_at is not None
    assert next_tick(overrun.job) == overrun.run.finished_at + timedelta(seconds=10)


def test_the_audit_leaves_it_alone():
    overrun = Overrun()
    found: list[int] = []
    overrun.execute(overrun.record, lambda: found.append(overrun.engine.audit.requeue_unknown()))
    assert (found, statuses(overrun.job)) == ([0], ["timed_out"])


def test_the_death_of_its_instance_frees_its_lock():
    overrun, other = Overrun(), HandDriven(name="other")
    held: list[str | None] = []

    def reap() -> None:
        overrun.engine.expire()
        other.recovery.reap()
        held.append(overrun.run.held_lock)

    overrun.execute(overrun.record, reap)
    overrun.engine.finish()
    assert (held, overrun.run.status, overrun.engine.memory.count()) == ([None], "timed_out", 0)


def test_a_time_out_that_comes_after_the_run_was_lost_changes_nothing():
    overrun, other = Overrun(), HandDriven(name="other")

    def reap() -> None:
        overrun.engine.expire()
        other.recovery.reap()

    overrun.execute(reap, overrun.record)
    overrun.engine.finish()
    assert statuses(overrun.job) == ["lost(instance_gone)"]
    assert overrun.engine.memory.count() == 0


def test_a_lock_that_its_instance_took_to_its_grave_is_found_by_the_reaper():
    overrun, other = Overrun(), HandDriven(name="other")
    overrun.execute(overrun.record)
    overrun.engine.expire()
    other.recovery.reap()
    Run.objects.update(held_lock="left behind")  # committed by a process that was frozen meanwhile
    other.recovery.reap()
    assert overrun.run.held_lock is None


def test_an_overrun_is_told_that_the_lease_is_lost():
    overrun, other = Overrun(), HandDriven(name="other")
    seen: list[bool] = []

    def lose_the_lease() -> None:
        overrun.engine.expire()
        other.recovery.reap()
        overrun.engine.parts.heartbeat.beat()
        seen.append(current_run().lease_lost)

    overrun.execute(overrun.record, lose_the_lease)
    assert seen == [True]
