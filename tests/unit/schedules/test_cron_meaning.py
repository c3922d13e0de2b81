"""What a cron expression says: equal expressions, zones, the days it picks."""

from __future__ import annotations

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.schedules import Cron, Every, Schedule
from django_gocron.schedules.croniter_times import CroniterTimes, CronSets
from tests.unit.schedules.moments import terms, utc


def sets(expression: str) -> CronSets:
    times = Cron(expression).times
    assert isinstance(times, CroniterTimes)
    return times.sets


def numbers(expression: str) -> dict[str, Any]:
    meant = sets(expression)
    return {
        "seconds": [*meant.seconds],
        "minutes": [*meant.minutes],
        "hours": [*meant.hours],
        "dates": sorted(meant.days.dates),
        "months": [*meant.months],
        "weekdays": sorted(meant.days.weekdays),
    }


def days_of(expression: str, first: str, last: str) -> list[int]:
    """The days of the month on which it fires, from one date to another."""
    days = Cron(expression).preview(40, after=utc(f"{first} 00:00:00"), **terms(anchor="2020-01-01"))
    return [day.day for day in days if day.date() <= date.fromisoformat(last)]


@pytest.mark.parametrize(
    ("field", "expression", "expected"),
    [
        ("minutes", "5 * * * *", [5]),
        ("minutes", "05 * * * *", [5]),
        ("minutes", "10-10 * * * *", [10]),
        ("minutes", "10-10/5 * * * *", [10]),
        ("minutes", "10-12/5 * * * *", [10]),
        ("minutes", "50/4 * * * *", [50, 54, 58]),
        ("minutes", "59/15 * * * *", [59]),
        ("minutes", "*/20 * * * *", [0, 20, 40]),
        ("minutes", "*/60 * * * *", [0]),
        ("minutes", "*/999999999999 * * * *", [0]),
        ("minutes", "58-1 * * * *", [0, 1, 58, 59]),
        ("minutes", "50-10/5 * * * *", [0, 5, 10, 50, 55]),
        ("minutes", "50-10/7 * * * *", [4, 50, 57]),
        ("minutes", "0-59 * * * *", list(range(60))),
        ("minutes", "3,1,2,1 * * * *", [1, 2, 3]),
        ("minutes", "*,5 * * * *", list(range(60))),
        ("seconds", "* * * * *", [0]),
        ("seconds", "7 * * * * *", [7]),
        ("seconds", "*/30 * * * * *", [0, 30]),
        ("hours", "0 22-2 * * *", [0, 1, 2, 22, 23]),
        ("hours", "0 22-2/3 * * *", [1, 22]),
        ("dates", "0 0 30-2 * *", [1, 2, 30, 31]),
        ("dates", "0 0 L * *", [-1]),
        ("dates", "0 0 1,l * *", [-1, 1]),
        ("months", "0 0 1 nov-feb *", [1, 2, 11, 12]),
        ("months", "0 0 1 nov-mar/3 *", [2, 11]),
        ("months", "0 0 1 DEC/3 *", [12]),
        ("months", "0 0 1 Jan,jul *", [1, 7]),
        ("months", "0 0 1 jan-jan *", [1]),
        ("weekdays", "0 0 * * 7", [0]),
        ("weekdays", "0 0 * * 0-7", [0, 1, 2, 3, 4, 5, 6]),
        ("weekdays", "0 0 * * 7-7", [0]),
        ("weekdays", "0 0 * * 7-0", [0]),
        ("weekdays", "0 0 * * 7-2", [0, 1, 2]),
        ("weekdays", "0 0 * * 5-7/2", [0, 5]),
        ("weekdays", "0 0 * * 0-7/2", [0, 2, 4, 6]),
        ("weekdays", "0 0 * * 7/2", [0, 2, 4, 6]),
        ("weekdays", "0 0 * * 5/2", [5]),
        ("weekdays", "0 0 * * */7", [0]),
        ("weekdays", "0 0 * * sat-mon", [0, 1, 6]),
        ("weekdays", "0 0 * * 6-0", [0, 6]),
        ("weekdays", "0 0 * * FRI-FRI", [5]),
        ("weekdays", "0 0 ? * ?", [0, 1, 2, 3, 4, 5, 6]),
        ("dates", "0 0 ? * ?", list(range(1, 32))),
    ],
)
def test_a_field_means_these_numbers(field: str, expression: str, expected: list[int]) -> None:
    assert numbers(expression)[field] == expected


@pytest.mark.parametrize("stem", ["L5", "5L", "l5", "Lfri", "friL", "FRIl"])
def test_the_last_weekday_can_be_written_in_many_ways(stem: str) -> None:
    assert sets(f"0 0 * * {stem}").days.nth == {(-1, 5)}


@pytest.mark.parametrize("stem", ["0#3", "7#3", "sun#3"])
def test_the_nth_sunday_can_be_written_in_many_ways(stem: str) -> None:
    assert sets(f"0 0 * * {stem}").days.nth == {(3, 0)}


def test_sunday_as_seven_is_the_last_sunday_too() -> None:
    assert sets("0 0 * * L7").days.nth == {(-1, 0)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 * * *", (False, False)),
        ("0 0 ? * *", (False, False)),
        ("0 0 */1 * *", (True, False)),
        ("0 0 1-31 * mon", (True, True)),
        ("0 0 * * */1", (False, True)),
        ("0 0 L * 5#1", (True, True)),
        ("0 0 15W * ?", (True, False)),
    ],
)
def test_only_a_star_and_a_question_mark_restrict_nothing(
    expression: str, expected: tuple[bool, bool]
) -> None:
    meant = sets(expression)
    assert (meant.by_date, meant.by_weekday) == expected
    assert meant.days.combine == ("either" if all(expected) else "both")


@pytest.mark.parametrize(
    ("expression", "first", "last", "expected"),
    [
        # November 2026 begins on a Sunday; 30 days.
        ("0 12 1W * *", "2026-11-01", "2026-11-30", [2]),
        ("0 12 7W * *", "2026-11-01", "2026-11-30", [6]),
        ("0 12 8W * *", "2026-11-01", "2026-11-30", [9]),
        ("0 12 31W * *", "2026-11-01", "2026-11-30", [30]),
        ("0 12 1W,15 * *", "2026-11-01", "2026-11-30", [2, 15]),
        # August 2026 begins on a Saturday; May 2026 ends on a Sunday; February 2026 ends on a Saturday.
        ("0 12 1W * *", "2026-08-01", "2026-08-31", [3]),
        ("0 12 31W * *", "2026-05-01", "2026-05-31", [29]),
        ("0 12 31W * *", "2026-02-01", "2026-02-28", [27]),
        # 2 May 2026 is a Saturday, 30 August 2026 a Sunday.
        ("0 12 2W * *", "2026-05-01", "2026-05-31", [1]),
        ("0 12 30W * *", "2026-08-01", "2026-08-31", [31]),
        ("0 12 * * 0#5", "2026-11-01", "2026-11-30", [29]),
        ("0 12 * * 1#5", "2026-11-01", "2026-11-30", [30]),
        ("0 12 * * 2#5", "2026-11-01", "2026-11-30", []),
        ("0 12 * * L0", "2026-11-01", "2026-11-30", [29]),
        ("0 12 * * L2", "2026-11-01", "2026-11-30", [24]),
        ("0 12 * * L1,2#1", "2026-11-01", "2026-11-30", [3, 30]),
        ("0 12 * * mon,2#1", "2026-11-01", "2026-11-30", [2, 3, 9, 16, 23, 30]),
        ("0 12 13 * 5", "2026-11-01", "2026-11-30", [6, 13, 20, 27]),
        ("0 12 L,3 * L1", "2026-10-01", "2026-10-31", [3, 26, 31]),
        ("0 12 */10 * *", "2026-11-01", "2026-11-30", [1, 11, 21]),
        ("0 12 * 12 *", "2026-11-01", "2026-11-30", []),
    ],
)
def test_an_expression_picks_these_days(expression: str, first: str, last: str, expected: list[int]) -> None:
    assert days_of(expression, first, last) == expected


@pytest.mark.parametrize(
    ("alias", "expression"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@Midnight", "0 0 * * *"),
        ("@HOURLY", "0 * * * *"),
    ],
)
def test_an_alias_is_short_for_an_expression(alias: str, expression: str) -> None:
    assert sets(alias) == sets(expression)
    assert Cron(alias).expression == alias


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5m", 30),
        ("+5m", 300),
        ("1h0m0.5s", 3600.5),
        ("250ms", 0.25),
        ("10000us", 0.01),
        ("10000µs", 0.01),
        ("10000μs", 0.01),
        ("10000000ns", 0.01),
    ],
)
def test_at_every_is_an_interval(text: str, seconds: float) -> None:
    expected: Schedule = Every(seconds)
    assert Cron(f"@every {text}") == expected
    assert Cron(f"TZ=Europe/Berlin @Every  {text}") == expected


def test_white_space_means_nothing() -> None:
    assert Cron("  0\t9 * \n *  mon ") == Cron("0 9 * * mon")


def test_expressions_are_compared_as_written() -> None:
    assert Cron("0 9 * * mon") != Cron("0 9 * * 1")
    assert Cron("0 9 * * *", timezone="Europe/Berlin") != Cron("0 9 * * *")


BERLIN, KOLKATA = "Europe/Berlin", "Asia/Kolkata"


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Cron("0 12 * * *"), "2026-01-01 06:30"),
        (Cron("0 12 * * *", timezone=BERLIN), "2026-01-01 11:00"),
        (Cron(f"TZ={BERLIN} 0 12 * * *"), "2026-01-01 11:00"),
        (Cron(f"CRON_TZ={BERLIN} 0 12 * * *"), "2026-01-01 11:00"),
        (Cron("TZ=UTC 0 12 * * *", timezone=BERLIN), "2026-01-01 12:00"),
        (Cron("CRON_TZ=UTC  @daily"), "2026-01-02 00:00"),
    ],
    ids=repr,
)
def test_the_zone_is_the_prefix_else_its_own_else_the_one_of_the_question(
    schedule: Cron, expected: str
) -> None:
    assert schedule.next_after(utc("2026-01-01 00:00"), **terms(KOLKATA)) == utc(expected)


def test_its_own_zone_is_known() -> None:
    assert Cron("0 12 * * *").own_zone is None
    assert Cron("0 12 * * *", timezone=BERLIN).own_zone == ZoneInfo(BERLIN)
    assert Cron("TZ=UTC 0 12 * * *", timezone=BERLIN).own_zone == ZoneInfo("UTC")


def test_json_holds_what_was_given_and_no_more() -> None:
    assert Cron("0 12 * * *").to_dict() == {"kind": "cron", "version": 1, "expression": "0 12 * * *"}
    assert Cron("@daily", timezone=BERLIN, implementation="croniter").to_dict() == {
        "kind": "cron",
        "version": 1,
        "expression": "@daily",
        "timezone": BERLIN,
        "implementation": "croniter",
    }
