"""What holds for every kind of schedule."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly
from tests.unit.schedules.moments import terms, utc

SCHEDULES = [
    Cron("*/7 3 * * mon-fri"),
    Cron("30 2 * * *", timezone="Europe/Berlin"),
    Cron("TZ=Asia/Kolkata 15 4 L * *"),
    Every(minutes=10),
    EveryRandom(60, 300),
    Daily(every=2, at=["09:00", "17:30:15"]),
    Weekly(every=2, on=["mon", "thu"], at="09:00", week_start="mon"),
    Monthly(every=3, on=[1, -1, "first mon"], at="06:00"),
    OneTime([utc("2026-02-01 12:00"), utc("2026-02-03 12:00"), utc("2027-01-01 00:00")]),
]
each_kind = pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)


@each_kind
def test_ticks_ascend_and_are_aware_utc(schedule: Schedule) -> None:
    ticks = schedule.preview(5, after=utc("2026-01-05 08:00"), **terms())
    assert all(earlier < later for earlier, later in pairwise([utc("2026-01-05 08:00"), *ticks]))
    assert all(tick.tzinfo is UTC for tick in ticks)


@each_kind
def test_any_aware_moment_is_the_instant_it_names(schedule: Schedule) -> None:
    moment = utc("2026-01-05 08:00")
    elsewhere = moment.astimezone(timezone(timedelta(hours=-11)))
    assert schedule.next_after(elsewhere, **terms()) == schedule.next_after(moment, **terms())
    assert schedule.latest_before(elsewhere, **terms()) == schedule.latest_before(moment, **terms())


@each_kind
@pytest.mark.parametrize("field", ["moment", "anchor"])
def test_a_moment_without_a_zone_is_refused(schedule: Schedule, field: str) -> None:
    moments = {"moment": utc("2026-01-05 08:00"), "anchor": utc("2026-01-01 00:00")}
    moments[field] = moments[field].replace(tzinfo=None)
    with pytest.raises(ScheduleError, match=field) as refused:
        schedule.next_after(moments["moment"], zone=ZoneInfo("UTC"), anchor=moments["anchor"])
    assert (refused.value.code, refused.value.field) == ("naive_datetime", field)


@each_kind
@pytest.mark.parametrize(("field", "code"), [("gap", "gap_unknown"), ("fold", "fold_unknown")])
def test_an_unknown_policy_is_refused(schedule: Schedule, field: str, code: str) -> None:
    policies: dict[str, Any] = {field: "sideways"}
    with pytest.raises(ScheduleError, match="sideways") as refused:
        schedule.next_after(utc("2026-01-05 08:00"), **terms(), **policies)
    assert (refused.value.code, refused.value.field) == (code, field)


@each_kind
def test_a_zone_that_is_no_zone_is_refused(schedule: Schedule) -> None:
    wrong: Any = "Europe/Berlin"
    with pytest.raises(ScheduleError, match="ZoneInfo") as refused:
        schedule.count_between(
            utc("2026-01-05 08:00"), utc("2026-01-06 08:00"), zone=wrong, anchor=utc("2026-01-01")
        )
    assert (refused.value.code, refused.value.field) == ("timezone_unknown", "zone")


@each_kind
def test_no_tick_is_at_or_before_the_anchor(schedule: Schedule) -> None:
    first = schedule.next_after(utc("2025-01-01 00:00"), **terms())
    assert first is not None
    assert first > utc("2026-01-01 00:00")
    assert schedule.latest_before(utc("2025-12-31 00:00"), **terms()) is None
    assert schedule.latest_before(first - timedelta(microseconds=1), **terms()) is None
    assert schedule.count_between(utc("2025-01-01 00:00"), first, **terms()) == 1


@each_kind
def test_a_tick_is_its_own_latest(schedule: Schedule) -> None:
    for tick in schedule.preview(3, after=utc("2026-01-05 08:00"), **terms()):
        if not isinstance(schedule, EveryRandom):
            assert schedule.latest_before(tick, **terms()) == tick


@each_kind
def test_preview_asks_for_at_most_n(schedule: Schedule) -> None:
    assert len(schedule.preview(2, after=utc("2026-01-05 08:00"), **terms())) == 2
    assert schedule.preview(0, after=utc("2026-01-05 08:00"), **terms()) == []
    assert schedule.preview(-1, after=utc("2026-01-05 08:00"), **terms()) == []


@each_kind
def test_nothing_lies_in_an_empty_span(schedule: Schedule) -> None:
    tick = schedule.next_after(utc("2026-01-05 08:00"), **terms())
    assert tick is not None
    assert schedule.count_between(tick, tick, **terms()) == 0
    assert schedule.count_between(tick, utc("2026-01-01 12:00"), **terms()) == 0


@each_kind
@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_the_calendar_break_nothing(schedule: Schedule, year: int) -> None:
    moment = datetime(year, 1, 1, tzinfo=timezone(timedelta(hours=14 if year == 1 else -12)))
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        following = schedule.next_after(moment, zone=ZoneInfo(zone), anchor=moment)
        assert following is None or following > moment
        assert schedule.latest_before(moment, zone=ZoneInfo(zone), anchor=moment) is None
        assert schedule.count_between(moment, moment, zone=ZoneInfo(zone), anchor=moment) == 0


@each_kind
def test_json_gives_back_an_equal_schedule(schedule: Schedule) -> None:
    data = json.loads(json.dumps(schedule.to_dict()))
    assert (data["kind"], data["version"]) == (schedule.kind, 1)
    assert Schedule.from_dict(data) == schedule


@each_kind
def test_copies_are_equal_values(schedule: Schedule) -> None:
    for twin in (copy.deepcopy(schedule), copy.copy(schedule), pickle.loads(pickle.dumps(schedule))):
        assert twin == schedule
        assert hash(twin) == hash(schedule)
        assert type(twin) is type(schedule)


@each_kind
def test_a_schedule_cannot_be_changed(schedule: Schedule) -> None:
    for name in schedule.__dataclass_fields__:  # type: ignore[attr-defined]
        with pytest.raises(FrozenInstanceError):
            setattr(schedule, name, None)


@each_kind
def test_no_two_of_these_are_equal(schedule: Schedule) -> None:
    assert [other for other in SCHEDULES if other == schedule] == [schedule]


@each_kind
def test_threads_see_the_same_ticks(schedule: Schedule) -> None:
    moments = [utc("2026-01-05 08:00") + timedelta(hours=hour) for hour in range(200)]
    alone = [schedule.next_after(moment, **terms("Europe/Berlin")) for moment in moments]
    fresh = copy.deepcopy(schedule)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda moment: fresh.next_after(moment, **terms("Europe/Berlin")), moments))
    assert together == alone
