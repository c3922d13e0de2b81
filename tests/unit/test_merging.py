from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from django_gocron import Cron, OneTime
from django_gocron.merging import FIELDS, copy_values, declared_value, is_same_copy, read_declared
from django_gocron.models import Job
from django_gocron.options import OPTIONS


def test_every_option_is_a_field_of_a_job():
    names = {field.name for field in Job._meta.get_fields()}
    assert set(OPTIONS) <= names


def test_what_belongs_to_operators_and_the_engine_is_not_declared():
    never = {
        "paused_at",
        "paused_until",
        "paused_by",
        "pause_reason",
        "skip_until",
        "plan_version",
        "identifier",
        "key",
    }
    assert never.isdisjoint(FIELDS)


def test_every_other_field_of_a_job_can_be_declared():
    kept = {"paused_at", "paused_until", "paused_by", "pause_reason", "skip_until"}
    machine = {"id", "key", "identifier", "declared", "plan_version"}
    assert {field.name for field in Job._meta.concrete_fields} - kept - machine == set(FIELDS)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("jitter", timedelta(days=2, milliseconds=5), "P2DT00H00M00.005000S"),
        ("starts_at", datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
        ("tags", ["a", "b"], ["a", "b"]),
        ("max_runs", None, None),
    ],
)
def test_values_are_kept_as_json_and_come_back(name: str, value: Any, text: Any):
    copy = copy_values({name: value})
    assert copy == {name: text}
    assert declared_value(Job(declared=copy), name) == value


@pytest.mark.parametrize(
    "schedule",
    [
        Cron("*/5 * * * *", timezone="Europe/Berlin"),
        OneTime(datetime(2030, 1, 1, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_a_schedule_is_kept_as_json_and_comes_back(schedule: Any):
    assert declared_value(Job(declared=copy_values({"schedule": schedule})), "schedule") == schedule


def test_a_field_that_the_copy_lacks_reads_as_its_default():
    assert read_declared(Job(declared={}))["misfire"] == "run_once"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1e25}, {"a": 10**25}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": 2**60}, {"a": 2**60 + 1}, False),
        ({"a": None}, {}, False),
    ],
)
def test_copies_are_compared_as_json(one: dict[str, Any], other: dict[str, Any], same: bool):
    assert is_same_copy(Job(declared=one), other) is same
