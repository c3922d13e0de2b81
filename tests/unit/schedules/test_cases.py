"""Every row of the tables of right answers."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.schedules import Cron, Daily, Every, Monthly, Schedule, Weekly

CASES = Path(__file__).parents[2] / "cases"
NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def load(name: str) -> list[Any]:
    cases: list[Any] = json.loads((CASES / name).read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=f"{number}-{case['note']}") for number, case in enumerate(cases)]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def interval_schedule(case: dict[str, Any]) -> Schedule:
    match case["kind"]:
        case "duration":
            return Every(seconds=case["seconds"])
        case "daily":
            return Daily(every=case["interval"], at=case["at"])
        case "weekly":
            on = [NAMES[number] for number in case["weekdays"]]
            return Weekly(every=case["interval"], on=on, at=case["at"])
        case "monthly":
            return Monthly(every=case["interval"], on=case["days"], at=case["at"])
        case kind:
            raise AssertionError(kind)


def check(schedule: Schedule, after: datetime, expected: list[datetime], terms: dict[str, Any]) -> None:
    assert schedule.preview(len(expected), after=after, **terms) == expected
    for tick, following in zip(expected, [*expected[1:], None], strict=True):
        assert schedule.latest_before(tick, **terms) == tick
        if following:
            assert schedule.count_between(tick, following, **terms) == 1
    assert schedule.count_between(after, expected[-1], **terms) == len(expected)


@pytest.mark.parametrize("case", load("cron.json"))
def test_cron_fires_as_the_table_says(case: dict[str, Any]) -> None:
    start = instant(case["start"])
    terms = {"zone": ZoneInfo(case["tz"]), "anchor": start}
    check(Cron(case["expr"]), start, [instant(text) for text in case["expected"]], terms)


@pytest.mark.parametrize("case", load("cron.json"))
def test_cron_knows_wildcard_schedules_as_the_table_says(case: dict[str, Any]) -> None:
    assert Cron(case["expr"]).times.wildcard is case["wildcard"]


@pytest.mark.parametrize("case", load("intervals.json"))
def test_intervals_fire_as_the_table_says(case: dict[str, Any]) -> None:
    after, anchor = instant(case["after"]), instant(case["anchor"])
    expected = [instant(text) for text in case["expected"]]
    check(interval_schedule(case), after, expected, {"zone": ZoneInfo(case["tz"]), "anchor": anchor})
