"""What a cron expression may not say, and how it is told."""

from __future__ import annotations

import re

import pytest
from croniter import croniter

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Cron


def refusal(expression: str) -> ScheduleError:
    with pytest.raises(ScheduleError) as refused:
        Cron(expression)
    return refused.value


@pytest.mark.parametrize(
    ("expression", "code", "message"),
    [
        ("", "field_count", "5 parts: minute, hour, day of month, month, day of week .* You entered 0."),
        ("* * * *", "field_count", "You entered 4."),
        ("* * * * * * * *", "field_count", "You entered 8."),
        ("0 0 1 1 * * 2020", "year_unsupported", "seventh field, the year, is not supported. Leave it out"),
        ("61 * * * *", "minute_out_of_range", "Minute must be from 0 to 59. '61' is too high."),
        ("60 * * * *", "minute_out_of_range", "'60' is too high"),
        ("0-60 * * * *", "minute_out_of_range", "'60' is too high"),
        ("60 * * * * *", "second_out_of_range", "Second must be from 0 to 59. '60' is too high."),
        ("* 24 * * *", "hour_out_of_range", "Hour must be from 0 to 23. '24' is too high."),
        ("* * 32 * *", "day_out_of_range", "Day of month must be from 1 to 31. '32' is too high."),
        ("* * 0 * *", "day_out_of_range", "'0' is too low."),
        ("* * 32W * *", "day_out_of_range", "'32' is too high."),
        ("* * 0W * *", "day_out_of_range", "'0' is too low."),
        ("* * * 13 *", "month_out_of_range", "Month must be 1-12 or JAN-DEC. '13' is too high."),
        ("* * * 0 *", "month_out_of_range", "'0' is too low."),
        (
            "* * * janu *",
            "month_unknown",
            r"Month must be 1-12 or JAN-DEC. 'janu' is not known. Did you mean JAN\?",
        ),
        ("* * * * 8", "weekday_out_of_range", "Day of week must be 0-7 or SUN-SAT. '8' is too high."),
        ("* * * * MOM", "weekday_unknown", r"'mom' is not known. Did you mean MON\?"),
        ("* * * * L", "weekday_unknown", "'l' is not known."),
        ("* * * * L8", "weekday_out_of_range", "'8' is too high."),
        ("* * * * xxxL", "weekday_unknown", "'xxxl' is not known.|'xxx' is not known."),
        ("* * * * 5#6", "nth_out_of_range", "number after '#' must be from 1 to 5 in '5#6'."),
        ("* * * * 5#0", "nth_out_of_range", "in '5#0'"),
        ("* * * * 5#01", "nth_out_of_range", "in '5#01'"),
        ("* * * * 9#1", "weekday_out_of_range", "'9' is too high."),
        ("* * * * mon-fri#1", "weekday_unknown", "'fri#1' is not known"),
        ("*/0 * * * *", "step_zero", re.escape("'*/0' is not possible. The step must be 1 or more.")),
        ("1-5/00 * * * *", "step_zero", "The step must be 1 or more."),
        ("*/x * * * *", "step_unreadable", "after the '/' comes a number"),
        ("*/ * * * *", "step_unreadable", "after the '/' comes a number"),
        ("*/5/5 * * * *", "step_unreadable", "after the '/' comes a number"),
        (
            "? * * * *",
            "question_mark_misplaced",
            "'[?]' stands alone, and for the day of month or the day of week",
        ),
        ("* * ?/2 * *", "question_mark_misplaced", "stands alone"),
        ("* * 1,? * *", "question_mark_misplaced", "stands alone"),
        ("H * * * *", "hash_unsupported", "'H' is not supported. Write a number, and give the job a jitter"),
        ("h(0-29)/10 * * * *", "hash_unsupported", "'H' is not supported"),
        ("H/15 * * * *", "hash_unsupported", "'H' is not supported"),
        (
            "R * * * *",
            "random_unsupported",
            "'R' is not supported. Write a number, or use a random interval.",
        ),
        ("r(0-9) * * * *", "random_unsupported", "'R' is not supported."),
        ("x * * * *", "field_unreadable", "Minute must be from 0 to 59. 'x' is not known."),
        ("-5 * * * *", "field_unreadable", "'' is not known."),
        ("5- * * * *", "field_unreadable", "'' is not known."),
        ("1,,2 * * * *", "field_unreadable", "'' is not known."),
        ("1-2-3 * * * *", "field_unreadable", "'2-3' is not known."),
        ("1.5 * * * *", "field_unreadable", "'1.5' is not known."),
        ("** * * * *", "field_unreadable", r"'\*\*' is not known."),
        ("*-5 * * * *", "field_unreadable", r"'\*' is not known."),
        ("\N{ARABIC-INDIC DIGIT FIVE} * * * *", "field_unreadable", "is not known."),
        ("* * LW * *", "field_unreadable", "Day of month must be from 1 to 31. 'lw' is not known."),
        ("* * L-3 * *", "field_unreadable", "'l' is not known."),
        ("* L * * *", "field_unreadable", "'l' is not known."),
        ("* 5W * * *", "field_unreadable", "'5w' is not known."),
        ("* * * 1#1 *", "month_unknown", "'1#1' is not known."),
        ("* * 5#1 * *", "field_unreadable", "'5#1' is not known."),
        ("mon * * * *", "field_unreadable", "'mon' is not known."),
        ("* * * mon *", "month_unknown", "'mon' is not known."),
        ("@reboot", "reboot_unsupported", "'@reboot' is not supported. Leave the job without a schedule"),
        ("@REBOOT", "reboot_unsupported", "not supported"),
        ("@dayly", "alias_unknown", r"'@dayly' is not known; write one of @yearly, .* Did you mean @daily\?"),
        ("@daily 5", "alias_unknown", "'@daily 5' is not known"),
        ("@", "alias_unknown", "'@' is not known"),
        ("@every", "duration_unreadable", "'' is not a duration. Write it as 90s, 15m or 1h30m."),
        ("@every fast", "duration_unreadable", "'fast' is not a duration."),
        ("@every 90", "duration_unreadable", "'90' is not a duration."),
        ("@every 1m 30s", "duration_unreadable", "'1m 30s' is not a duration."),
        ("@every 0s", "zero_interval", "Interval must be more than 0."),
        ("@every -5s", "negative_interval", "Interval must be more than 0, not negative."),
        ("@every 9ms", "interval_too_short", "Interval must be at least 10 milliseconds."),
        ("@every 99999999999999h", "interval_too_long", "Interval is too long"),
        (
            "TZ=Berlin 0 9 * * *",
            "timezone_unknown",
            r"'Berlin' is not a known time zone. Did you mean Europe/Berlin\?",
        ),
        ("CRON_TZ=Mars/X 0 9 * * *", "timezone_unknown", "'Mars/X' is not a known time zone.$"),
        ("TZ= 0 9 * * *", "timezone_unknown", "'' is not a known time zone."),
        ("TZ=UTC", "field_count", "You entered 0."),
        ("tz=UTC 0 9 * * *", "field_unreadable", "Second must be from 0 to 59. 'tz=utc' is not known."),
        ("0 0 31 2 *", "never_fires", "This schedule never runs: day 31 does not exist in February."),
        ("0 0 30,31 2 *", "never_fires", "day 30 does not exist in February."),
        ("0 0 31 4,6,9,11 *", "never_fires", "day 31 does not exist in April, June, September and November."),
        ("* * * 31 FEB *", "never_fires", "day 31 does not exist in February."),
    ],
)
def test_a_wrong_expression_is_refused_with_what_where_and_how(
    expression: str, code: str, message: str
) -> None:
    refused = refusal(expression)
    assert refused.code == code
    assert re.search(message, refused.message), refused.message
    assert refused.field == "expression"


def test_a_long_expression_is_refused_before_it_is_read() -> None:
    refused = refusal("*/5 " * 200_000)
    assert refused.code == "expression_too_long"
    assert refused.message == "A cron expression has at most 256 characters; this one has 800000."


def test_256_characters_are_not_too_long() -> None:
    expression = "0 0 " + ",".join(["1"] * 122) + " 1 *"
    assert len(expression + "     ") == 256
    assert Cron(expression + "     ").expression == expression
    assert refusal(expression + "      ").code == "expression_too_long"


@pytest.mark.parametrize("value", [None, 5, b"* * * * *", ["* * * * *"]])
def test_only_text_is_an_expression(value: object) -> None:
    with pytest.raises(ScheduleError) as refused:
        Cron(value)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.field) == ("expression_not_text", "expression")


@pytest.mark.parametrize("name", ["Berlin", "europe/berlin", "Europe/Berlni", "europe berlin"])
def test_a_mistyped_zone_is_told_which_was_meant(name: str) -> None:
    with pytest.raises(ScheduleError, match=r"Did you mean Europe/Berlin\?") as refused:
        Cron("0 9 * * *", timezone=name)
    assert (refused.value.code, refused.value.field) == ("timezone_unknown", "timezone")


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../UTC", "x" * 100_000, "UTC\0", "America", 5, True])
def test_what_is_no_zone_is_refused_whatever_it_is(name: object) -> None:
    with pytest.raises(ScheduleError) as refused:
        Cron("0 9 * * *", timezone=name)  # type: ignore[arg-type]
    assert refused.value.code == "timezone_unknown"
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("error", [ValueError, KeyError, TypeError, AttributeError, IndexError])
def test_an_error_of_croniter_is_ours(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def fail(_expression: str) -> None:
        raise error("cannot")

    monkeypatch.setattr(croniter, "expand", fail)
    refused = refusal("17 17 17 7 *")
    assert refused.code == "unreadable"
    assert "cannot" in refused.message
