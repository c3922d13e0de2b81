from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest

from django_gocron import Cancelled
from django_gocron.context import Cancellation, Cause, RunContext
from django_gocron.exceptions import StaleRunError


def context(cancellation: Cancellation) -> RunContext:
    return RunContext(
        run_id=1,
        job_id=1,
        job_name="job",
        task="shop.sync",
        scheduled_for=datetime(2026, 5, 1, tzinfo=UTC),
        attempt=1,
        origin="schedule",
        _cancellation=cancellation,
    )


def test_a_run_is_not_cancelled_until_it_is_asked_to_end():
    cancellation = Cancellation()
    run = context(cancellation)
    run.raise_if_cancelled()
    assert not run.cancelled
    cancellation.ask(Cause.BY_USER, "Enough.")
    assert run.cancelled


def test_a_run_that_looks_is_told_in_the_words_of_who_asked():
    cancellation = Cancellation()
    cancellation.ask(Cause.BY_USER, "Enough.")
    with pytest.raises(Cancelled, match="^Enough\\.$"):
        context(cancellation).raise_if_cancelled()


def test_a_task_that_catches_every_exception_does_not_catch_its_cancellation():
    cancellation = Cancellation()
    cancellation.ask(Cause.BY_USER, "Enough.")
    with pytest.raises(Cancelled), suppress(Exception):
        context(cancellation).raise_if_cancelled()


def test_the_first_cause_and_its_words_stay():
    cancellation = Cancellation()
    cancellation.ask(Cause.BY_USER, "Enough.")
    cancellation.ask(Cause.SHUTDOWN, "The end.")
    assert (cancellation.cause, cancellation.words) == (Cause.BY_USER, "Enough.")


def test_who_listens_is_told_each_time():
    cancellation, told = Cancellation(), []
    cancellation.listen(lambda: told.append(1))
    assert told == []
    cancellation.ask(Cause.BY_USER, "Enough.")
    cancellation.ask(Cause.TIMEOUT, "Too long.")
    assert told == [1, 1]


def test_who_listens_too_late_is_told_at_once():
    cancellation, told = Cancellation(), []
    cancellation.ask(Cause.BY_USER, "Enough.")
    cancellation.listen(lambda: told.append(1))
    assert told == [1]


def test_a_run_that_no_scheduler_has_started_has_no_token():
    with pytest.raises(StaleRunError) as error:
        context(Cancellation()).token  # noqa: B018
    assert error.value.code == "stale_run"
