from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from django_gocron import conf
from django_gocron.conf import Settings, get_settings, read_settings
from django_gocron.exceptions import ConfigurationError


def faults(**raw: Any) -> list[tuple[str, str]]:
    return [(fault.code, fault.field) for fault in read_settings(raw)[1]]


def read(**raw: Any) -> Settings:
    settings, found = read_settings(raw)
    assert found == []
    return settings


def message(**raw: Any) -> str:
    (fault,) = read_settings(raw)[1]
    return fault.message


def test_every_setting_has_a_default(settings: Any):
    settings.GOCRON = {}
    assert get_settings() == Settings(time_zone="UTC")


def test_the_setting_may_be_absent(settings: Any):
    settings.GOCRON = {}
    del settings.GOCRON
    assert get_settings().max_workers == 10


def test_every_key_is_a_field():
    assert [key.lower() for key in conf.READERS] == [field.name for field in dataclasses.fields(Settings)]


def test_durations_are_seconds_or_timedeltas(settings: Any):
    settings.GOCRON = {"LEASE": 60, "HEARTBEAT": timedelta(seconds=5), "POLL_INTERVAL": 0.25}
    read = get_settings()
    assert (read.lease, read.heartbeat, read.poll_interval) == (
        timedelta(minutes=1),
        timedelta(seconds=5),
        timedelta(milliseconds=250),
    )


def test_job_defaults_are_read_as_options_of_a_job(settings: Any):
    settings.GOCRON = {"JOB_DEFAULTS": {"timeout": 90, "tags": ("a",), "owner": None}}
    assert get_settings().job_defaults == {"timeout": timedelta(seconds=90), "tags": ["a"]}


def test_the_time_zone_is_the_projects_unless_told(settings: Any):
    settings.GOCRON = {}
    settings.TIME_ZONE = "Asia/Jakarta"
    assert get_settings().time_zone == "Asia/Jakarta"
    settings.GOCRON = {"TIME_ZONE": "Europe/Berlin"}
    assert get_settings().time_zone == "Europe/Berlin"


def test_a_changed_setting_is_read_anew(settings: Any):
    settings.GOCRON = {"MAX_WORKERS": 3}
    assert get_settings().max_workers == 3
    settings.GOCRON = {"MAX_WORKERS": 4}
    assert get_settings().max_workers == 4


def test_settings_are_read_once(settings: Any):
    settings.GOCRON = {}
    assert get_settings() is get_settings()


def test_an_unknown_key_is_refused_with_a_suggestion():
    assert faults(HEARTBEET=5) == [("unknown_setting", "HEARTBEET")]
    assert message(HEARTBEET=5) == "GOCRON has an unknown key 'HEARTBEET'. Did you mean 'HEARTBEAT'?"


def test_a_key_in_lower_case_is_unknown_and_answered_with_the_right_one():
    assert message(max_workers=5) == "GOCRON has an unknown key 'max_workers'. Did you mean 'MAX_WORKERS'?"


@pytest.mark.parametrize(
    "key",
    [
        "EXECUTORS",
    ],
)
def test_what_this_release_cannot_honour_is_unknown(key: str):
    assert faults(**{key: {}}) == [("unknown_setting", key)]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("DATABASE", "jobs", "an alias of DATABASES ('default') or None"),
        ("TIME_ZONE", "Mars/X", "a time zone such as 'Europe/Berlin'"),
        ("TIME_ZONE", 5, "text"),
        ("MAX_WORKERS", 0, "1 or more"),
        ("MAX_WORKERS", "10", "a whole number"),
        ("MAX_WORKERS", True, "a whole number"),
        ("LEASE", 0, "more than 0 seconds"),
        ("LEASE", "30s", "a timedelta or a number of seconds"),
        ("POLL_INTERVAL", -1, "more than 0 seconds"),
        ("STOP_TIMEOUT", -1, "0 seconds or more"),
        ("JOB_DEFAULTS", ["timeout"], "a dictionary of options of @job"),
        ("MONITORS", {}, "a list of monitors"),
        ("CRON", "not a path", "the dotted path of something to import"),
        ("COMMANDS", "clearsessions", "a list of names of management commands"),
        ("COMMANDS", [5], "a list of names of management commands"),
        ("ENABLED", "no", "True or False"),
        ("SYNC_ON_MIGRATE", 1, "True or False"),
        ("KEEP_DAYS", -1, "0 or more"),
        ("KEEP_RUNS", 1.5, "a whole number"),
        ("ADMIN_BASE_CLASS", None, "the dotted path of something to import"),
        ("CONFIRM_RUN", "sometimes", "one of 'bulk', 'always', 'never'"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_expected(key: str, value: Any, expected: str):
    assert faults(**{key: value}) == [("bad_setting", key)]
    assert message(**{key: value}).startswith(f"GOCRON[{key!r}] must be {expected}")


@pytest.mark.parametrize(
    ("defaults", "text"),
    [
        ({"timout": 5}, "GOCRON['JOB_DEFAULTS']: There is no option 'timout'. Did you mean 'timeout'?"),
        (
            {"timeout": "x"},
            "GOCRON['JOB_DEFAULTS']: timeout must be a timedelta or a number of seconds, not 'x'.",
        ),
        ({"name": "x"}, "GOCRON['JOB_DEFAULTS'] cannot set 'name': every job has its own."),
        ({"kwargs": {}}, "GOCRON['JOB_DEFAULTS'] cannot set 'kwargs': every job has its own."),
    ],
)
def test_wrong_job_defaults_are_refused(defaults: dict[str, Any], text: str):
    assert message(JOB_DEFAULTS=defaults) == text


@pytest.mark.parametrize(("lease", "heartbeat"), [(20, 10), (30, 20)])
def test_a_heartbeat_must_be_less_than_half_of_the_lease(lease: int, heartbeat: int):
    assert faults(LEASE=lease, HEARTBEAT=heartbeat) == [("bad_setting", "HEARTBEAT")]
    assert message(LEASE=lease, HEARTBEAT=heartbeat).startswith(
        f"GOCRON['HEARTBEAT'] ({heartbeat} s) must be less than half of GOCRON['LEASE'] ({lease} s)"
    )


@pytest.mark.parametrize("raw", [None, ["MAX_WORKERS"], "x"])
def test_a_setting_that_is_no_dictionary_is_refused(raw: Any):
    (fault,) = read_settings(raw)[1]
    assert (fault.code, fault.message) == ("bad_setting", f"GOCRON must be a dictionary, not {raw!r}.")


def test_every_fault_is_found_and_the_first_is_raised(settings: Any):
    settings.GOCRON = {"MAX_WORKERS": 0, "COLOUR": "red"}
    assert faults(**settings.GOCRON) == [("bad_setting", "MAX_WORKERS"), ("unknown_setting", "COLOUR")]
    with pytest.raises(ConfigurationError, match="MAX_WORKERS"):
        get_settings()


def test_a_lease_that_could_never_be_trusted_is_refused():
    _settings, (fault,) = read_settings({"LEASE": 1, "HEARTBEAT": 0.4})
    assert (fault.code, fault.field) == ("bad_setting", "HEARTBEAT")


# Lockers and the elector

LOCKER = {"BACKEND": "django_gocron.lockers.cache.CacheLocker", "OPTIONS": {"cache": "locks"}}


def test_lockers_are_named_by_alias():
    locker = read(LOCKERS={"redis": LOCKER}).lockers["redis"]
    assert (locker.path, locker.options) == (LOCKER["BACKEND"], {"cache": "locks"})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("redis", "GOCRON['LOCKERS'] must be a dictionary of lockers by alias"),
        ({"": LOCKER}, "GOCRON['LOCKERS'] must be a dictionary whose keys are names of 1 to 100 characters"),
        (
            {"redis": "CacheLocker"},
            "GOCRON['LOCKERS']['redis'] must be a dictionary with the dotted path of a class",
        ),
        (
            {"redis": {"OPTIONS": {}}},
            "GOCRON['LOCKERS']['redis'] must be a dictionary with the dotted path of a class",
        ),
        ({"redis": {**LOCKER, "OPTION": {}}}, "Did you mean 'OPTIONS'?"),
        ({"redis": {**LOCKER, "OPTIONS": ["locks"]}}, "whose 'OPTIONS' are one of names and values"),
    ],
)
def test_a_wrong_locker_is_told_with_its_place(value: object, words: str):
    assert faults(LOCKERS=value) == [("bad_setting", "LOCKERS")]
    assert words in message(LOCKERS=value)


def test_the_elector_is_one_backend():
    assert message(ELECTOR="DatabaseElector").startswith(
        "GOCRON['ELECTOR'] must be a dictionary with the dotted path"
    )


@pytest.mark.parametrize(("coordination", "elects"), [("on", True), ("off", False)])
def test_with_coordination_off_nobody_is_elected(coordination: str, elects: bool):
    elector = {"BACKEND": "django_gocron.electors.database.DatabaseElector"}
    assert read(ELECTOR=elector, COORDINATION=coordination).has_elector is elects
    assert not read(COORDINATION=coordination).has_elector
