"""What is watched, and until when; what comes of it is tested where runs are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from django_gocron.context import Cause
from django_gocron.engine.memory import Memory, State
from django_gocron.engine.timeouts import Timeouts
from django_gocron.executors.output import Output
from django_gocron.testing import FakeClock
from tests.unit.test_memory import entry

TIMEOUT = timedelta(seconds=5)


class Written:
    """In place of the completions."""

    def __init__(self) -> None:
        self.statuses: list[str] = []

    def add(self, entry: Any, outcome: Any) -> None:
        self.statuses.append(outcome.status)


class Watch:
    """A run that executes, on a clock that a test moves."""

    def __init__(self, *, is_async: bool) -> None:
        self.clock, self.memory, self.written = FakeClock(), Memory(), Written()
        self.timeouts = Timeouts(self.clock, self.memory, self.written)  # type: ignore[arg-type]
        self.entry = entry(timeout=TIMEOUT)
        self.memory.add([self.entry])
        self.memory.move(self.entry, State.HELD, State.EXECUTING)
        self.generation = self.memory.generation
        self.timeouts.watch(self.entry, Output(), is_async=is_async)

    def after(self, seconds: float) -> State:
        self.clock.advance(seconds)
        self.timeouts.step()
        return self.entry.state


@pytest.mark.parametrize("is_async", [False, True])
def test_nothing_is_asked_before_the_deadline(is_async: bool):
    watch = Watch(is_async=is_async)
    assert (watch.after(4.99), watch.entry.cancellation.cause) == (State.EXECUTING, None)


def test_a_function_is_an_overrun_at_its_deadline():
    watch = Watch(is_async=False)
    assert (watch.after(5), watch.written.statuses) == (State.OVERRUN, ["timed_out"])
    assert watch.entry.cancellation.cause is Cause.TIMEOUT


def test_a_coroutine_is_asked_at_its_deadline_and_is_an_overrun_a_second_later():
    watch = Watch(is_async=True)
    assert (watch.after(5), watch.entry.cancellation.cause) == (State.EXECUTING, Cause.TIMEOUT)
    assert (watch.after(0.99), watch.written.statuses) == (State.EXECUTING, [])
    assert (watch.after(0.01), watch.written.statuses) == (State.OVERRUN, ["timed_out"])


def test_a_coroutine_that_was_cancelled_before_is_cancelled_again():
    watch, told = Watch(is_async=True), []
    watch.entry.cancellation.ask(Cause.BY_USER, "Enough.")
    watch.entry.cancellation.listen(lambda: told.append(1))
    told.clear()
    watch.after(5)
    assert (told, watch.entry.cancellation.cause) == ([1], Cause.BY_USER)


def test_what_has_ended_meanwhile_is_no_overrun():
    watch = Watch(is_async=False)
    watch.memory.move(watch.entry, State.EXECUTING, State.DONE)
    assert (watch.after(5), watch.written.statuses) == (State.DONE, [])


def test_it_says_how_long_there_is_nothing_to_do():
    watch = Watch(is_async=False)
    assert watch.timeouts.seconds_to_next() == 5
    watch.clock.advance(6)
    assert watch.timeouts.seconds_to_next() == 0
    watch.timeouts.unwatch(watch.entry)
    assert watch.timeouts.seconds_to_next() == float("inf")


def test_who_waits_for_the_memory_to_change_is_woken():
    watch = Watch(is_async=False)
    assert watch.memory.generation > watch.generation
