"""A sentence says exactly what its cron expression says, or is the expression itself."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Cron
from django_gocron.schedules.croniter_times import CroniterTimes
from tests.properties import english

SHAPES = list(product((28, 29, 30, 31), range(7)))
"""Lengths of months, and the weekdays on which they begin."""


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    """One item of a field."""
    number = st.integers(low, high)
    pair = st.tuples(number, number).filter(lambda ends: ends[0] != ends[1])
    step = st.sampled_from([2, 3, 5, 6, 10, 12, 15, 20, 30])
    return st.one_of(
        number.map(str),
        pair.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(number, step).map(lambda each: f"{each[0]}/{each[1]}"),
        step.map(lambda every: f"*/{every}"),
    )


def field(low: int, high: int, *special: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.one_of(numbers(low, high), *special)
    few = st.lists(items, min_size=1, max_size=3, unique=True).map(",".join)
    single = st.integers(low, high).map(str)
    return st.one_of(st.just("*"), single, few)


WEEKDAY = st.integers(0, 7)
expressions = st.tuples(
    st.one_of(st.just(""), st.just("0 "), field(0, 59).map(lambda seconds: f"{seconds} ")),
    field(0, 59),
    field(0, 23),
    field(1, 31, st.just("L"), st.integers(1, 31).map(lambda day: f"{day}W")),
    field(1, 12),
    field(
        0,
        6,
        WEEKDAY.map(lambda day: f"L{day}"),
        st.tuples(WEEKDAY, st.integers(1, 5)).map(lambda each: f"{each[0]}#{each[1]}"),
        st.sampled_from(["mon-fri", "sat,sun", "sun"]),
    ),
).map(lambda parts: parts[0] + " ".join(parts[1:]))


def times_of(expression: str) -> CroniterTimes:
    try:
        times = Cron(expression).times
    except ScheduleError:
        assume(False)
    assert isinstance(times, CroniterTimes)
    return times


@settings(
    max_examples=500,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(expressions)
def test_the_sentence_reads_back_to_the_same_ticks(expression: str) -> None:
    sets = times_of(expression).sets
    sentence = Cron(expression).describe()
    if sentence == expression:
        return
    meant = english.read(sentence)
    assert meant.times == set(product(sets.hours, sets.minutes, sets.seconds))
    assert meant.months == set(sets.months)
    for length, first in SHAPES:
        assert meant.days(length, first) == sets.days.days(length, first), (length, first)


@pytest.mark.parametrize(
    "expression",
    [
        "*/5 * * * *",
        "0 9 * * mon-fri",
        "0 0 13 * 5",
        "15 30 2 * * *",
        "0 9-17 1,L */6 *",
        "*/10 8,12,20 * * L5",
    ],
)
def test_usual_expressions_have_a_sentence(expression: str) -> None:
    assert Cron(expression).describe() != expression


@pytest.mark.parametrize(
    "sentence", ["Every blue moon", "At noon every day", "Every 5 minutes from 09:00 to 17:50", ""]
)
def test_the_grammar_of_this_test_refuses_what_is_no_sentence(sentence: str) -> None:
    with pytest.raises(english.NotUnderstoodError):
        english.read(sentence)
