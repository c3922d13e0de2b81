"""What ``full_clean()`` refuses, and on which field; what the database refuses by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import DataError, IntegrityError, transaction

from django_gocron import registry
from django_gocron.models import Job
from django_gocron.models.validation import AVAILABLE
from django_gocron.planning import BATCH, LONGEST
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, OneTime

pytestmark = pytest.mark.django_db

NOON = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
TASK = f"{__name__}.sync"


def sync(region: str, limit: int = 100) -> None: ...


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registry.isolated():
        registry.register(sync)
        yield


def job(**values: Any) -> Job:
    return Job(**{"name": "Sync", "task": TASK, "kwargs": {"region": "eu"}, **values})


def faults(**values: Any) -> dict[str, list[str]]:
    """The codes of what is wrong, by field."""
    try:
        job(**values).full_clean()
    except ValidationError as error:
        return {field: [fault.code or "" for fault in found] for field, found in error.error_dict.items()}
    return {}


def message(field: str, **values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        job(**values).full_clean()
    return str(caught.value.message_dict[field][0])


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"schedule": Every(60)},
        {"schedule": Cron("0 9 * * *"), "timezone": "Europe/Berlin"},
        {"args": ["eu"], "kwargs": {}},
        {"kwargs": {"region": "eu", "limit": 5}},
        {"starts_at": NOON, "ends_at": NOON + HOUR, "schedule": Every(60)},
        {"schedule": Every(60), "first_run": "immediately"},
        {"schedule": Every(60), "first_run": "at_starts_at", "starts_at": NOON},
        {"schedule": Every(60), "interval_from_completion": True},
        {"schedule": EveryRandom(60, 90), "interval_from_completion": True},
        {"max_runs": 1, "misfire": "run_all", "max_catchup": BATCH, "catchup_window": HOUR},
        {"misfire": "skip", "misfire_grace": timedelta(0), "starting_deadline": LONGEST, "jitter": HOUR},
        {"overlap": "allow", "label": "batch", "priority": -5},
        {"keep_days": 0, "keep_runs": 10, "tags": ["a"], "description": "d", "owner": "o"},
        {"enabled": False},
    ],
    ids=str,
)
def test_accepts_a_job_that_makes_sense(values: dict[str, Any]):
    assert faults(**values) == {}


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ({"name": ""}, "name", "blank"),
        ({"name": "x" * 201}, "name", "max_length"),
        ({"task": ""}, "task", "blank"),
        ({"task": "shop.tasks.absent"}, "task", "task_unknown"),
        ({"args": {}}, "args", "arguments_not_json"),
        ({"kwargs": []}, "kwargs", "arguments_not_json"),
        ({"args": None}, "args", "arguments_not_json"),
        ({"args": "[1]"}, "args", "arguments_not_json"),
        ({"kwargs": {}}, "kwargs", "arguments_do_not_fit"),
        ({"kwargs": {"region": "eu", "nonsense": 1}}, "kwargs", "arguments_do_not_fit"),
        ({"args": [1, 2, 3], "kwargs": {}}, "args", "arguments_do_not_fit"),
        ({"args": ["eu"]}, "kwargs", "arguments_do_not_fit"),
        ({"kwargs": {"region": float("nan")}}, "kwargs", "arguments_not_json"),
        ({"kwargs": {"region": {1: 2}}}, "kwargs", "arguments_not_json"),
        ({"timezone": "Mars/X"}, "timezone", "timezone_unknown"),
        ({"timezone": "../etc/passwd"}, "timezone", "timezone_unknown"),
        ({"schedule": {"kind": "cron", "expression": "0 0 31 2 *"}}, "schedule", "never_fires"),
        ({"schedule": {"kind": "cron", "expression": "99 * * * *"}}, "schedule", "minute_out_of_range"),
        ({"schedule": {"kind": "cron", "expression": ""}}, "schedule", "field_count"),
        ({"schedule": {"kind": "every", "seconds": 0}}, "schedule", "zero_interval"),
        ({"schedule": {"kind": "lunar"}}, "schedule", "unknown_kind"),
        ({"schedule": "nonsense"}, "schedule", "unreadable"),
        ({"schedule": "*/5 * * * *"}, "schedule", "unreadable"),
        ({"schedule": 5}, "schedule", "unreadable"),
        ({"starts_at": NOON, "ends_at": NOON}, "ends_at", "end_not_after_start"),
        ({"starts_at": NOON, "ends_at": NOON - HOUR}, "ends_at", "end_not_after_start"),
        ({"starts_at": "soon"}, "starts_at", "invalid"),
        ({"ends_at": "2030-13-01T00:00:00Z"}, "ends_at", "invalid"),
        ({"schedule": Every(60), "first_run": "never"}, "first_run", "invalid_choice"),
        ({"schedule": Every(60), "first_run": "at_starts_at"}, "first_run", "no_starts_at"),
        ({"first_run": "immediately"}, "first_run", "no_schedule"),
        ({"max_runs": 0}, "max_runs", "zero_max_runs"),
        ({"max_runs": "many"}, "max_runs", "invalid"),
        ({"interval_from_completion": True}, "interval_from_completion", "not_an_interval"),
        (
            {"interval_from_completion": True, "schedule": Cron("0 9 * * *")},
            "interval_from_completion",
            "not_an_interval",
        ),
        ({"jitter": -HOUR}, "jitter", "negative_duration"),
        ({"jitter": "long"}, "jitter", "invalid"),
        ({"jitter": timedelta.max}, "jitter", "duration_too_long"),
        ({"misfire_grace": -HOUR}, "misfire_grace", "negative_duration"),
        ({"misfire_grace": LONGEST + HOUR}, "misfire_grace", "duration_too_long"),
        ({"catchup_window": timedelta(0)}, "catchup_window", "duration_not_positive"),
        ({"catchup_window": -HOUR}, "catchup_window", "negative_duration"),
        ({"catchup_window": LONGEST + HOUR}, "catchup_window", "duration_too_long"),
        ({"starting_deadline": timedelta(0)}, "starting_deadline", "duration_not_positive"),
        ({"starting_deadline": LONGEST + HOUR}, "starting_deadline", "duration_too_long"),
        ({"max_catchup": 0}, "max_catchup", "cap_out_of_range"),
        ({"max_catchup": BATCH + 1}, "max_catchup", "cap_out_of_range"),
        ({"max_catchup": "all"}, "max_catchup", "invalid"),
        ({"gap": "jump"}, "gap", "invalid_choice"),
        ({"fold": "third"}, "fold", "invalid_choice"),
        ({"misfire": "panic"}, "misfire", "invalid_choice"),
        ({"overlap": "panic"}, "overlap", "invalid_choice"),
        ({"tags": ["a|b"]}, "tags", "tag_delimiter"),
        ({"keep_days": "long"}, "keep_days", "invalid"),
        ({"priority": "high"}, "priority", "invalid"),
    ],
    ids=str,
)
def test_puts_each_fault_on_its_field(values: dict[str, Any], field: str, code: str):
    assert code in faults(**values)[field]
    assert NON_FIELD_ERRORS not in faults(**values)


def test_reports_all_faults_at_once():
    found = faults(name="", timezone="Mars/X", max_runs=0, jitter=-HOUR, starts_at=NOON, ends_at=NOON)
    assert set(found) == {"name", "timezone", "max_runs", "jitter", "ends_at"}


FIELDS = [field.name for field in Job._meta.concrete_fields if field.editable and not field.primary_key]


@pytest.mark.parametrize("value", ["nonsense", None, "-1"], ids=repr)
@pytest.mark.parametrize("field", FIELDS)
def test_nonsense_is_a_fault_and_never_a_traceback(field: str, value: Any):
    found = faults(**{"schedule": Every(60), field: value})
    assert set(found) <= {field, "kwargs"}


def test_an_empty_jitter_is_none():
    empty = job(jitter=None)
    empty.full_clean()
    assert empty.jitter == timedelta(0)


# Jobs that could never run


def test_refuses_a_window_without_a_single_tick():
    values = {"schedule": Daily(at="09:00"), "starts_at": NOON, "ends_at": NOON + HOUR}
    assert faults(**values) == {"ends_at": ["never_fires"]}


def test_a_tick_at_the_very_start_of_the_window_is_enough():
    assert faults(schedule=Daily(at="12:00"), starts_at=NOON, ends_at=NOON + HOUR) == {}


def test_a_tick_at_the_very_end_of_the_window_is_enough():
    assert faults(schedule=Daily(at="13:00"), starts_at=NOON, ends_at=NOON + HOUR) == {}


def test_an_immediate_first_run_is_enough():
    values = {"schedule": Daily(at="09:00"), "starts_at": NOON, "ends_at": NOON + HOUR}
    assert faults(**values, first_run="immediately") == {}
    assert faults(**values, first_run="at_starts_at") == {}


def test_refuses_instants_that_are_all_outside_the_window():
    found = faults(schedule=OneTime(NOON + 2 * HOUR), starts_at=NOON, ends_at=NOON + HOUR)
    assert found == {"ends_at": ["never_fires"]}


def test_the_window_is_read_in_the_jobs_zone():
    values = {"schedule": Daily(at="12:30"), "starts_at": NOON, "ends_at": NOON + HOUR}
    assert faults(**values) == {}
    assert faults(**values, timezone="Asia/Tokyo") == {"ends_at": ["never_fires"]}


def test_a_fault_elsewhere_is_not_told_again_as_a_window_without_ticks():
    found = faults(schedule=Daily(at="09:00"), starts_at=NOON, ends_at=NOON + HOUR, timezone="Mars/X")
    assert found == {"timezone": ["timezone_unknown"]}


# What this release does not do

NOT_AVAILABLE: dict[str, Any] = {
    "executor": "process",
    "executor_options": {"size": 2},
    "group": "imports",
    "group_limit": 1,
}


@pytest.mark.parametrize("field", sorted(AVAILABLE))
def test_refuses_what_is_not_available_yet_instead_of_ignoring_it(field: str):
    assert faults(**{field: NOT_AVAILABLE[field]}) == {field: ["not_available"]}
    assert "Not available in this release" in message(field, **{field: NOT_AVAILABLE[field]})


@pytest.mark.parametrize("field", sorted(AVAILABLE))
def test_the_default_of_what_is_not_available_is_allowed(field: str):
    assert getattr(Job(), field) in AVAILABLE[field]


# Lockers

REDIS = {"LOCKERS": {"redis": {"BACKEND": "django_gocron.lockers.cache.CacheLocker"}}}


def test_a_locker_that_the_setting_names_is_taken(settings: Any):
    settings.GOCRON = REDIS
    assert faults(locker="redis", on_lock_error="run") == {}


def test_an_unknown_locker_names_the_known_ones(settings: Any):
    settings.GOCRON = REDIS
    assert faults(locker="memcached") == {"locker": ["locker_unknown"]}
    words = "No locker is called 'memcached'. The setting GOCRON['LOCKERS'] names: 'redis'."
    assert message("locker", locker="memcached") == words


@pytest.mark.parametrize("coordination", ["unlocked", "node_local"])
def test_a_job_without_a_lock_has_no_locker(settings: Any, coordination: str):
    settings.GOCRON = REDIS
    assert faults(locker="redis", coordination=coordination) == {"locker": ["locker_without_lock"]}
    assert faults(coordination=coordination) == {}


# Messages


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        (
            "kwargs",
            {"kwargs": {"region": "eu", "limt": 5}},
            "takes no argument 'limt'. Did you mean 'limit'?",
        ),
        ("task", {"task": f"{TASK}s"}, f"Did you mean '{TASK}'?"),
        ("timezone", {"timezone": "Europe/Berlim"}, "Europe/Berlin"),
        ("max_catchup", {"max_catchup": 0}, "Enter a number from 1 to 1000."),
        ("jitter", {"jitter": timedelta.max}, "Enter a duration of at most 36525 days."),
        ("args", {"args": {}}, "Enter a JSON list."),
        ("kwargs", {"kwargs": []}, "Enter a JSON object."),
    ],
)
def test_says_what_to_do(field: str, values: dict[str, Any], said: str):
    assert said in message(field, **values)


def test_a_name_that_is_taken_is_refused_on_the_name():
    job().save()
    assert faults() == {"name": ["unique"]}
    assert message("name") == "A job named like this already exists."


# Forms that have only some of the fields


def test_a_form_is_spared_the_faults_of_fields_it_does_not_have():
    class NameForm(forms.ModelForm):  # type: ignore[type-arg]
        class Meta:
            model = Job
            fields = ["name", "jitter"]

    broken = job(task="shop.tasks.absent", timezone="Mars/X")
    broken.save()
    form = NameForm({"name": "Other", "jitter": "0"}, instance=broken)
    assert form.is_valid()
    form = NameForm({"name": "Other", "jitter": "-5"}, instance=broken)
    assert form.errors.as_data()["jitter"][0].code == "negative_duration"


# The database refuses nonsense by itself


@pytest.mark.parametrize(
    "values",
    [
        {"starts_at": NOON, "ends_at": NOON},
        {"starts_at": NOON, "ends_at": NOON - HOUR},
        {"max_runs": 0},
        {"jitter": -HOUR},
        {"name": ""},
        {"task": ""},
        {"max_catchup": -1},
        {"keep_days": -1},
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["create", "bulk_create", "update", "bulk_update"])
def test_the_database_refuses_nonsense(way: str, values: dict[str, Any]):
    good = job(name="Good")
    if "update" in way:
        good.save()
        for name, value in values.items():
            setattr(good, name, value)
    ways = {
        "create": lambda: job(**values).save(),
        "bulk_create": lambda: Job.objects.bulk_create([good, job(**values)]),
        "update": lambda: Job.objects.update(**values),
        "bulk_update": lambda: Job.objects.bulk_update([good], list(values)),
    }
    refused = (IntegrityError, DataError)  # the unsigned columns of MariaDB say the latter
    with pytest.raises(refused), transaction.atomic():
        ways[way]()


def test_two_jobs_cannot_share_a_name_a_key_or_an_identifier():
    first = job(key="shop.sync")
    first.save()
    for taken in ({"name": "Sync"}, {"key": "shop.sync"}, {"identifier": first.identifier}):
        with pytest.raises(IntegrityError), transaction.atomic():
            job(**{"name": "Other", **taken}).save()


def test_jobs_of_staff_have_no_key_and_do_not_collide():
    job(name="One").save()
    job(name="Two").save()
    assert Job.objects.filter(key=None).count() == 2
