"""The form fields of all kinds of schedules. Each is named ``<kind>_<parameter>``, as ``schedule_kinds`` has it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from django_gocron.admin.duration_field import DurationField
from django_gocron.admin.form_fields import InstantsField, MonthDaysField, TimesField, WeekdaysField
from django_gocron.admin.json_box import JSONBox

WEEKDAYS = [
    ("mon", gettext_lazy("Monday")),
    ("tue", gettext_lazy("Tuesday")),
    ("wed", gettext_lazy("Wednesday")),
    ("thu", gettext_lazy("Thursday")),
    ("fri", gettext_lazy("Friday")),
    ("sat", gettext_lazy("Saturday")),
    ("sun", gettext_lazy("Sunday")),
]

_TIMES_HELP = gettext_lazy("One or several, such as 09:00 or 09:00, 17:30.")


def _times() -> TimesField:
    return TimesField(label=pgettext_lazy("times of a schedule", "At"), required=False, help_text=_TIMES_HELP)


def _count(label: Any) -> forms.IntegerField:
    """What is too small, the schedule says."""
    return forms.IntegerField(label=label, required=False, initial=1, widget=forms.NumberInput({"min": 1}))


class ScheduleFields(forms.Form):
    """The fields of all kinds."""

    kind = forms.ChoiceField(
        label=pgettext_lazy("kind of schedule", "Runs"), widget=forms.RadioSelect, choices=(), initial="every"
    )
    every_interval = DurationField(
        label=pgettext_lazy("interval of a schedule", "Every"),
        required=False,
        help_text=gettext_lazy("Such as 90 s, 5 min, 1 h 30 min or 2 days."),
    )
    every_random_min = DurationField(
        label=gettext_lazy("Shortest"), required=False, help_text=gettext_lazy("Such as 30 s or 5 min.")
    )
    every_random_max = DurationField(
        label=gettext_lazy("Longest"), required=False, help_text=gettext_lazy("Such as 90 s or 15 min.")
    )
    daily_at = _times()
    daily_every = _count(gettext_lazy("Every … days"))
    weekly_on = WeekdaysField(
        label=pgettext_lazy("days of a schedule", "On"), required=False, choices=WEEKDAYS
    )
    weekly_at = _times()
    weekly_every = _count(gettext_lazy("Every … weeks"))
    weekly_week_start = forms.ChoiceField(
        label=gettext_lazy("Weeks begin on"), required=False, choices=WEEKDAYS, initial="sun"
    )
    monthly_on = MonthDaysField(
        label=pgettext_lazy("days of a schedule", "On"),
        required=False,
        help_text=gettext_lazy(
            "Such as 1, 15, last day, first mon or last fri. A day that a month lacks is skipped."
        ),
    )
    monthly_at = _times()
    monthly_every = _count(gettext_lazy("Every … months"))
    cron_expression = forms.CharField(
        label=gettext_lazy("Expression"),
        required=False,
        widget=forms.TextInput(
            attrs={"dir": "ltr", "class": "gocron-code vTextField", "spellcheck": "false"}
        ),
        help_text=gettext_lazy(
            "Minute, hour, day of the month, month, day of the week; with six, seconds come first."
        ),
    )
    one_time_at = InstantsField(
        label=pgettext_lazy("instants of a schedule", "At"),
        required=False,
        help_text=gettext_lazy("One a line, such as 2026-12-24 18:00, on the clocks of the job's time zone."),
    )
    json_data = JSONBox(
        label=gettext_lazy("Schedule"), required=False, widget=forms.Textarea(attrs={"rows": 4, "dir": "ltr"})
    )
