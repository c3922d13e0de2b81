from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_gocron import events
from django_gocron.engine.tally import Tally

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
RUN: dict[str, Any] = {
    "at": NOON,
    "run_id": 1,
    "job_id": 1,
    "job_name": "job",
    "task": "t",
    "scheduled_for": NOON,
}
SUCCEEDED = events.RunSucceeded(took=timedelta(0), **RUN)
SKIPPED = events.RunSkipped(reason="overlap", **RUN)
FAILED = events.RunFailed(
    took=timedelta(0),
    reason="exception",
    error_type="E",
    error_message="",
    traceback="",
    failures_in_row=1,
    **RUN,
)
TIMED_OUT = events.RunTimedOut(
    took=timedelta(0), timeout=timedelta(0), still_executes=False, traceback="", failures_in_row=1, **RUN
)
CANCELLED = events.RunCancelled(reason="by_user", **RUN)


@pytest.mark.parametrize(
    ("published", "text"),
    [
        ([], "0 due"),
        ([SUCCEEDED], "1 due: 1 succeeded"),
        ([SUCCEEDED, FAILED, SUCCEEDED], "3 due: 2 succeeded, 1 failed"),
        ([SKIPPED, SUCCEEDED], "2 due: 1 succeeded, 1 skipped"),
        ([TIMED_OUT, CANCELLED], "2 due: 1 timed out, 1 cancelled"),
    ],
)
def test_says_how_runs_have_ended(published, text):
    with Tally() as tally:
        for event in published:
            events.publish(event)
    assert str(tally) == text


def test_knows_how_many_have_failed():
    with Tally() as tally:
        for event in (FAILED, SUCCEEDED, CANCELLED, TIMED_OUT):
            events.publish(event)
    assert tally.failed == 2


def test_counts_nothing_before_and_after():
    events.publish(SUCCEEDED)
    with Tally() as tally:
        pass
    events.publish(SUCCEEDED)
    assert str(tally) == "0 due"
