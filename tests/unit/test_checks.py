from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import checks

from django_gocron import Every, job, registry
from django_gocron.checks import TAG


@pytest.fixture(autouse=True)
def _empty_registry() -> Iterator[None]:
    with registry.isolated():
        yield


def found() -> list[tuple[str | None, str]]:
    return [(message.id, message.msg) for message in checks.run_checks(tags=[TAG])]


def tidy() -> None: ...


def clean() -> None: ...


def test_a_right_project_has_nothing_to_report(settings: Any):
    settings.GOCRON = {"COMMANDS": ["clearsessions"], "DATABASE": "default"}
    job(Every(minutes=5))(tidy)
    assert found() == []


def test_every_fault_of_the_setting_is_reported(settings: Any):
    settings.GOCRON = {"MAX_WORKERS": 0, "COLOUR": "red"}
    assert found() == [
        ("gocron.E001", "GOCRON['MAX_WORKERS'] must be 1 or more, not 0."),
        ("gocron.E001", "GOCRON has an unknown key 'COLOUR'."),
    ]


@pytest.mark.parametrize(
    ("key", "path"), [("CRON", "nowhere.Cron"), ("ADMIN_BASE_CLASS", "django.contrib.admin.NoSuch")]
)
def test_a_path_that_cannot_be_imported_is_reported(settings: Any, key: str, path: str):
    settings.GOCRON = {key: path}
    ((identity, message),) = found()
    assert (identity, message.startswith(f"GOCRON['{key}']")) == ("gocron.E001", True)


def test_jobs_written_to_another_database_are_reported(settings: Any):
    settings.DATABASE_ROUTERS = [ElsewhereRouter()]
    settings.GOCRON = {"DATABASE": "default"}
    assert found() == [
        ("gocron.W001", "The scheduler works on the database 'default', but jobs are written to 'elsewhere'.")
    ]


class ElsewhereRouter:
    def db_for_write(self, model: type, **hints: Any) -> str:
        return "elsewhere"


def test_an_unknown_command_is_reported_with_a_suggestion(settings: Any):
    settings.GOCRON = {"COMMANDS": ["clearsesions", "greet"]}
    assert found() == [
        (
            "gocron.W002",
            "GOCRON['COMMANDS'] has 'clearsesions', which is no management command. Did you mean 'clearsessions'?",
        )
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timeout": 5}, "timeout: Not available in this release."),
        ({"timezone": "Mars/X"}, "timezone: 'Mars/X' is not a known time zone."),
        ({"misfire": "sometimes"}, "misfire: Value 'sometimes' is not a valid choice."),
        ({"max_runs": 0}, "max_runs: Enter 1 or more"),
        ({"jitter": -5}, "jitter: A duration cannot be negative."),
    ],
)
def test_a_declaration_that_could_not_be_saved_is_reported_with_its_place(
    options: dict[str, Any], words: str
):
    job(Every(minutes=5), **options)(tidy)
    ((identity, message),) = found()
    assert identity == "gocron.W003"
    assert message.startswith("tests/unit/test_checks.py:")
    assert f": tests.tidy: {words}" in message


def test_two_jobs_of_one_name_are_reported():
    job(Every(minutes=5), name="Tidy up")(tidy)
    job(Every(minutes=5), name="Tidy up")(clean)
    ((identity, message),) = found()
    assert (identity, message.endswith("two jobs are named 'Tidy up'.")) == ("gocron.W004", True)


def test_two_functions_of_one_app_that_claim_one_key_are_reported():
    from tests.unit import claims_tidy

    job(Every(minutes=5))(tidy)
    job(Every(minutes=5))(claims_tidy.tidy)
    assert ("gocron.W004", True) in [
        (identity, "two functions of one app claim the key 'tests.tidy'" in message)
        for identity, message in found()
    ]


def test_with_a_wrong_setting_only_that_is_reported(settings: Any):
    settings.GOCRON = {"COLOUR": "red", "COMMANDS": ["no_such"]}
    job(Every(minutes=5), misfire="sometimes")(tidy)
    assert [identity for identity, _message in found()] == ["gocron.E001"]
