"""Schedules as JSON data, and kinds of other people's making."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Every, Schedule, codec
from tests.unit.schedules.moments import terms, utc

NEW_MOON = datetime(2000, 1, 6, 18, 14, tzinfo=UTC)
MONTH = timedelta(days=29, hours=12, minutes=44)


@pytest.fixture(autouse=True)
def registered_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_kinds", codec.kinds())


def lunar(kind: str = "lunar") -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Lunar(Schedule, kind=kind):
        days_later: int = 0

        def next_after(
            self,
            moment: datetime,
            *,
            zone: tzinfo,
            anchor: datetime,
            gap: str = "run_after",
            fold: str = "first",
            seed: str = "",
        ) -> datetime | None:
            start = NEW_MOON + timedelta(days=self.days_later)
            return start + ((max(moment, anchor) - start) // MONTH + 1) * MONTH

    return Lunar


def test_a_third_party_kind_is_read_by_its_name() -> None:
    schedule = lunar()(3)
    assert schedule.to_dict() == {"kind": "lunar", "version": 1, "days_later": 3}
    assert Schedule.from_dict(schedule.to_dict()) == schedule


def test_a_third_party_gets_previews_and_looks_back_for_nothing() -> None:
    schedule = lunar()()
    ticks = schedule.preview(4, after=utc("2026-01-05 08:00"), **terms())
    assert [later - earlier for earlier, later in pairwise(ticks)] == [MONTH] * 3
    assert schedule.latest_before(ticks[3], **terms()) == ticks[3]
    assert schedule.latest_before(ticks[3] - timedelta(microseconds=1), **terms()) == ticks[2]
    assert schedule.latest_before(ticks[0] - timedelta(microseconds=1), **terms()) is None
    assert schedule.count_between(ticks[0], ticks[3], **terms()) == 3
    assert schedule.describe() == "lunar"


def test_a_third_party_may_not_take_a_kind_that_exists() -> None:
    with pytest.raises(ScheduleError, match=r"'every' is taken by .*Every") as refused:
        lunar(kind="every")
    assert refused.value.code == "duplicate_kind"
    assert codec.kinds()["every"] is Every


def test_a_class_that_was_made_anew_takes_its_own_place() -> None:
    lunar()
    second = lunar()
    assert codec.kinds()["lunar"] is second


def test_an_abstract_schedule_cannot_be_made() -> None:
    class Nothing(Schedule):
        pass

    with pytest.raises(TypeError):
        Nothing()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "unreadable"),
        ([], "unreadable"),
        ("cron", "unreadable"),
        ({}, "unknown_kind"),
        ({"kind": "crom"}, "unknown_kind"),
        ({"kind": ["cron"]}, "unknown_kind"),
        ({"kind": "cron", "version": 2, "expression": "* * * * *"}, "unknown_version"),
        ({"kind": "cron", "version": "1", "expression": "* * * * *"}, "unknown_version"),
        ({"kind": "cron"}, "unreadable"),
        ({"kind": "cron", "expression": None}, "expression_not_text"),
        ({"kind": "cron", "expression": "* * * * *", "colour": "red"}, "unreadable"),
        ({"kind": "cron", "expression": "0 0 31 2 *"}, "never_fires"),
        ({"kind": "cron", "expression": "0 0 * * *", "timezone": "Mars/X"}, "timezone_unknown"),
        ({"kind": "cron", "expression": "0 0 * * *", "timezone": 5}, "timezone_unknown"),
        ({"kind": "cron", "expression": "0 0 * * *", "implementation": {}}, "implementation_unknown"),
        ({"kind": "every"}, "zero_interval"),
        ({"kind": "every", "seconds": "60"}, "duration_unreadable"),
        ({"kind": "every", "seconds": 1e300}, "interval_too_long"),
        ({"kind": "every_random", "min": 5}, "unreadable"),
        ({"kind": "daily", "at": 9}, "time_unreadable"),
        ({"kind": "daily", "at": {"09:00": 1}}, "time_unreadable"),
        ({"kind": "daily"}, "unreadable"),
        ({"kind": "weekly", "on": [1], "at": ["09:00"]}, "weekday_unknown"),
        ({"kind": "weekly", "on": ["mon"], "at": ["09:00"], "week_start": 1}, "weekday_unknown"),
        ({"kind": "monthly", "on": [[1]], "at": ["09:00"]}, "day_unreadable"),
        ({"kind": "one_time", "at": ["tomorrow"]}, "time_unreadable"),
        ({"kind": "one_time", "at": ["2026-01-01T00:00:00"]}, "naive_datetime"),
        ({"kind": "one_time"}, "no_times"),
        ({"kind": "every", 5: 6}, "unreadable"),
    ],
)
def test_data_that_is_no_schedule_is_refused(data: object, code: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        Schedule.from_dict(data)
    assert refused.value.code == code


def test_an_unknown_kind_is_told_what_it_may_have_meant() -> None:
    with pytest.raises(ScheduleError, match=r"'crom' is not a kind of schedule. Did you mean cron\?"):
        Schedule.from_dict({"kind": "crom"})


def test_reading_leaves_the_data_alone() -> None:
    data = {"kind": "every", "version": 1, "seconds": 60}
    Schedule.from_dict(data)
    assert data == {"kind": "every", "version": 1, "seconds": 60}


def test_a_missing_version_is_the_current_one() -> None:
    assert Schedule.from_dict({"kind": "every", "seconds": 60}) == Every(60)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [
    "expression",
    "timezone",
    "implementation",
    "seconds",
    "min",
    "max",
    "every",
    "at",
    "on",
    "week_start",
]


@settings(deadline=None)
@given(
    kind=st.sampled_from(["cron", "every", "every_random", "daily", "weekly", "monthly", "one_time"]),
    fields=st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4),
)
def test_no_json_raises_anything_but_a_schedule_error(kind: str, fields: dict[str, Any]) -> None:
    with suppress(ScheduleError):
        schedule = Schedule.from_dict({"kind": kind, **fields})
        assert Schedule.from_dict(schedule.to_dict()) == schedule
