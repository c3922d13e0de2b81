"""The oracle gives every right answer of the case files, so that its agreement means something."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.properties import oracle
from tests.properties.oracle_cron import cron
from tests.properties.zones import TRANSITIONS

CASES = Path(__file__).parent.parent / "cases"
SPANS = [timedelta(hours=2 * 1.5**n) for n in range(34)]  # from two hours to more than a century

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    found: list[Row] = json.loads((CASES / name).read_text())["cases"]
    return found


def cron_id(row: Row) -> str:
    return f"{row['expr']} {row['tz']} {row['start']}"


def first_ticks(ticks_in: oracle.TicksIn, after: str, expected: list[str]) -> list[str]:
    found = oracle.first_ticks(ticks_in, datetime.fromisoformat(after), enough=len(expected), spans=SPANS)
    return [tick.strftime("%Y-%m-%dT%H:%M:%SZ") for tick in found[: len(expected)]]


def under_default_policies(rule: oracle.Rule, zone: str) -> oracle.TicksIn:
    return lambda after, through: oracle.ticks(rule, zone, after, through, gap="run_after", fold="first")


@pytest.mark.parametrize("row", rows("cron.json"), ids=cron_id)
def test_reproduces_the_cron_cases(row: Row) -> None:
    rule = cron(row["expr"])
    assert rule.wildcard == row["wildcard"]
    ticks_in = under_default_policies(rule, row["tz"])
    assert first_ticks(ticks_in, row["start"], row["expected"]) == row["expected"]


@pytest.mark.parametrize("row", rows("intervals.json"), ids=lambda row: f"{row['kind']}: {row['note']}")
def test_reproduces_the_interval_cases(row: Row) -> None:
    assert first_ticks(reading_of(row), row["after"], row["expected"]) == row["expected"]


def reading_of(row: Row) -> oracle.TicksIn:
    anchor = datetime.fromisoformat(row["anchor"])
    if row["kind"] == "duration":
        return oracle.grid(anchor, timedelta(seconds=row["seconds"]))
    at = [time.fromisoformat(text) for text in row["at"]]
    common = {"every": row["interval"], "at": at, "anchor": anchor, "zone": row["tz"]}
    match row["kind"]:
        case "daily":
            rule = oracle.daily(**common)
        case "weekly":
            rule = oracle.weekly(**common, weekdays=row["weekdays"], week_start=0)
        case _:
            rule = oracle.monthly(**common, days=row["days"])
    return oracle.later_than(anchor, under_default_policies(rule, row["tz"]))


@pytest.mark.parametrize("zone", TRANSITIONS)
def test_clocks_change_on_whole_minutes_as_the_scan_takes_for_granted(zone: str) -> None:
    tzinfo = ZoneInfo(zone)
    for instant in TRANSITIONS[zone]:
        before = (instant - timedelta(seconds=1)).astimezone(tzinfo).utcoffset()
        after = instant.astimezone(tzinfo).utcoffset()
        assert before is not None
        assert after is not None
        assert before != after
        assert before % timedelta(minutes=1) == after % timedelta(minutes=1) == timedelta(0)


@pytest.mark.parametrize("zone", TRANSITIONS)
def test_finds_the_readings_that_a_walk_through_every_minute_finds(zone: str) -> None:
    for change in TRANSITIONS[zone]:
        tzinfo = ZoneInfo(zone)
        walk = [change + timedelta(minutes=minute) for minute in range(-1500, 1500)]
        readings: dict[datetime, list[datetime]] = defaultdict(list)
        for instant in walk:
            readings[instant.astimezone(tzinfo).replace(tzinfo=None, fold=0)].append(instant)
        for wall, found in readings.items():
            known = oracle.real_minutes(zone, wall.date(), wall.hour * 60 + wall.minute)
            assert found == [instant for instant in known if walk[0] <= instant <= walk[-1]]
