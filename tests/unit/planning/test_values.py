"""What planning is told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.planning import (
    LONGEST,
    Misfire,
)
from django_gocron.schedules import Daily
from tests.unit.planning.situations import (
    MICROSECOND,
    ZERO,
    at,
    define,
    planned,
    running,
)


@pytest.mark.parametrize("name", ["jitter", "misfire_grace", "catchup_window", "starting_deadline"])
@pytest.mark.parametrize("value", [-MICROSECOND, LONGEST + MICROSECOND, timedelta.max])
def test_refuses_durations_that_leave_the_calendar(name: str, value: timedelta):
    with pytest.raises(ScheduleError, match=name) as caught:
        define(**{name: value})  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.field) == ("duration_out_of_range", name)


@pytest.mark.parametrize("misfire", list(Misfire))
def test_the_longest_durations_are_planned(misfire: Misfire):
    job = define(
        Daily(at="12:00"),
        misfire=misfire,
        jitter=LONGEST,
        misfire_grace=LONGEST,
        catchup_window=LONGEST,
        starting_deadline=LONGEST,
    )
    answer = planned(job, next_tick=at("12:00"), now=at("12:00") + 2 * LONGEST)
    assert answer.settled_through is not None


def test_durations_of_nothing_are_planned():
    job = define(misfire_grace=ZERO, catchup_window=ZERO, starting_deadline=ZERO)
    assert running(planned(job, next_tick=at("12:00"), now=at("12:00"))) == [at("12:00")]
