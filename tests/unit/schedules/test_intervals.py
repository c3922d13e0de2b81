"""Schedules in elapsed time."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Every, EveryRandom
from tests.unit.schedules.moments import terms, utc

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    "schedule",
    [
        Every(5400),
        Every(5400.0),
        Every(timedelta(minutes=90)),
        Every(minutes=90),
        Every(hours=1, minutes=30),
        Every(hours=1.5),
        Every(3600, minutes=30),
        Every(interval=5400),
    ],
)
def test_an_interval_can_be_written_in_many_ways(schedule: Every) -> None:
    assert schedule == Every(seconds=5400)
    assert schedule.interval == timedelta(seconds=5400)


def test_weeks_and_days_are_elapsed_time() -> None:
    assert Every(weeks=1, days=2).interval == timedelta(hours=9 * 24)


@pytest.mark.parametrize(
    ("give", "code", "field"),
    [
        (lambda: Every(), "zero_interval", "interval"),
        (lambda: Every(0), "zero_interval", "interval"),
        (lambda: Every(-1), "negative_interval", "interval"),
        (lambda: Every(minutes=-1), "negative_interval", "interval"),
        (lambda: Every(0.009), "interval_too_short", "interval"),
        (lambda: Every(timedelta(microseconds=9999)), "interval_too_short", "interval"),
        (lambda: Every(float("inf")), "interval_too_long", "interval"),
        (lambda: Every(float("nan")), "duration_unreadable", "interval"),
        (lambda: Every(10**400), "interval_too_long", "interval"),
        (lambda: Every(weeks=10**9), "interval_too_long", "interval"),
        (lambda: Every(True), "duration_unreadable", "interval"),
        (lambda: Every(minutes="5"), "duration_unreadable", "minutes"),  # type: ignore[arg-type]
        (lambda: Every("5m"), "duration_unreadable", "interval"),  # type: ignore[arg-type]
        (lambda: EveryRandom(5, 1), "min_not_below_max", "min"),
        (lambda: EveryRandom(5, 5), "min_not_below_max", "min"),
        (lambda: EveryRandom(-1, 5), "negative_interval", "min"),
        (lambda: EveryRandom(-2, -1), "negative_interval", "min"),
        (lambda: EveryRandom(0, 5), "zero_interval", "min"),
        (lambda: EveryRandom(0.001, 5), "interval_too_short", "min"),
        (lambda: EveryRandom("1", 5), "duration_unreadable", "min"),  # type: ignore[arg-type]
        (lambda: EveryRandom(1, None), "duration_unreadable", "max"),  # type: ignore[arg-type]
    ],
)
def test_an_interval_that_cannot_be_is_refused(give: Any, code: str, field: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        give()
    assert (refused.value.code, refused.value.field) == (code, field)


def test_json_holds_seconds_whole_where_they_are() -> None:
    assert repr(Every(minutes=1).to_data()) == "{'seconds': 60}"
    assert repr(EveryRandom(0.25, 60).to_data()) == "{'min': 0.25, 'max': 60}"


def test_ten_milliseconds_are_enough() -> None:
    assert Every(0.01).interval == timedelta(milliseconds=10)
    assert EveryRandom(0.01, 0.010001).min == timedelta(milliseconds=10)


def test_the_grid_counts_from_the_anchor_with_its_microseconds() -> None:
    grid = terms(anchor="2026-01-01 00:00:00.000250")
    schedule = Every(minutes=10)
    assert schedule.next_after(utc("2026-01-01 03:04"), **grid) == utc("2026-01-01 03:10:00.000250")
    assert schedule.next_after(utc("2026-01-01 03:10:00.000250"), **grid) == utc("2026-01-01 03:20:00.000250")
    assert schedule.next_after(utc("2026-01-01 03:10:00.000249"), **grid) == utc("2026-01-01 03:10:00.000250")


def test_the_first_tick_is_one_interval_after_the_anchor() -> None:
    assert Every(hours=5).next_after(utc("2025-01-01 00:00"), **terms()) == utc("2026-01-01 05:00")
    assert Every(hours=5).latest_before(utc("2026-01-01 04:59:59"), **terms()) is None


def test_counting_an_interval_is_division() -> None:
    schedule = Every(0.01)
    years = schedule.count_between(utc("2026-01-01 00:00"), utc("2036-01-01 00:00"), **terms())
    assert years == 3652 * 86400 * 100


def test_an_interval_that_outlasts_the_calendar_has_no_tick() -> None:
    assert Every(days=365 * 9000).next_after(utc("2026-01-01 00:00"), **terms()) is None
    assert (
        EveryRandom(86400 * 365 * 9000, 86400 * 365 * 9001).next_after(utc("2026-01-01"), **terms()) is None
    )


def test_random_ticks_are_min_to_max_apart() -> None:
    ticks = EveryRandom(240, 360).preview(500, after=utc("2026-01-01 00:00"), seed="a", **terms())
    gaps = [later - earlier for earlier, later in pairwise(ticks)]
    assert timedelta(seconds=240) <= min(gaps) < timedelta(seconds=245)
    assert timedelta(seconds=355) < max(gaps) < timedelta(seconds=360)
    mean = sum(gaps, timedelta()) / len(gaps)
    assert timedelta(seconds=290) < mean < timedelta(seconds=310)


def test_the_narrowest_random_interval_never_reaches_its_max() -> None:
    ticks = EveryRandom(timedelta(seconds=1), timedelta(seconds=1, microseconds=2)).preview(
        50, after=utc("2026-01-01 00:00"), **terms()
    )
    gaps = {later - earlier for earlier, later in pairwise(ticks)}
    assert gaps == {timedelta(seconds=1), timedelta(seconds=1) + MICROSECOND}


def test_random_ticks_differ_by_seed() -> None:
    first, second = (
        EveryRandom(240, 360).preview(3, after=utc("2026-01-01 00:00"), seed=seed, **terms()) for seed in "ab"
    )
    assert not set(first) & set(second)


def test_random_ticks_are_the_same_in_every_process() -> None:
    code = (
        "from datetime import *; from zoneinfo import ZoneInfo;"
        "from django_gocron.schedules import EveryRandom;"
        "start = datetime(2026, 1, 1, tzinfo=UTC);"
        "print(EveryRandom(1, 2).next_after(start, zone=ZoneInfo('UTC'), anchor=start, seed='s').isoformat())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = EveryRandom(1, 2).next_after(utc("2026-01-01 00:00"), seed="s", **terms())
    assert here is not None
    assert answers == {here.isoformat() + "\n"}


def test_the_latest_random_tick_is_of_the_chain_from_the_anchor() -> None:
    schedule = EveryRandom(0.01, 60)
    chain = schedule.preview(200, after=utc("2026-01-01 00:00"), seed="x", **terms())
    for tick, following in pairwise(chain):
        assert schedule.latest_before(following - MICROSECOND, seed="x", **terms()) == tick
        assert schedule.latest_before(tick, seed="x", **terms()) == tick


def test_the_latest_random_tick_of_long_ago_anchors_is_near() -> None:
    schedule = EveryRandom(1, 60)
    latest = schedule.latest_before(utc("2036-01-01 00:00"), **terms())
    assert latest is not None
    assert timedelta(0) <= utc("2036-01-01 00:00") - latest < timedelta(seconds=60)


def test_random_ticks_are_counted_along_the_chain() -> None:
    schedule = EveryRandom(1, 60)
    chain = schedule.preview(300, after=utc("2026-01-01 00:00"), seed="x", **terms())
    assert schedule.count_between(utc("2026-01-01 00:00"), chain[-1], seed="x", **terms()) == 300
    assert schedule.count_between(chain[9], chain[-1] - MICROSECOND, seed="x", **terms()) == 289


def test_a_long_span_of_random_ticks_is_estimated_from_their_mean() -> None:
    count = EveryRandom(50, 70).count_between(utc("2026-01-01 00:00"), utc("2036-01-01 00:00"), **terms())
    assert count == pytest.approx(3652 * 1440, rel=0.01)
