"""Durations, instants and marks: the words and the shapes of all pages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.auth.admin import UserAdmin
from django.test import override_settings
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

import django_gocron
from django_gocron.admin import marks, moments
from django_gocron.admin.base import find_base_class
from django_gocron.admin.duration_field import read_duration, write_duration
from django_gocron.admin.schedule_editor import from_wall
from django_gocron.admin.standing import Standing, when_due
from django_gocron.exceptions import ScheduleError
from django_gocron.models.choices import Status

NOW = datetime(2026, 12, 2, 6, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.0004, "0 ms"),
        (0.8, "800 ms"),
        (4.52, "4.5 s"),
        (11.4, "11 s"),
        (125, "2 min 5 s"),
        (3900, "1 h 5 min"),
        (3605, "1 h 5 s"),
        (90_061, "1 d 1 h"),
        (-125, "-2 min 5 s"),
    ],
)
def test_a_short_duration_has_two_units(seconds: float, text: str):
    assert moments.short(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "1 second"),
        (59, "59 seconds"),
        (119, "1 minute"),
        (7200, "2 hours"),
        (86_400, "1 day"),
        (864_000, "10 days"),
    ],
)
def test_a_duration_in_words_has_one_unit(seconds: float, text: str):
    assert moments.words(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("late", "text"),
    [(-840, "in 14 minutes"), (-0.5, "due now"), (0, "due now"), (10, "due now"), (11, "late by 11 s")],
)
def test_what_is_due_is_never_told_in_negative_time(late: float, text: str):
    assert when_due(NOW - timedelta(seconds=late), NOW) == text


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (NOW, "07:30 CET"),
        (NOW + timedelta(days=1), "Thu 3 Dec 07:30 CET"),
        (NOW + timedelta(days=365), "Thu 2 Dec 2027 07:30 CET"),
        (NOW + timedelta(seconds=5), "07:30:05 CET"),
    ],
)
def test_beside_another_instant_the_obvious_is_left_out(instant: datetime, text: str):
    assert moments.beside(instant, BERLIN, NOW) == text


def test_days_are_in_the_readers_language():
    with translation.override("de"):
        assert moments.in_zone(NOW, BERLIN).startswith("Mi 2 Dez 2026 07:30")


@pytest.mark.parametrize(
    "text", ["", "soon", "5 parsecs", "1 h 30", "5 min 3", "1..5 s", "P1Q", "9" * 400 + " w"]
)
def test_a_text_that_is_no_duration_is_none(text: str):
    assert read_duration(text) is None


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=10_000)))
def test_a_duration_that_was_written_is_read_back(duration: timedelta):
    assert read_duration(write_duration(duration)) == duration


def test_a_wall_time_that_comes_twice_is_the_first():
    assert from_wall(datetime(2026, 10, 25, 2, 30), BERLIN) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # noqa: DTZ001


def test_a_wall_time_that_never_comes_is_refused():
    with pytest.raises(ScheduleError) as refused:
        from_wall(datetime(2026, 3, 29, 2, 30), BERLIN)  # noqa: DTZ001
    assert refused.value.code == "time_does_not_exist"


def test_every_standing_and_every_status_has_a_mark():
    assert set(marks.STANDINGS) == set(Standing)
    assert set(marks.STATUSES) == set(Status)


def test_standings_differ_in_shape_and_not_in_colour_alone():
    assert len({shape for shape, _tone in marks.STANDINGS.values()}) == len(Standing)


def test_a_strip_draws_a_place_for_each_of_twenty():
    drawn = marks.strip([["succeeded", 1.0], ["failed", 2.0], ["skipped", None]])
    assert drawn.count('class="gocron-none"') == 17
    assert drawn.count("<rect") == 2


def test_longer_runs_have_higher_bars():
    heights = [marks.bar_height(seconds) for seconds in (0.01, 1, 60, 3600)]
    assert heights == sorted(set(heights))
    assert marks.bar_height(100_000) == marks.bar_height(3600)


TONES = re.findall(
    r"--gocron-(\w+): (#\w{6});",
    Path(django_gocron.__file__, "../static/gocron/admin.css").resolve().read_text(),
)


@pytest.mark.parametrize("background", ["#ffffff", "#121212"])
@pytest.mark.parametrize(("tone", "colour"), TONES)
def test_every_tone_can_be_seen_on_light_and_on_dark(tone: str, colour: str, background: str):
    """WCAG 1.4.11: graphics need 3:1."""
    lighter, darker = sorted((_luminance(colour), _luminance(background)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3, tone


def _luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@override_settings(GOCRON={"ADMIN_BASE_CLASS": "django.contrib.auth.admin.UserAdmin"})
def test_the_pages_can_derive_from_a_class_of_the_projects():
    assert find_base_class() is UserAdmin


@pytest.mark.parametrize("setting", [{"ADMIN_BASE_CLASS": "shop.nothing"}, {"UNKNOWN": 1}])
def test_a_base_class_that_cannot_be_had_is_left_to_the_system_check(setting: dict[str, object]):
    with override_settings(GOCRON=setting):
        assert find_base_class() is ModelAdmin
