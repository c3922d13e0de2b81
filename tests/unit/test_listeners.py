"""Listeners of the settings, as the system check and the settings see them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import checks

from django_gocron.checks import TAG
from django_gocron.conf import read_settings
from django_gocron.listeners import Kind, is_panic


def found(settings: Any, listeners: Any) -> list[tuple[str | None, str]]:
    settings.GOCRON = {"LISTENERS": listeners}
    return [(message.id, message.msg) for message in checks.run_checks(tags=[TAG], databases=[])]


def listener(run: Any) -> None: ...


def test_one_that_can_be_called_is_well(settings: Any):
    assert found(settings, {"before_run": f"{__name__}.listener", "after_run": listener}) == []


@pytest.mark.parametrize(
    ("listeners", "words"),
    [
        ({"after_run": "tests.nowhere.listener"}, "cannot be imported"),
        ({"after_run": f"{__name__}.nobody"}, "cannot be imported"),
        ({"after_run": f"{__name__}.TAG"}, "must be a function"),
        ({"after_run_error": f"{__name__}.listener"}, "is called with the run and the error"),
    ],
)
def test_one_that_cannot_is_reported_with_where_it_stands(settings: Any, listeners: Any, words: str):
    ((identity, message),) = found(settings, listeners)
    assert identity == "gocron.E005"
    assert message.startswith("GOCRON['LISTENERS']: ")
    assert words in message


@pytest.mark.parametrize(
    "listeners", [None, [], {"befor_run": listener}, {"before_run": 3}, {"before_run": "not a path"}]
)
def test_what_has_not_the_form_is_a_wrong_setting(listeners: Any):
    _settings, [fault] = read_settings({"LISTENERS": listeners})
    assert (fault.code, fault.field) == ("bad_setting", "LISTENERS")


def test_there_are_six_kinds():
    assert sorted(Kind) == [
        "after_run",
        "after_run_error",
        "after_run_panic",
        "before_run",
        "before_run_skip_on_error",
        "on_lock_error",
    ]


@pytest.mark.parametrize(
    ("error", "panics"),
    [
        (ValueError(), False),
        (OSError(), False),
        (SystemExit(), True),
        (KeyboardInterrupt(), True),
        (GeneratorExit(), True),
        (RecursionError(), True),
        (MemoryError(), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_ordinary_error_is_a_panic(error: BaseException, panics: bool):
    assert is_panic(error) == panics
