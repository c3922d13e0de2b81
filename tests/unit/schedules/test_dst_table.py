"""Every row of the table of right answers where clocks are moved."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.schedules import Schedule

TABLE = Path(__file__).parents[2] / "cases" / "dst.json"
CASES: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))["cases"]

every_row = pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])


def terms(case: dict[str, Any]) -> dict[str, Any]:
    anchor = datetime.fromisoformat(case["anchor"])
    return {"zone": ZoneInfo(case["zone"]), "anchor": anchor, "gap": case["gap"], "fold": case["fold"]}


@every_row
def test_a_schedule_fires_as_the_table_says(case: dict[str, Any]) -> None:
    schedule, after = Schedule.from_dict(case["schedule"]), datetime.fromisoformat(case["after"])
    ticks = schedule.preview(len(case["expected"]), after=after, **terms(case))
    zone = ZoneInfo(case["zone"])
    assert [tick.astimezone(zone).isoformat() for tick in ticks] == case["expected"]


@every_row
def test_looking_back_and_counting_agree_with_the_table(case: dict[str, Any]) -> None:
    schedule, after = Schedule.from_dict(case["schedule"]), datetime.fromisoformat(case["after"])
    expected = [datetime.fromisoformat(text) for text in case["expected"]]
    assert schedule.count_between(after, expected[-1], **terms(case)) == len(expected)
    assert [schedule.latest_before(tick, **terms(case)) for tick in expected] == expected


def test_no_row_is_there_twice() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)
