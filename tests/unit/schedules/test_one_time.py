"""Instants given one by one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import OneTime
from tests.unit.schedules.moments import terms, utc


def test_instants_are_sorted_and_equal_ones_fire_once() -> None:
    noon = datetime(2026, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    schedule = OneTime([utc("2026-06-01 12:00"), noon, utc("2026-05-01 12:00")])
    assert schedule.at == (utc("2026-05-01 12:00"), utc("2026-06-01 12:00"))
    assert schedule.preview(5, after=utc("2026-01-01 00:00"), **terms()) == list(schedule.at)


def test_one_instant_needs_no_list() -> None:
    assert OneTime(utc("2026-05-01 12:00")) == OneTime([utc("2026-05-01 12:00")])


def test_instants_that_the_anchor_has_passed_never_fire() -> None:
    schedule = OneTime([utc("2026-01-01 00:00"), utc("2026-01-02 00:00")])
    assert schedule.next_after(utc("2020-01-01 00:00"), **terms()) == utc("2026-01-02 00:00")
    assert schedule.latest_before(utc("2026-01-01 12:00"), **terms()) is None
    assert schedule.count_between(utc("2020-01-01 00:00"), utc("2030-01-01 00:00"), **terms()) == 1


def test_after_the_last_instant_nothing_comes() -> None:
    schedule = OneTime(utc("2026-05-01 12:00"))
    assert schedule.next_after(utc("2026-05-01 12:00"), **terms()) is None
    assert schedule.latest_before(utc("2030-05-01 12:00"), **terms()) == utc("2026-05-01 12:00")


def test_microseconds_are_kept() -> None:
    schedule = OneTime(utc("2026-05-01 12:00:00.000001"))
    assert schedule.next_after(utc("2026-05-01 12:00"), **terms()) == utc("2026-05-01 12:00:00.000001")
    assert schedule.to_dict()["at"] == ["2026-05-01T12:00:00.000001+00:00"]


@pytest.mark.parametrize(
    ("at", "code"),
    [
        ([], "no_times"),
        (None, "no_times"),
        (datetime(2026, 5, 1, 12), "naive_datetime"),  # noqa: DTZ001
        ([utc("2026-05-01 12:00"), datetime(2026, 5, 1, 12)], "naive_datetime"),  # noqa: DTZ001
        ("2026-05-01T12:00:00Z", "naive_datetime"),
    ],
)
def test_no_instants_are_refused(at: Any, code: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        OneTime(at)
    assert (refused.value.code, refused.value.field) == (code, "at")
