from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.exceptions import DeclarationError
from django_gocron.options import read_options
from django_gocron.planning import Misfire

BERLIN = ZoneInfo("Europe/Berlin")


def test_a_number_is_a_duration_in_seconds():
    assert read_options({"timeout": 1.5, "jitter": 2}) == {
        "timeout": timedelta(milliseconds=1500),
        "jitter": timedelta(seconds=2),
    }


def test_a_timedelta_is_a_duration_as_it_is():
    assert read_options({"timeout": timedelta(hours=1)}) == {"timeout": timedelta(hours=1)}


def test_an_instant_is_kept_in_utc():
    noon = datetime(2026, 7, 1, 12, tzinfo=BERLIN)
    read = read_options({"starts_at": noon})["starts_at"]
    assert (read, read.tzinfo) == (datetime(2026, 7, 1, 10, tzinfo=UTC), UTC)


def test_an_option_that_is_none_counts_as_not_given():
    assert read_options({"timeout": None, "retries": 0}) == {"retries": 0}


def test_a_member_of_an_enumeration_becomes_its_text():
    value = read_options({"misfire": Misfire.RUN_ALL})["misfire"]
    assert (value, type(value)) == ("run_all", str)


def test_sequences_become_lists():
    assert read_options({"tags": ("a", "b"), "args": (1, 2)}) == {"tags": ["a", "b"], "args": [1, 2]}


def test_blanks_around_text_are_dropped():
    assert read_options({"name": " Daily digest "}) == {"name": "Daily digest"}


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("timeout", "5m", "a timedelta or a number of seconds"),
        ("timeout", True, "a timedelta or a number of seconds"),
        ("timeout", float("inf"), "a timedelta or a number of seconds"),
        ("jitter", 1e300, "a timedelta or a number of seconds"),
        ("retries", 1.5, "a whole number"),
        ("retries", False, "a whole number"),
        ("retry_backoff", "2", "a number"),
        ("enabled", 1, "True or False"),
        ("name", 5, "text"),
        ("tags", "sync", "a list of texts"),
        ("tags", [1], "a list of texts"),
        ("args", {"a": 1}, "a list"),
        ("kwargs", [1], "a dictionary"),
        ("starts_at", "2026-01-01", "a datetime with a time zone"),
        ("starts_at", datetime(2026, 1, 1), "a datetime with a time zone"),  # noqa: DTZ001
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_what_is_expected(option: str, value: Any, expected: str):
    with pytest.raises(DeclarationError, match=f"^{option} must be {expected}, not ") as caught:
        read_options({option: value})
    assert (caught.value.code, caught.value.field) == ("bad_option", option)


def test_an_unknown_option_is_refused_with_a_suggestion():
    with pytest.raises(DeclarationError, match=r"no option 'timout'\. Did you mean 'timeout'\?") as caught:
        read_options({"timout": 5})
    assert (caught.value.code, caught.value.field) == ("unknown_option", "timout")


@pytest.mark.parametrize("option", ["task", "key", "paused_at", "plan_version", "declared", "skip_until"])
def test_what_belongs_to_operators_and_the_engine_is_no_option(option: str):
    with pytest.raises(DeclarationError, match="no option"):
        read_options({option: "x"})


def test_a_schedule_by_name_is_told_to_come_first():
    with pytest.raises(DeclarationError, match=r"comes first and has no name: @job\(Every"):
        read_options({"schedule": "* * * * *"})
