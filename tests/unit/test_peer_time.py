"""Faults of time that users of other schedulers have met, under the numbers of our list of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from django_gocron.clock import Reading, SystemClock
from django_gocron.exceptions import ScheduleError
from django_gocron.planning import Definition, Misfire, Progress, plan
from django_gocron.schedules import Cron, Daily, Every, Schedule
from django_gocron.testing import FakeClock

NEW_YORK = ZoneInfo("America/New_York")


def fires(schedule: Schedule, zone_name: str, after: str, n: int) -> list[str]:
    """The next ``n`` instants in local time, with their offsets; ``after`` is local too."""
    zone = ZoneInfo(zone_name)
    start = datetime.fromisoformat(after).replace(tzinfo=zone)
    found = schedule.preview(n, after=start, zone=zone, anchor=start)
    return [instant.astimezone(zone).isoformat(timespec="minutes") for instant in found]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        (
            "30 1 * * *",
            "America/New_York",
            "2026-10-31T00:00",
            ["2026-10-31T01:30-04:00", "2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
        ),
        (
            "0 * * * *",
            "America/New_York",
            "2026-10-31T23:30",
            [
                "2026-11-01T00:00-04:00",
                "2026-11-01T01:00-04:00",
                "2026-11-01T01:00-05:00",
                "2026-11-01T02:00-05:00",
            ],
        ),
        (
            "30 2 * * *",
            "America/New_York",
            "2026-03-07T12:00",
            ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"],
        ),
        (
            "*/15 * * * *",
            "America/New_York",
            "2026-03-08T01:30",
            ["2026-03-08T01:45-05:00", "2026-03-08T03:00-04:00", "2026-03-08T03:15-04:00"],
        ),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", ["2026-10-04T02:30+11:00"]),
        ("0 0 * * *", "America/Santiago", "2026-09-05T12:00", ["2026-09-06T01:00-03:00"]),
        (
            "0 12 * * *",
            "Pacific/Apia",
            "2011-12-29T11:00",
            ["2011-12-29T12:00-10:00", "2011-12-31T00:00+14:00"],
        ),
    ],
)
def test_b30_clocks_go_forward_and_back(expression: str, zone: str, after: str, expected: list[str]) -> None:
    assert fires(Cron(expression), zone, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        ("25 8 * * *", "Asia/Jakarta", "2026-07-01T00:00", datetime(2026, 7, 1, 1, 25, tzinfo=UTC)),
        ("30 10 * * 1", "Europe/Brussels", "2026-07-05T00:00", datetime(2026, 7, 6, 8, 30, tzinfo=UTC)),
        ("30 10 * * 1", "Europe/Brussels", "2026-01-04T00:00", datetime(2026, 1, 5, 9, 30, tzinfo=UTC)),
    ],
)
def test_b33_a_schedule_is_read_in_its_zone(
    expression: str, zone: str, after: str, expected: datetime
) -> None:
    start = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    assert Cron(expression).next_after(start, zone=ZoneInfo(zone), anchor=start) == expected


def test_b33_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ScheduleError) as refused:
        Cron("0 9 * * *", timezone="Mars/X")
    assert refused.value.code == "timezone_unknown"


def definition_of(schedule: Schedule, misfire: Misfire = Misfire.RUN_ONCE) -> Definition:
    return Definition(schedule=schedule, zone=ZoneInfo("UTC"), seed="job", misfire=misfire)


def test_b35_a_step_of_the_hosts_clock_does_not_move_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    before = clock.now()
    monkeypatch.setattr("django_gocron.clock.host_now", lambda: before - timedelta(hours=2))
    assert clock.now() >= before


def test_b35_a_step_of_the_databases_clock_is_followed_at_once() -> None:
    clock = SystemClock()
    quick = timedelta(microseconds=200)
    clock.adopt(Reading(offset=timedelta(0), round_trip=quick, boottime=clock.boottime()))
    slow = timedelta(milliseconds=2)
    jumped = clock.adopt(Reading(offset=timedelta(hours=-2), round_trip=slow, boottime=clock.boottime()))
    assert jumped == timedelta(hours=-2)
    assert clock.offset == timedelta(hours=-2)


def test_b35_after_a_step_back_no_tick_is_planned_again() -> None:
    clock = FakeClock(datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC))
    every_minute = definition_of(Cron("* * * * *"))
    anchor = clock.now() - timedelta(days=1)
    progress = Progress(anchor_at=anchor, next_tick_at=datetime(2026, 5, 1, 12, 1, tzinfo=UTC))
    clock.advance(30)
    first = plan(every_minute, progress, now=clock.now(), horizon=clock.now())
    assert first.next_tick_at is not None
    clock.set(clock.now() - timedelta(hours=2))
    again = plan(
        every_minute,
        Progress(anchor_at=anchor, next_tick_at=first.next_tick_at),
        now=clock.now(),
        horizon=clock.now(),
    )
    assert (again.ticks, again.next_tick_at) == ((), first.next_tick_at)


class CountingSeconds(Schedule, kind="counting_seconds"):
    """Every second, counting what it is asked: the work of a plan, whatever the machine."""

    questions = 0

    def next_after(self, moment: datetime, **where: object) -> datetime:
        type(self).questions += 1
        return Every(seconds=1).next_after(moment, **where)  # type: ignore[return-value,arg-type]

    def latest_before(self, moment: datetime, **where: object) -> datetime:
        type(self).questions += 1
        return Every(seconds=1).latest_before(moment, **where)  # type: ignore[return-value,arg-type]

    def count_between(self, after: datetime, through: datetime, **where: object) -> int:
        type(self).questions += 1
        return Every(seconds=1).count_between(after, through, **where)  # type: ignore[arg-type]

    def describe(self) -> str:
        return "every second"


def test_b35_a_step_of_ten_years_is_one_run_and_bounded_work() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    progress = Progress(anchor_at=start, next_tick_at=start + timedelta(seconds=1))
    later = start + timedelta(days=3652)
    answer = plan(definition_of(CountingSeconds()), progress, now=later, horizon=later + timedelta(seconds=1))
    coalesced = answer.passed[0]
    assert [tick.scheduled_for for tick in answer.ticks] == [later, later + timedelta(seconds=1)]
    assert (coalesced.status, coalesced.count) == ("coalesced", 3652 * 86_400 - 1)
    assert CountingSeconds.questions < 20


@pytest.mark.parametrize(
    ("misfire", "ran", "passed"),
    [
        (Misfire.RUN_ONCE, 1, [("coalesced", 7)]),
        (Misfire.RUN_ALL, 8, []),
        (Misfire.SKIP, 0, [("missed", 8)]),
    ],
)
def test_b35_eight_hours_asleep_follow_the_policy(
    misfire: Misfire, ran: int, passed: list[tuple[str, int]]
) -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    progress = Progress(anchor_at=start, next_tick_at=start + timedelta(hours=1))
    awake = start + timedelta(hours=8, minutes=10)
    answer = plan(definition_of(Every(hours=1), misfire), progress, now=awake, horizon=awake)
    assert len(answer.ticks) == ran
    assert [(row.status, row.count) for row in answer.passed] == passed


def test_b37_every_third_day_keeps_its_wall_time() -> None:
    start = datetime(2026, 1, 29, 9, 0, tzinfo=NEW_YORK)
    found = Daily(every=3, at="11:00").preview(20, after=start, zone=NEW_YORK, anchor=start)
    local = [instant.astimezone(NEW_YORK) for instant in found]
    assert [f"{moment:%d %b}" for moment in local[:3]] == ["29 Jan", "01 Feb", "04 Feb"]
    assert {(moment.hour, moment.minute) for moment in local} == {(11, 0)}
    assert {moment.utcoffset() for moment in local} == {timedelta(hours=-5), timedelta(hours=-4)}


def test_b37_the_last_day_and_the_nth_weekday() -> None:
    assert fires(Cron("0 0 L * *"), "UTC", "2026-01-05T00:00", 2) == [
        "2026-01-31T00:00+00:00",
        "2026-02-28T00:00+00:00",
    ]
    assert fires(Cron("0 4 * * 2#1"), "UTC", "2026-01-01T00:00", 2) == [
        "2026-01-06T04:00+00:00",
        "2026-02-03T04:00+00:00",
    ]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("0 0 31 2 *", "never_fires"),
        ("0 0 31 4,6,9,11 *", "never_fires"),
        ("0 0 1 1 * * 2020", "year_unsupported"),
    ],
)
def test_b39_a_cron_that_never_fires_is_refused(expression: str, code: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        Cron(expression)
    assert refused.value.code == code
