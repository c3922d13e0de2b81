"""The stretches of a zone's clock, held against readings hour by hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from django_gocron.schedules.wallclock import MARGIN, PROBE, Stretch, offset_at, stretches

HOUR = timedelta(hours=1)


def naive(text: str) -> datetime:
    return datetime.fromisoformat(text)


def reading(zone: str, instant: datetime) -> timedelta:
    offset = instant.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return offset


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"])
def test_an_offset_is_what_the_clock_is_ahead_of_utc(zone: str) -> None:
    for month in range(1, 13):
        instant = datetime(2026, month, 1, 12, 34, 56, 789)  # noqa: DTZ001
        assert offset_at(ZoneInfo(zone), instant) == reading(zone, instant)


@pytest.mark.parametrize(
    ("zone", "begin", "end"),
    [
        ("America/New_York", "2026-01-01", "2027-01-01"),
        ("Australia/Lord_Howe", "2026-01-01", "2027-01-01"),
        ("Pacific/Apia", "2011-01-01", "2012-06-01"),
        ("Africa/Casablanca", "2026-01-01", "2027-01-01"),
        ("Antarctica/Troll", "2026-01-01", "2027-01-01"),
        ("America/Noronha", "2000-09-01", "2000-12-01"),
        ("Africa/Freetown", "1939-08-01", "1939-10-01"),
        ("Asia/Gaza", "2040-01-01", "2041-01-01"),
        ("Asia/Kolkata", "2026-01-01", "2026-03-01"),
    ],
)
def test_stretches_say_what_the_clock_reads(zone: str, begin: str, end: str) -> None:
    found = list(stretches(ZoneInfo(zone), naive(begin), naive(end)))
    assert found[0].start == naive(begin) - MARGIN
    assert found[-1].end == naive(end) + MARGIN
    for earlier, later in pairwise(found):
        assert (earlier.end, earlier.offset, earlier.after) == (later.start, later.before, later.offset)
        assert earlier.offset != later.offset
        assert reading(zone, later.start - timedelta(seconds=1)) == earlier.offset
        assert reading(zone, later.start) == later.offset
    instant, numbers = found[0].start, iter(found)
    stretch = next(numbers)
    while instant < found[-1].end:
        if instant >= stretch.end:
            stretch = next(numbers)
        assert reading(zone, instant) == stretch.offset, instant
        instant += HOUR


def test_the_outermost_stretches_move_nothing() -> None:
    found = list(stretches(ZoneInfo("America/New_York"), naive("2026-01-01"), naive("2027-01-01")))
    assert found[0].before == found[0].offset
    assert found[-1].after == found[-1].offset
    assert [(each.end - each.start).days for each in found] == [67, 237, 61]


def test_a_change_is_found_to_the_second_wherever_the_span_begins() -> None:
    eight = naive("2026-03-08 07:00")
    for shift in range(0, 400, 7):
        begin = eight - timedelta(minutes=13 * shift, seconds=shift, microseconds=shift)
        found = list(stretches(ZoneInfo("America/New_York"), begin, eight))
        assert [each.start for each in found[1:]] == [eight]


@pytest.mark.parametrize(("past_the_margin", "stretches_seen"), [(-1, 1), (0, 1), (1, 2)])
def test_a_change_is_seen_up_to_the_margin(past_the_margin: int, stretches_seen: int) -> None:
    end = naive("2026-03-08 07:00") - MARGIN + timedelta(seconds=past_the_margin)
    assert len(list(stretches(ZoneInfo("America/New_York"), naive("2026-03-01"), end))) == stretches_seen


def test_a_fixed_offset_is_one_stretch() -> None:
    zone = timezone(timedelta(hours=5))
    begin, end = naive("2026-01-01"), naive("2026-01-02")
    five = timedelta(hours=5)
    assert list(stretches(zone, begin, end)) == [Stretch(begin - MARGIN, end + MARGIN, five, five, five)]


@pytest.mark.parametrize(
    ("zone", "begin", "end"),
    [
        ("Africa/Freetown", "1939-06-01", "1940-06-01"),
        ("America/Boa_Vista", "2000-06-01", "2001-06-01"),
        ("Asia/Gaza", "2040-01-01", "2041-01-01"),
        ("America/Juneau", "1867-06-01", "1901-01-01"),
        ("Asia/Manila", "1844-06-01", "1936-12-01"),
        ("Pacific/Kwajalein", "1969-01-01", "1994-01-01"),
    ],
)
def test_the_wildest_zones_stay_within_what_is_taken_for_granted(zone: str, begin: str, end: str) -> None:
    """Changes are further apart than two readings, and none is as large as the margin; read every six hours."""
    instant, changes = naive(begin), []
    offset = reading(zone, instant)
    while instant < naive(end):
        instant += 6 * HOUR
        new = reading(zone, instant)
        if new != offset:
            changes.append(instant)
            assert abs(new - offset) < MARGIN
        offset = new
    assert len(changes) >= 2
    assert min(later - earlier for earlier, later in pairwise(changes)) > PROBE
