"""What the outcome of a run means: for its row, for the state of its job, and as a fact to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.models import Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from django_gocron.engine.memory import Entry
    from django_gocron.executors.outcome import Outcome
    from django_gocron.models import JobState


def may_be_retried(outcome: Outcome) -> bool:
    """Arguments that do not fit will not fit the next time."""
    return outcome.status in (Status.FAILED, Status.TIMED_OUT) and outcome.reason != Reason.BAD_ARGUMENTS


def make_row(entry: Entry, outcome: Outcome) -> Run:
    """As much of the row as is written. The row is there, and locked: the rest of it is not looked at."""
    return Run(
        pk=entry.run_id,
        scheduled_for=entry.scheduled_for,
        held_lock=(entry.lock_key or None) if outcome.still_executes else None,
        lock_lost=entry.lock_lost.is_set(),
        status=outcome.status,
        reason=outcome.reason,
        started_at=None if outcome.status == Status.SKIPPED else outcome.started_at,
        finished_at=outcome.finished_at,
        error_type=outcome.error_type,
        error_message=outcome.error_message,
        traceback=outcome.traceback,
        result=outcome.result,
        output=outcome.output,
    )


def learn(state: JobState, entry: Entry, outcome: Outcome) -> None:
    if outcome.status == Status.SKIPPED:
        _learn_skip(state, entry)
        return
    state.add_outcome(outcome.status, outcome.took.total_seconds())
    state.last_run, state.last_status = entry.run_id, outcome.status
    state.last_started_at, state.last_finished_at = outcome.started_at, outcome.finished_at
    state.crashes_in_row = 0
    if entry.attempt == 1 and not entry.is_counted:
        state.run_count += 1
    if outcome.status == Status.SUCCEEDED:
        state.failures_in_row = 0
        state.last_success, state.last_success_at = entry.run_id, outcome.finished_at
    elif outcome.status in (Status.FAILED, Status.TIMED_OUT):
        state.failures_in_row += 1
        state.last_failure, state.last_failure_at = entry.run_id, outcome.finished_at


def _learn_skip(state: JobState, entry: Entry) -> None:
    """Its task has not begun, so it does not count: where it was the last that ``max_runs`` allowed, ticks go on."""
    state.add_outcome(Status.SKIPPED.value, None)
    if entry.is_counted:
        state.run_count -= 1
        state.next_run_at = state.next_run_at or state.next_tick_at
        if (
            state.next_tick_at is None
        ):  # an edit has taken the job for finished meanwhile: the sweep looks again
            state.finished_at = None


def make_fact(entry: Entry, outcome: Outcome, failures_in_row: int, failures_before: int) -> events.Event:
    if outcome.status == Status.SUCCEEDED:
        return events.RunSucceeded(
            at=outcome.finished_at, took=outcome.took, after_failures=failures_before, **entry.identity()
        )
    if outcome.status == Status.SKIPPED:
        return events.RunSkipped(at=outcome.finished_at, reason=outcome.reason, **entry.identity())
    if outcome.status == Status.CANCELLED:
        return events.RunCancelled(
            at=outcome.finished_at, reason=outcome.reason, took=outcome.took, **entry.identity()
        )
    if outcome.status == Status.TIMED_OUT:
        return events.RunTimedOut(
            at=outcome.finished_at,
            took=outcome.took,
            timeout=entry.timeout or outcome.took,
            still_executes=outcome.still_executes,
            traceback=outcome.traceback,
            failures_in_row=failures_in_row,
            **entry.identity(),
        )
    return events.RunFailed(
        at=outcome.finished_at,
        took=outcome.took,
        reason=outcome.reason,
        error_type=outcome.error_type,
        error_message=outcome.error_message,
        traceback=outcome.traceback,
        failures_in_row=failures_in_row,
        **entry.identity(),
    )
