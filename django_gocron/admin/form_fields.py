"""Form fields for what people write in schedules: wall times, instants, lists of days and times; and time zones."""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.schedules.timesofday import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable


class WallTimeField(forms.Field):
    """A date and time of a wall clock: naive. Whose clock it is, the form decides."""

    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": 1})
    default_error_messages = {"invalid": gettext_lazy("Enter a date and time such as 2026-12-24 18:00.")}

    def prepare_value(self, value: Any) -> Any:
        return value.replace(microsecond=0, tzinfo=None) if isinstance(value, datetime) else value

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        return value if isinstance(value, datetime) else self._read(str(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.prepare_value(initial) != self.to_python(data))
        except ValidationError:
            return True

    def _read(self, text: str) -> datetime:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is not None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return moment


class InstantsField(forms.CharField):
    """Dates and times, one a line, naive or with an offset."""

    widget = forms.Textarea(attrs={"rows": 3, "cols": 40, "dir": "ltr"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(_instant_text(each) for each in value) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> Any:
        return [_read_instant(line) for line in super().clean(value).splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), "\n".join((data or "").splitlines()))


def _instant_text(moment: datetime) -> str:
    return moment.isoformat(
        " ", "microseconds" if moment.microsecond else "seconds" if moment.second else "minutes"
    )


def _read_instant(line: str) -> datetime:
    try:
        return datetime.fromisoformat(line.strip())
    except ValueError:
        message = _("“%(text)s” is not a date and time. Write one a line, such as 2026-12-24 18:00.")
        raise ValidationError(message, code="time_unreadable", params={"text": line.strip()}) from None


class ListField(forms.CharField):
    """Several values in one line, separated by commas."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(self.write(each) for each in value) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> Any:
        return [self.read(part.strip()) for part in super().clean(value).split(",") if part.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)

    def read(self, text: str) -> Any:
        return text

    def write(self, value: Any) -> str:
        return str(value)


class TimesField(ListField):
    """ "09:00, 17:30"; what is wrong with a time, the schedule says."""

    def write(self, value: Any) -> str:
        return time_text(value) if isinstance(value, time) else str(value)


class MonthDaysField(ListField):
    """ "1, 15, last day, first mon": days from the front, from the end, and numbered weekdays."""

    def read(self, text: str) -> Any:
        words = text.lower().removesuffix("day").split() or [text]
        if words in (["last"], ["-1"]):
            return -1
        if re.fullmatch(r"[+-]?[0-9]{1,9}", text):
            return int(text)
        return text

    def write(self, value: Any) -> str:
        return "last day" if value == -1 else str(value)


class WeekdaysField(forms.MultipleChoiceField):
    """Ticked weekdays, as "mon" to "sun"."""

    widget = forms.CheckboxSelectMultiple

    def prepare_value(self, value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value


class Suggestions(forms.TextInput):
    """A text box that suggests values and takes others."""

    template_name = "admin/gocron/parts/suggestions.html"

    def __init__(self, options: Iterable[str], attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self._options = options

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        list_id = f"{(attrs or {}).get('id', name)}_list"
        context = super().get_context(name, value, {**(attrs or {}), "list": list_id})
        return {**context, "list_id": list_id, "options": sorted(self._options)}


def zone_box() -> Suggestions:
    """For time zones; every name the system knows is suggested."""
    return Suggestions(available_timezones(), {"dir": "ltr", "autocomplete": "off"})
