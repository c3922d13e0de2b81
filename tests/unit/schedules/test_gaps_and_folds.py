"""Fixed times where clocks are moved: the policies, the zones that do it in odd ways, and the faults others had."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.schedules import Cron, Daily, Monthly, Schedule, Weekly
from tests.unit.schedules.moments import terms, utc

NEW_YORK = "America/New_York"
"""02:00 to 03:00 is missing on 8 March 2026 (at 07:00 UTC), 01:00 to 02:00 comes twice on 1 November (05:00, 06:00)."""


def ticks(schedule: Schedule, zone: str, after: str, n: int = 3, **policy: Any) -> list[str]:
    """Local times with their offset."""
    found = schedule.preview(n, after=utc(after), **terms(zone, after), **policy)
    return [f"{moment.astimezone(ZoneInfo(zone)):%d %H:%M%z}" for moment in found]


HALF_PAST_TWO = [Daily(at="02:30"), Cron("30 2 * * *"), Weekly(on=["sat", "sun", "mon"], at="02:30")]


@pytest.mark.parametrize("schedule", HALF_PAST_TWO, ids=repr)
def test_a_time_that_a_gap_swallowed_runs_right_after_it(schedule: Schedule) -> None:
    assert ticks(schedule, NEW_YORK, "2026-03-07 12:00", 2) == ["08 03:00-0400", "09 02:30-0400"]


@pytest.mark.parametrize("schedule", HALF_PAST_TWO, ids=repr)
def test_a_time_that_a_gap_swallowed_can_be_skipped(schedule: Schedule) -> None:
    assert ticks(schedule, NEW_YORK, "2026-03-06 12:00", 2, gap="skip") == ["07 02:30-0500", "09 02:30-0400"]


def test_the_grid_is_kept_where_a_gap_is_skipped() -> None:
    assert ticks(Daily(every=2, at="02:30"), NEW_YORK, "2026-03-06 05:30", 3, gap="skip") == [
        "06 02:30-0500",
        "10 02:30-0400",
        "12 02:30-0400",
    ]
    assert ticks(Monthly(on=8, at="02:30"), NEW_YORK, "2026-03-01 12:00", 1, gap="skip") == ["08 02:30-0400"]


def test_several_times_in_one_gap_collapse() -> None:
    schedule = Daily(at=["02:00", "02:15", "02:59:59", "03:00", "03:01"])
    assert ticks(schedule, NEW_YORK, "2026-03-08 06:00", 3) == [
        "08 03:00-0400",
        "08 03:01-0400",
        "09 02:00-0400",
    ]
    span = utc("2026-03-08 06:00"), utc("2026-03-08 12:00")
    assert schedule.count_between(*span, **terms(NEW_YORK)) == 2
    assert schedule.count_between(*span, **terms(NEW_YORK), gap="skip") == 2
    assert Daily(at=["02:00", "02:59"]).count_between(*span, **terms(NEW_YORK)) == 1
    assert Daily(at=["02:00", "02:59"]).count_between(*span, **terms(NEW_YORK), gap="skip") == 0


def test_the_time_at_the_end_of_a_gap_is_no_part_of_it() -> None:
    assert ticks(Daily(at="03:00"), NEW_YORK, "2026-03-08 06:00", 1, gap="skip") == ["08 03:00-0400"]


FOLDS = {
    "first": ["01 01:30-0400", "02 01:30-0500"],
    "second": ["01 01:30-0500", "02 01:30-0500"],
    "both": ["01 01:30-0400", "01 01:30-0500"],
}


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("schedule", [Daily(at="01:30"), Cron("30 1 * * *")], ids=repr)
def test_a_time_that_a_fold_repeats_runs_in_the_passes_that_are_asked_for(
    schedule: Schedule, fold: str
) -> None:
    assert ticks(schedule, NEW_YORK, "2026-10-31 12:00", 2, fold=fold) == FOLDS[fold]


@pytest.mark.parametrize(
    ("fold", "after", "expected"),
    [
        ("first", "2026-11-01 05:10", "01 01:30-0400"),
        ("first", "2026-11-01 05:30", "02 01:30-0500"),
        ("first", "2026-11-01 06:10", "02 01:30-0500"),
        ("second", "2026-11-01 05:10", "01 01:30-0500"),
        ("second", "2026-11-01 05:45", "01 01:30-0500"),
        ("second", "2026-11-01 06:30", "02 01:30-0500"),
        ("both", "2026-11-01 05:30", "01 01:30-0500"),
        ("both", "2026-11-01 06:30", "02 01:30-0500"),
    ],
)
def test_what_comes_next_inside_a_fold(fold: str, after: str, expected: str) -> None:
    assert ticks(Daily(at="01:30"), NEW_YORK, after, 1, fold=fold) == [expected]


@pytest.mark.parametrize(
    ("fold", "moment", "expected"),
    [
        ("first", "2026-11-01 07:00", "2026-11-01 05:30"),
        ("first", "2026-11-01 05:29", "2026-10-31 05:30"),
        ("second", "2026-11-01 07:00", "2026-11-01 06:30"),
        ("second", "2026-11-01 06:29", "2026-10-31 05:30"),
        ("both", "2026-11-01 06:29", "2026-11-01 05:30"),
        ("both", "2026-11-01 06:30", "2026-11-01 06:30"),
    ],
)
def test_what_came_last_inside_a_fold(fold: str, moment: str, expected: str) -> None:
    latest = Daily(at="01:30").latest_before(utc(moment), **terms(NEW_YORK), fold=fold)
    assert latest == utc(expected)


@pytest.mark.parametrize(
    ("policy", "moment", "expected"),
    [
        ({}, "2026-03-08 06:59", "2026-03-07 07:30"),
        ({}, "2026-03-08 07:00", "2026-03-08 07:00"),
        ({}, "2026-03-09 06:29", "2026-03-08 07:00"),
        ({"gap": "skip"}, "2026-03-09 06:29", "2026-03-07 07:30"),
        ({"gap": "skip"}, "2026-03-09 06:30", "2026-03-09 06:30"),
    ],
)
def test_what_came_last_around_a_gap(policy: dict[str, Any], moment: str, expected: str) -> None:
    assert Daily(at="02:30").latest_before(utc(moment), **terms(NEW_YORK), **policy) == utc(expected)


@pytest.mark.parametrize(("fold", "count"), [("first", 3), ("second", 3), ("both", 4)])
def test_counting_over_a_fold(fold: str, count: int) -> None:
    span = utc("2026-10-31 00:00"), utc("2026-11-02 12:00")
    assert Daily(at="01:30").count_between(*span, **terms(NEW_YORK), fold=fold) == count


@pytest.mark.parametrize("policy", [{"gap": "skip"}, {"fold": "first"}, {"fold": "second"}])
def test_wildcard_schedules_have_no_policies(policy: dict[str, Any]) -> None:
    spring = ["08 01:30-0500", "08 03:00-0400", "08 03:30-0400"]
    autumn = ["01 01:30-0400", "01 01:00-0500", "01 01:30-0500"]
    assert ticks(Cron("*/30 * * * *"), NEW_YORK, "2026-03-08 06:10", 3, **policy) == spring
    assert ticks(Cron("0/30 */1 * * *"), NEW_YORK, "2026-11-01 05:10", 3, **policy) == autumn


def test_b30_an_hour_of_the_night_runs_once_a_date() -> None:
    assert ticks(Cron("30 1 * * *"), NEW_YORK, "2026-10-31 00:00") == [
        "31 01:30-0400",
        "01 01:30-0400",
        "02 01:30-0500",
    ]
    assert ticks(Cron("30 2 * * *"), NEW_YORK, "2026-03-08 00:00", 2) == ["08 03:00-0400", "09 02:30-0400"]


def test_b30_every_hour_follows_elapsed_time() -> None:
    assert ticks(Cron("0 * * * *"), NEW_YORK, "2026-11-01 03:30", 4) == [
        "01 00:00-0400",
        "01 01:00-0400",
        "01 01:00-0500",
        "01 02:00-0500",
    ]
    assert ticks(Cron("*/15 * * * *"), NEW_YORK, "2026-03-08 06:40", 3) == [
        "08 01:45-0500",
        "08 03:00-0400",
        "08 03:15-0400",
    ]


def test_b30_a_shift_of_half_an_hour() -> None:
    assert ticks(Cron("15 2 * * *"), "Australia/Lord_Howe", "2026-10-03 12:00", 2) == [
        "04 02:30+1100",
        "05 02:15+1100",
    ]


def test_b30_midnight_may_be_missing() -> None:
    assert ticks(Cron("0 0 * * *"), "America/Santiago", "2026-09-05 12:00", 2) == [
        "06 01:00-0300",
        "07 00:00-0300",
    ]


def test_b30_a_whole_day_may_be_missing() -> None:
    assert ticks(Cron("30 10 * * *"), "Pacific/Apia", "2011-12-29 12:00") == [
        "29 10:30-1000",
        "31 00:00+1400",
        "31 10:30+1400",
    ]


def test_the_first_tick_after_a_change_may_be_two_days_away() -> None:
    schedule = Weekly(on="mon", at="20:00")
    assert ticks(schedule, NEW_YORK, "2026-03-08 06:00", 2) == ["09 20:00-0400", "16 20:00-0400"]


def test_two_changes_within_a_week_are_both_seen() -> None:
    # Noronha tried summer time from 8 to 15 October 2000.
    schedule = Weekly(on="sat", at="00:30")
    assert ticks(schedule, "America/Noronha", "2000-10-09 00:00", 2) == ["14 00:30-0100", "21 00:30-0200"]


def test_b30_a_leap_over_the_date_line_lies_far_ahead() -> None:
    # Asked right after a fold in April, when Apia was still 24 hours behind.
    schedule = Cron("*/25 * * 2 jan *")
    first = schedule.next_after(utc("2011-04-02 15:40"), **terms("Pacific/Apia", "2011-04-02 15:40"))
    assert first == utc("2012-01-01 10:00")


def test_b30_a_day_may_come_twice() -> None:
    # Kwajalein moved to the other side of the date line: 30 September 1969 lasted for 47 hours.
    noon = Daily(at="12:00")
    assert ticks(noon, "Pacific/Kwajalein", "1969-09-29 12:00") == [
        "30 12:00+1100",
        "01 12:00-1200",
        "02 12:00-1200",
    ]
    assert ticks(noon, "Pacific/Kwajalein", "1969-09-29 12:00", fold="both") == [
        "30 12:00+1100",
        "30 12:00-1200",
        "01 12:00-1200",
    ]


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        ("Asia/Jakarta", "25 8 * * *", "2026-06-01 00:00", "2026-06-01 01:25"),
        ("Europe/Brussels", "30 10 * * 1", "2026-07-01 00:00", "2026-07-06 08:30"),
        ("Europe/Brussels", "30 10 * * 1", "2026-01-01 00:00", "2026-01-05 09:30"),
    ],
)
def test_b33_wall_times_are_read_in_the_zone_of_the_job(
    zone: str, expression: str, after: str, expected: str
) -> None:
    assert Cron(expression).next_after(utc(after), **terms(zone, after)) == utc(expected)


def test_b37_the_last_day_and_the_first_tuesday() -> None:
    last = Cron("0 0 L * *").preview(2, after=utc("2026-01-15"), **terms())
    assert last == [utc("2026-01-31"), utc("2026-02-28")]
    first = Cron("0 4 * * 2#1").preview(2, after=utc("2026-01-15"), **terms())
    assert first == [utc("2026-02-03 04:00"), utc("2026-03-03 04:00")]


@pytest.mark.parametrize("fold", ["first", "second", "both"])
@pytest.mark.parametrize("zone", ["Antarctica/Troll", "Africa/Casablanca", "Europe/Dublin", "Pacific/Apia"])
def test_a_rare_day_is_found_across_many_changes(zone: str, fold: str) -> None:
    schedule = Cron("30 12 29 2 *")
    first = schedule.next_after(utc("2009-01-01"), **terms(zone, "2009-01-01"), fold=fold)
    assert first is not None
    assert first.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == datetime(2012, 2, 29, 12, 30)  # noqa: DTZ001
    later = utc("2015-12-01")
    assert schedule.latest_before(later, **terms(zone, "2009-01-01"), fold=fold) == first
    assert schedule.count_between(utc("2009-01-01"), later, **terms(zone, "2009-01-01"), fold=fold) == 1
