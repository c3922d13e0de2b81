from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from django_gocron.executors.outcome import Outcome
from django_gocron.executors.results import LONGEST, keep
from django_gocron.executors.texts import in_ascii, storable

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, "", "ångström 🚀", [], [1, [2]], {"a": {"b": None}}, r"\u0000 as text"]
)
def test_plain_data_is_kept_as_it_is(value):
    assert keep(value) == value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (date(2030, 1, 2), "2030-01-02"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (timedelta(hours=1), "P0DT01H00M00S"),
        ({1: (2, 3)}, {"1": [2, 3]}),
    ],
)
def test_what_django_can_write_as_json_is_kept_so(value, kept):
    assert keep(value) == kept


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (
            {
                1,
            },
            "{1}",
        ),
        (b"bytes", "b'bytes'"),
        (float("inf"), "inf"),
        ({"x": float("nan")}, "{'x': nan}"),
        ("a\x00b", "'a\\x00b'"),
        ({"\ud800": 1}, "{'\\ud800': 1}"),
    ],
)
def test_what_is_no_json_for_every_database_is_kept_as_text(value, kept):
    assert keep(value) == kept


def test_a_long_result_is_kept_in_part_as_text():
    kept = keep(["x" * 100_000])
    assert kept == '["' + "x" * (LONGEST - 2) + "..."


def test_a_number_that_python_does_not_write_is_kept_by_its_type():
    assert keep(10**5000) == "<int>"


def test_a_result_without_end_is_kept_as_text():
    value: list[object] = []
    value.append(value)
    assert keep(value) == "[[...]]"


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError


def test_a_result_that_cannot_even_be_described_is_kept_by_its_type():
    assert keep(Unspeakable()) == "<Unspeakable>"


@pytest.mark.parametrize("text", ["", "plain", "ångström 🚀", "tab\tand\nline"])
def test_most_texts_can_be_stored_as_they_are(text):
    assert storable(text) == text


def test_ascii_is_left_of_a_text_where_need_be():
    assert in_ascii("naïve 🚀\x00") == "na\\xefve \\U0001f680\\x00"


def test_an_outcome_in_ascii_has_its_result_as_text():
    outcome = Outcome(
        status="failed",
        started_at=NOON,
        finished_at=NOON,
        error_message="ä",
        traceback="ö",
        output="ü",
        result={"k": "é"},
    ).in_ascii()
    assert (outcome.error_message, outcome.traceback, outcome.output) == ("\\xe4", "\\xf6", "\\xfc")
    assert outcome.result == r'{"k": "\u00e9"}'


def test_the_size_of_an_outcome_counts_all_its_texts():
    outcome = Outcome(
        status="failed", started_at=NOON, finished_at=NOON, error_message="12", traceback="345", output="6789"
    )
    assert outcome.size == 9 + len("null")
