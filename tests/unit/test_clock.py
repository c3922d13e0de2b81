from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from django_gocron import clock as clocks
from django_gocron.clock import Reading, SystemClock
from django_gocron.testing import FakeClock

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
NOTHING = timedelta(0)


class Host:
    """A host whose clocks are set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = NOON
        self.since_boot = 1000.0
        monkeypatch.setattr(clocks, "host_now", lambda: self.wall)
        monkeypatch.setattr(clocks, "boottime", lambda: self.since_boot)

    def pass_time(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.since_boot += seconds


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


on_a_host = pytest.mark.usefixtures("host")


def reading(offset: timedelta, round_trip: timedelta = MILLISECOND, *, after: float = 0.0) -> Reading:
    """``after`` is in seconds since the host of these tests was met."""
    return Reading(offset=offset, round_trip=round_trip, boottime=1000.0 + after)


# The host's clock


@on_a_host
def test_begins_with_the_hosts_wall_clock():
    assert SystemClock().now() == NOON


def test_goes_on_with_the_time_since_boot(host: Host):
    clock = SystemClock()
    host.pass_time(90.5)
    assert clock.now() == NOON + timedelta(seconds=90.5)
    assert clock.boottime() == 1090.5


@pytest.mark.parametrize("step", [timedelta(hours=-2), timedelta(days=3652)])
def test_does_not_follow_a_step_of_the_hosts_wall_clock(host: Host, step: timedelta):
    clock = SystemClock()
    host.wall += step
    assert clock.now() == NOON


def test_counts_the_time_asleep(host: Host):
    """The time since boot goes on while a laptop sleeps; the wall clock is set when it wakes."""
    clock = SystemClock()
    host.pass_time(8 * 3600)
    assert clock.now() == NOON + timedelta(hours=8)


def test_the_hosts_wall_clock_is_aware_and_in_utc():
    assert clocks.host_now().tzinfo is UTC


def test_the_time_since_boot_never_steps_back():
    moments = [clocks.boottime() for _ in range(100)]
    assert moments == sorted(moments)


def test_a_pause_that_is_over_does_not_sleep(monkeypatch: pytest.MonkeyPatch):
    slept: list[float] = []
    monkeypatch.setattr("django_gocron.clock.time.sleep", slept.append)
    clocks.pause(-1)
    clocks.pause(0)
    SystemClock().sleep(0.25)
    assert slept == [0.25]


# The database's clock


@on_a_host
def test_adds_the_difference_to_the_databases_clock():
    clock = SystemClock()
    assert clock.adopt(reading(timedelta(seconds=-3))) == NOTHING
    assert clock.now() == NOON - timedelta(seconds=3)
    assert clock.local() == NOON
    assert clock.offset == timedelta(seconds=-3)


@on_a_host
def test_there_is_no_difference_before_the_first_reading():
    assert SystemClock().offset == NOTHING


@on_a_host
def test_a_better_reading_replaces_a_worse_one():
    clock = SystemClock()
    clock.adopt(reading(20 * MILLISECOND, 10 * MILLISECOND))
    assert clock.adopt(reading(17 * MILLISECOND, MILLISECOND)) == NOTHING
    assert clock.offset == 17 * MILLISECOND


@on_a_host
def test_an_equally_good_reading_replaces_an_older_one():
    clock = SystemClock()
    clock.adopt(reading(20 * MILLISECOND))
    clock.adopt(reading(21 * MILLISECOND, after=10))
    assert clock.offset == 21 * MILLISECOND


@on_a_host
def test_a_worse_reading_does_not_replace_a_better_one():
    clock = SystemClock()
    clock.adopt(reading(20 * MILLISECOND, MILLISECOND))
    assert clock.adopt(reading(25 * MILLISECOND, 10 * MILLISECOND, after=600)) == NOTHING
    assert clock.offset == 20 * MILLISECOND


@on_a_host
def test_a_worse_reading_replaces_a_better_one_of_more_than_ten_minutes_ago():
    clock = SystemClock()
    clock.adopt(reading(20 * MILLISECOND, MILLISECOND))
    assert clock.adopt(reading(25 * MILLISECOND, 10 * MILLISECOND, after=600.1)) == NOTHING
    assert clock.offset == 25 * MILLISECOND


@on_a_host
def test_two_readings_that_cannot_both_be_true_are_a_jump():
    clock = SystemClock()
    clock.adopt(reading(NOTHING, 2 * MILLISECOND))
    assert clock.adopt(reading(54 * MILLISECOND, 6 * MILLISECOND)) == NOTHING
    assert clock.adopt(reading(55 * MILLISECOND, 6 * MILLISECOND)) == 55 * MILLISECOND
    assert clock.offset == 55 * MILLISECOND


@on_a_host
@pytest.mark.parametrize("jump", [timedelta(hours=-2), timedelta(days=3652)])
def test_a_jump_is_followed_even_by_a_worse_reading(jump: timedelta):
    clock = SystemClock()
    clock.adopt(reading(NOTHING, MILLISECOND))
    assert clock.adopt(reading(jump, 90 * MILLISECOND, after=10)) == jump
    assert clock.offset == jump


@on_a_host
def test_a_jump_is_told_once():
    clock = SystemClock()
    clock.adopt(reading(NOTHING))
    clock.adopt(reading(timedelta(hours=1)))
    assert clock.adopt(reading(timedelta(hours=1))) == NOTHING


@on_a_host
def test_a_reading_that_took_too_long_says_nothing():
    clock = SystemClock()
    clock.adopt(reading(20 * MILLISECOND))
    assert clock.adopt(reading(timedelta(hours=1), 101 * MILLISECOND)) == NOTHING
    assert clock.offset == 20 * MILLISECOND


@on_a_host
def test_a_reading_that_took_too_long_is_better_than_none():
    clock = SystemClock()
    clock.adopt(reading(timedelta(seconds=3), 200 * MILLISECOND))
    assert clock.offset == timedelta(seconds=3)


@on_a_host
def test_where_all_readings_take_long_the_clock_still_follows_the_databases():
    clock = SystemClock()
    clock.adopt(reading(timedelta(seconds=3), 200 * MILLISECOND))
    clock.adopt(reading(timedelta(seconds=3) + 40 * MILLISECOND, 200 * MILLISECOND, after=601))
    assert clock.offset == timedelta(seconds=3) + 40 * MILLISECOND


# The clock of tests


def test_a_fake_clock_stands_still():
    clock = FakeClock(NOON)
    assert (clock.now(), clock.now(), clock.boottime()) == (NOON, NOON, 0.0)


def test_a_fake_clock_moves_when_told_to():
    clock = FakeClock(NOON)
    assert clock.advance(30) == NOON + timedelta(seconds=30)
    clock.advance(timedelta(minutes=1))
    clock.sleep(0.5)
    assert clock.now() == NOON + timedelta(seconds=90.5)
    assert clock.boottime() == 90.5


def test_setting_a_fake_clock_is_a_step_of_the_wall_clock():
    clock = FakeClock(NOON)
    clock.set(NOON - timedelta(hours=2))
    assert (clock.now(), clock.boottime()) == (NOON - timedelta(hours=2), 0.0)


def test_a_fake_clock_has_an_instant_of_its_own():
    assert FakeClock().now().tzinfo is UTC
