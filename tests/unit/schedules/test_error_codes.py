"""The page about errors, and that for users of gocron, held against what is raised."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import django_gocron
from django_gocron.exceptions import ScheduleError
from django_gocron.models.validation import RANGES
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Weekly
from tests.parity.names import NAMES

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
OURS = {name.go: name.ours for name in NAMES}
SOURCES = sorted((Path(django_gocron.__file__).parent / "schedules").glob("*.py"))

AT, MON = {"at": "09:00"}, {"on": ["mon"]}
FROM_GO: list[tuple[str, Any, dict[str, Any], str]] = [
    ("ErrCronJobParse", Cron, {"expression": "* * * *"}, "field_count"),
    ("ErrCronJobParse", Cron, {"expression": "60 * * * *"}, "minute_out_of_range"),
    ("ErrCronJobParse", Cron, {"expression": "TZ=X 0 0 * * *"}, "timezone_unknown"),
    ("ErrCronJobInvalid", Cron, {"expression": "* * * 31 FEB *"}, "never_fires"),
    ("ErrDurationJobIntervalZero", Every, {"interval": timedelta(0)}, "zero_interval"),
    ("ErrDurationJobIntervalNegative", Every, {"interval": timedelta(-1)}, "negative_interval"),
    ("ErrDurationRandomJobMinMax", EveryRandom, {"min": 5, "max": 1}, "min_not_below_max"),
    ("ErrDurationRandomJobPositive", EveryRandom, {"min": -1, "max": 1}, "negative_interval"),
    ("ErrDurationRandomJobPositive", EveryRandom, {"min": 0, "max": 1}, "zero_interval"),
    ("ErrDailyJobAtTimesNil", Daily, {"at": None}, "no_times"),
    ("ErrDailyJobAtTimeNil", Daily, {"at": [None]}, "time_unreadable"),
    ("ErrDailyJobHours", Daily, {"at": "100:00"}, "hour_out_of_range"),
    ("ErrDailyJobHours", Daily, {"at": "24:00"}, "hour_out_of_range"),
    ("ErrDailyJobMinutesSeconds", Daily, {"at": "09:60"}, "minute_out_of_range"),
    ("ErrDailyJobMinutesSeconds", Daily, {"at": "09:00:60"}, "second_out_of_range"),
    ("ErrDailyJobZeroInterval", Daily, {"every": 0, **AT}, "zero_interval"),
    ("ErrWeeklyJobDaysOfTheWeekNil", Weekly, {"on": None, **AT}, "no_days"),
    ("ErrWeeklyJobAtTimesNil", Weekly, {**MON, "at": None}, "no_times"),
    ("ErrWeeklyJobAtTimeNil", Weekly, {**MON, "at": [None]}, "time_unreadable"),
    ("ErrWeeklyJobHours", Weekly, {**MON, "at": "24:00"}, "hour_out_of_range"),
    ("ErrWeeklyJobMinutesSeconds", Weekly, {**MON, "at": "09:60"}, "minute_out_of_range"),
    ("ErrWeeklyJobMinutesSeconds", Weekly, {**MON, "at": "09:00:60"}, "second_out_of_range"),
    ("ErrWeeklyJobZeroInterval", Weekly, {"every": 0, **MON, **AT}, "zero_interval"),
    ("ErrMonthlyJobDaysNil", Monthly, {"on": None, **AT}, "no_days"),
    ("ErrMonthlyJobDays", Monthly, {"on": [0], **AT}, "day_out_of_range"),
    ("ErrMonthlyJobAtTimesNil", Monthly, {"on": 1, "at": None}, "no_times"),
    ("ErrMonthlyJobAtTimeNil", Monthly, {"on": 1, "at": [None]}, "time_unreadable"),
    ("ErrMonthlyJobHours", Monthly, {"on": 1, "at": "24:00"}, "hour_out_of_range"),
    ("ErrMonthlyJobMinutesSeconds", Monthly, {"on": 1, "at": "09:60"}, "minute_out_of_range"),
    ("ErrMonthlyJobMinutesSeconds", Monthly, {"on": 1, "at": "09:00:60"}, "second_out_of_range"),
    ("ErrMonthlyJobZeroInterval", Monthly, {"every": 0, "on": 1, **AT}, "zero_interval"),
    ("ErrOneTimeJobStartDateTimePast", OneTime, {"at": []}, "no_times"),
]


@pytest.mark.parametrize(("name", "kind", "arguments", "code"), FROM_GO)
def test_what_go_refuses_is_refused_with_the_code_of_the_table(
    name: str, kind: Any, arguments: dict[str, Any], code: str
) -> None:
    with pytest.raises(ScheduleError) as refused:
        kind(**arguments)
    assert refused.value.code == code
    assert f"code: {code}" in OURS[name]


def test_every_row_of_the_table_is_tried() -> None:
    by_this = f"::{test_what_go_refuses_is_refused_with_the_code_of_the_table.__name__}"
    assert {name.go for name in NAMES if name.test.endswith(by_this)} == {name for name, *_others in FROM_GO}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_every_code_that_is_raised_is_explained(source: Path) -> None:
    explained = set(re.findall(r"`(\w+)`", PAGE))
    assert set(re.findall(r'code="(\w+)"', source.read_text(encoding="utf-8"))) <= explained


def test_every_code_of_a_number_out_of_its_range_is_explained_with_the_range() -> None:
    for field, (least, most, code) in RANGES.items():
        assert f"| `{code}` | `{field}` is not {least:,} to {most:,} |" in PAGE
