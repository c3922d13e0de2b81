"""Daily, weekly and monthly schedules beyond the tables of right answers."""

from __future__ import annotations

from datetime import UTC, datetime, time
from itertools import pairwise
from typing import Any

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Daily, Monthly, Weekly
from tests.unit.schedules.moments import terms, utc


def dates(schedule: Daily | Weekly | Monthly, n: int, anchor: str) -> list[str]:
    ticks = schedule.preview(n, after=utc(anchor), **terms(anchor=anchor))
    return [tick.date().isoformat() for tick in ticks]


@pytest.mark.parametrize(
    "at", ["9:00", "09:00", "09:00:00", " 09:00 ", time(9), ["09:00"], (time(9), "9:00"), {"09:00"}]
)
def test_a_time_can_be_written_in_many_ways(at: Any) -> None:
    assert Daily(at=at) == Daily(at="09:00")
    assert Daily(at=at).at == (time(9),)


def test_times_are_sorted_without_doubles() -> None:
    assert Daily(at=["18:00", "06:00:01", time(18)]).at == (time(6, 0, 1), time(18))


def test_the_fold_of_a_time_says_nothing() -> None:
    assert Daily(at=time(9, fold=1)).at[0].fold == 0


def test_weekdays_are_sorted_without_doubles() -> None:
    assert Weekly(on=["Thursday", "MON", " thu "], at="09:00").on == ("mon", "thu")
    assert Weekly(on="sat", at="09:00").on == ("sat",)


def test_month_days_are_put_in_order_without_doubles() -> None:
    given = ["last fri", -1, 15, "First Monday", 1, -2, 15, "first mon"]
    assert Monthly(on=given, at="09:00").on == (1, 15, -2, -1, "first mon", "last fri")  # type: ignore[arg-type]
    assert Monthly(on=31, at="09:00").on == (31,)
    assert Monthly(on="third wed", at="09:00").on == ("third wed",)


@pytest.mark.parametrize(
    ("kind", "arguments", "code", "field", "message"),
    [
        (Daily, {"at": []}, "no_times", "at", "Enter at least one time such as 07:30."),
        (Daily, {"at": None}, "no_times", "at", "at least one time"),
        (Daily, {"at": [None]}, "time_unreadable", "at", "Enter a time such as 07:30; None is not one."),
        (Daily, {"at": "noon"}, "time_unreadable", "at", "'noon' is not one."),
        (Daily, {"at": "9"}, "time_unreadable", "at", "'9' is not one."),
        (Daily, {"at": "09:00:00.5"}, "time_unreadable", "at", "is not one."),
        (Daily, {"at": "٠٩:00"}, "time_unreadable", "at", "is not one."),
        (Daily, {"at": b"09:00"}, "time_unreadable", "at", "is not one."),
        (Daily, {"at": 9}, "time_unreadable", "at", "9 is not one."),
        (
            Daily,
            {"at": time(9, tzinfo=UTC)},
            "time_unreadable",
            "at",
            "without a zone; 09:00:00[+]00:00 is not",
        ),
        (
            Daily,
            {"at": time(9, 0, 0, 5)},
            "time_unreadable",
            "at",
            "in whole seconds .* 09:00:00.000005 is not",
        ),
        (Daily, {"at": "24:00"}, "hour_out_of_range", "at", "Hour must be from 0 to 23 in '24:00'."),
        (Daily, {"at": "23:60"}, "minute_out_of_range", "at", "Minute must be from 0 to 59 in '23:60'."),
        (
            Daily,
            {"at": "23:59:60"},
            "second_out_of_range",
            "at",
            "Second must be from 0 to 59 in '23:59:60'.",
        ),
        (Daily, {"every": 0, "at": "09:00"}, "zero_interval", "every", "Interval must be more than 0."),
        (
            Weekly,
            {"every": -1, "on": "mon", "at": "09:00"},
            "negative_interval",
            "every",
            "must be more than 0",
        ),
        (Monthly, {"every": 1.5, "on": 1, "at": "09:00"}, "interval_not_whole", "every", "1.5 is not one."),
        (Daily, {"every": True, "at": "09:00"}, "interval_not_whole", "every", "True is not one."),
        (Daily, {"every": "2", "at": "09:00"}, "interval_not_whole", "every", "'2' is not one."),
        (Weekly, {"on": [], "at": "09:00"}, "no_days", "on", "Choose at least one weekday."),
        (Weekly, {"on": None, "at": "09:00"}, "no_days", "on", "at least one weekday"),
        (
            Weekly,
            {"on": [1], "at": "09:00"},
            "weekday_unknown",
            "on",
            "Write the weekday as a name, such as mon",
        ),
        (
            Weekly,
            {"on": ["1"], "at": "09:00"},
            "weekday_unknown",
            "on",
            "'1' is not a weekday; write sun, mon",
        ),
        (Weekly, {"on": ["mnday"], "at": "09:00"}, "weekday_unknown", "on", r"Did you mean monday\?"),
        (
            Weekly,
            {"on": "mon", "at": "09:00", "week_start": "x"},
            "weekday_unknown",
            "week_start",
            "'x' is not a weekday",
        ),
        (Monthly, {"on": [], "at": "09:00"}, "no_days", "on", "Choose at least one day."),
        (
            Monthly,
            {"on": [0], "at": "09:00"},
            "day_out_of_range",
            "on",
            "from -1 .the last. to -31; 0 is not.",
        ),
        (Monthly, {"on": [32], "at": "09:00"}, "day_out_of_range", "on", "32 is not."),
        (Monthly, {"on": [-32], "at": "09:00"}, "day_out_of_range", "on", "-32 is not."),
        (
            Monthly,
            {"on": [True], "at": "09:00"},
            "day_unreadable",
            "on",
            "True is not a day of the month. Write 15, -1",
        ),
        (Monthly, {"on": ["15"], "at": "09:00"}, "day_unreadable", "on", "'15' is not a day of the month."),
        (Monthly, {"on": ["sixth mon"], "at": "09:00"}, "day_unreadable", "on", "'sixth mon' is not a day"),
        (Monthly, {"on": ["first"], "at": "09:00"}, "day_unreadable", "on", "'first' is not a day"),
        (
            Monthly,
            {"on": ["first mon fri"], "at": "09:00"},
            "day_unreadable",
            "on",
            "'first mon fri' is not a day",
        ),
        (Monthly, {"on": ["first day"], "at": "09:00"}, "weekday_unknown", "on", "'day' is not a weekday"),
        (Monthly, {"on": [1.0], "at": "09:00"}, "day_unreadable", "on", "1.0 is not a day"),
    ],
)
def test_what_cannot_be_is_refused(
    kind: Any, arguments: dict[str, Any], code: str, field: str, message: str
) -> None:
    with pytest.raises(ScheduleError, match=message) as refused:
        kind(**arguments)
    assert (refused.value.code, refused.value.field) == (code, field)


@pytest.mark.parametrize("value", [1, 28, 29, 31, -1, -31])
def test_the_outermost_days_are_days(value: int) -> None:
    assert Monthly(on=value, at="23:59:59").on == (value,)


def test_a_week_may_begin_on_monday() -> None:
    # 2026-01-07 is a Wednesday; the Sunday after it belongs to its week only if weeks begin on Monday.
    sunday_weeks = Weekly(every=2, on=["sun", "fri"], at="12:00")
    monday_weeks = Weekly(every=2, on=["sun", "fri"], at="12:00", week_start="monday")
    assert dates(sunday_weeks, 3, "2026-01-07") == ["2026-01-09", "2026-01-18", "2026-01-23"]
    assert dates(monday_weeks, 3, "2026-01-07") == ["2026-01-09", "2026-01-11", "2026-01-23"]


def test_a_week_that_begins_on_its_anchor() -> None:
    # Every second week that begins on Wednesday, from Wednesday 2026-01-07 on.
    schedule = Weekly(every=2, on=["tue", "wed"], at="12:00", week_start="wed")
    assert dates(schedule, 4, "2026-01-07") == ["2026-01-07", "2026-01-13", "2026-01-21", "2026-01-27"]


def test_numbered_weekdays() -> None:
    schedule = Monthly(on=["first mon", "last fri"], at="08:00")
    assert dates(schedule, 4, "2026-05-31") == ["2026-06-01", "2026-06-26", "2026-07-06", "2026-07-31"]


@pytest.mark.parametrize(
    ("ordinal", "day"), [("first", 6), ("second", 13), ("third", 20), ("fourth", 27), ("last", 27)]
)
def test_an_ordinal_says_which_weekday_of_the_month(ordinal: str, day: int) -> None:
    # 6 April 2026 is a Monday.
    assert dates(Monthly(on=f"{ordinal} mon", at="08:00"), 1, "2026-04-01") == [f"2026-04-{day:02}"]


def test_a_fifth_weekday_comes_only_in_some_months() -> None:
    assert dates(Monthly(on="fifth mon", at="08:00"), 3, "2026-01-01") == [
        "2026-03-30",
        "2026-06-29",
        "2026-08-31",
    ]


def test_a_day_that_is_picked_twice_fires_once() -> None:
    assert dates(Monthly(on=[31, -1, "last sat"], at="08:00"), 2, "2026-01-30 12:00") == [
        "2026-01-31",
        "2026-02-28",
    ]


def test_day_29_every_84_months_is_found() -> None:
    # February 2024 + 7 years each: 2052 is the next leap year among them, then 2080; 2108.
    assert dates(Monthly(every=84, on=29, at="08:00"), 3, "2024-02-29 09:00") == [
        "2052-02-29",
        "2080-02-29",
        "2108-02-29",
    ]


def test_a_day_that_never_comes_is_not_searched_for_ever() -> None:
    schedule = Monthly(every=12, on=31, at="08:00")
    assert schedule.next_after(utc("2026-02-01"), **terms(anchor="2026-02-01")) is None
    assert schedule.latest_before(utc("2426-02-01"), **terms(anchor="2026-02-01")) is None
    assert schedule.count_between(utc("2026-02-01"), utc("3026-02-01"), **terms(anchor="2026-02-01")) == 0


def test_a_grid_wider_than_the_calendar_has_one_day() -> None:
    schedule = Daily(every=10**9, at="08:00")
    assert dates(schedule, 2, "2026-01-01") == ["2026-01-01"]
    assert schedule.latest_before(utc("2426-01-01"), **terms()) == utc("2026-01-01 08:00")


def test_an_anchor_that_is_a_tick_itself_is_none() -> None:
    schedule = Daily(at="09:00")
    assert schedule.latest_before(utc("2026-01-01 09:30"), **terms(anchor="2026-01-01 09:00")) is None
    assert schedule.next_after(utc("2026-01-01 08:30"), **terms(anchor="2026-01-01 09:00")) == utc(
        "2026-01-02 09:00"
    )


def test_every_three_days_keeps_its_local_time() -> None:
    schedule = Daily(every=3, at="11:00")
    ticks = schedule.preview(
        30, after=utc("2026-01-29 05:00"), **terms("America/New_York", "2026-01-29 05:00")
    )
    local = [tick.astimezone(terms("America/New_York")["zone"]) for tick in ticks]
    assert [moment.date().isoformat() for moment in local[:3]] == ["2026-01-29", "2026-02-01", "2026-02-04"]
    assert {moment.time() for moment in local} == {time(11)}
    assert {(later.date() - earlier.date()).days for earlier, later in pairwise(local)} == {3}


def test_ticks_have_no_microseconds_whatever_the_anchor() -> None:
    anchor = "2026-01-01 08:59:59.437"
    tick = Daily(at="09:00").next_after(utc(anchor), **terms(anchor=anchor))
    assert tick == datetime(2026, 1, 1, 9, tzinfo=UTC)


def test_json_is_plain() -> None:
    assert Daily(every=2, at=["09:00", "17:30:15"]).to_dict() == {
        "kind": "daily",
        "version": 1,
        "every": 2,
        "at": ["09:00", "17:30:15"],
    }
    assert Weekly(on="mon", at="09:00", week_start="mon").to_dict() == {
        "kind": "weekly",
        "version": 1,
        "every": 1,
        "on": ["mon"],
        "at": ["09:00"],
        "week_start": "mon",
    }
    assert Monthly(on=[1, -1, "first mon"], at="09:00").to_dict() == {
        "kind": "monthly",
        "version": 1,
        "every": 1,
        "on": [1, -1, "first mon"],
        "at": ["09:00"],
    }
