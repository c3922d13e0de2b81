"""Sentences of a part about days and a part about times, in the active language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django_gocron.schedules.phrases import joined, month_name, weekday_name
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.text import gettext_noop

WORKDAYS = frozenset({1, 2, 3, 4, 5})
WEEKEND = frozenset({0, 6})
ALL_WEEKDAYS = frozenset(range(7))
ALL_MONTHS = frozenset(range(1, 13))


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """``shape`` is a row of the tables below; ``days`` and ``months`` fill it in. No months: all of them."""

    shape: str
    days: str = ""
    months: str = ""


EVERY_DAY = DayPhrase("every")

_AT = {
    "every": (
        gettext_noop("At %(times)s every day"),
        gettext_noop("At %(times)s every day in %(months)s"),
    ),
    "workdays": (
        gettext_noop("Weekdays at %(times)s"),
        gettext_noop("Weekdays in %(months)s at %(times)s"),
    ),
    "weekend": (
        gettext_noop("Weekends at %(times)s"),
        gettext_noop("Weekends in %(months)s at %(times)s"),
    ),
    "named": (
        gettext_noop("Every %(days)s at %(times)s"),
        gettext_noop("Every %(days)s in %(months)s at %(times)s"),
    ),
    "picked": (
        gettext_noop("On %(days)s of the month at %(times)s"),
        gettext_noop("On %(days)s of %(months)s at %(times)s"),
    ),
}

_OFTEN = {
    "every": (
        gettext_noop("%(frequency)s"),
        gettext_noop("%(frequency)s, in %(months)s"),
    ),
    "workdays": (
        gettext_noop("%(frequency)s, on weekdays"),
        gettext_noop("%(frequency)s, on weekdays in %(months)s"),
    ),
    "weekend": (
        gettext_noop("%(frequency)s, on weekends"),
        gettext_noop("%(frequency)s, on weekends in %(months)s"),
    ),
    "named": (
        gettext_noop("%(frequency)s, on %(days)s"),
        gettext_noop("%(frequency)s, on %(days)s in %(months)s"),
    ),
    "picked": (
        gettext_noop("%(frequency)s, on %(days)s of the month"),
        gettext_noop("%(frequency)s, on %(days)s of %(months)s"),
    ),
}


def at_sentence(phrase: DayPhrase, times: str) -> str:
    """Such as "Weekdays at 07:30"."""
    sentence = _(_AT[phrase.shape][bool(phrase.months)])
    return sentence % {"days": phrase.days, "months": phrase.months, "times": times}


def often_sentence(phrase: DayPhrase, frequency: str) -> str:
    """Such as "Every 15 minutes, on weekdays"."""
    sentence = _(_OFTEN[phrase.shape][bool(phrase.months)])
    return sentence % {"days": phrase.days, "months": phrase.months, "frequency": frequency}


def weekday_phrase(weekdays: frozenset[int], months: str = "") -> DayPhrase:
    """Plain weekdays; 0 is Sunday."""
    shapes = {ALL_WEEKDAYS: "every", WORKDAYS: "workdays", WEEKEND: "weekend"}
    return DayPhrase(shapes.get(weekdays, "named"), joined(map(weekday_name, sorted(weekdays))), months)


def month_names(months: Iterable[int]) -> str:
    """Such as "January and July"; nothing for all twelve."""
    numbers = sorted(months)
    return "" if len(numbers) == 12 else joined(map(month_name, numbers))
