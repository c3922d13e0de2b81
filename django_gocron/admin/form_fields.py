"""Form fields for what people write: durations, wall times, lists of days and times, JSON."""

from __future__ import annotations

import json
import re
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_duration
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.models.fields import Unreadable
from django_gocron.schedules.timesofday import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable

UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
SPELLINGS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
_PARTS = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*([a-z]*)", re.I)


def read_duration(text: str) -> timedelta | None:
    """ "90", "90 s", "5 min", "1 h 30 min", "1:30:00", "2 days"; None for anything else."""
    text = text.strip()
    numbers = _PARTS.findall(text)
    if numbers and not _PARTS.sub("", text).strip(" ,"):
        return _add_parts(numbers)
    try:
        return parse_duration(text) if ":" in text or text.startswith("P") else None
    except OverflowError:
        return None


def _add_parts(parts: list[tuple[str, str]]) -> timedelta | None:
    if len(parts) > 1 and any(not unit for _number, unit in parts):
        return None
    total = timedelta(0)
    for number, unit in parts:
        spelling = SPELLINGS.get(unit.lower() or "s")
        if spelling is None:
            return None
        try:
            total += float(number.replace(",", ".")) * UNITS[spelling]
        except OverflowError:
            return None
    return total


def write_duration(duration: timedelta) -> str:
    """What ``read_duration`` reads: "1 h 30 min"."""
    if duration < timedelta(0):
        return str(duration)
    parts, left = [], duration
    for unit in ("d", "h", "min"):
        number, left = divmod(left, UNITS[unit])
        if number:
            parts.append(f"{number} {unit}")
    if left or not parts:
        parts.append(f"{left.total_seconds():g} s" if left.microseconds else f"{left.seconds} s")
    return " ".join(parts)


class DurationField(forms.DurationField):
    """A length of time as people write it; a number alone is in seconds."""

    widget = forms.TextInput
    default_error_messages = {
        "invalid": gettext_lazy("Enter a duration such as 90 s, 5 min, 1 h 30 min or 1:30:00.")
    }

    def prepare_value(self, value: Any) -> Any:
        return write_duration(value) if isinstance(value, timedelta) else value

    def to_python(self, value: Any) -> timedelta | None:
        if isinstance(value, timedelta):
            return value
        if value in self.empty_values:
            return None
        duration = read_duration(str(value))
        if duration is None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return duration


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
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None
        return moment.replace(tzinfo=None)


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


class JSONBox(forms.JSONField):
    """JSON, laid out to be read. A stored text that is no JSON is shown as it is, and stays if it is not touched."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored: Unreadable | None = None

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Unreadable):
            return value.text
        if isinstance(value, str) or value is None:
            return super().prepare_value(value)
        return json.dumps(
            value, indent=2 if _is_nested(value) else None, ensure_ascii=False, cls=self.encoder
        )

    def bound_data(self, data: Any, initial: Any) -> Any:
        return self.stored if self._is_stored(data) else super().bound_data(data, initial)

    def to_python(self, value: Any) -> Any:
        if self._is_stored(value):
            return self.stored
        if value in self.empty_values:
            return None
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError) as error:
            raise ValidationError(_describe(error), code="invalid") from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self._is_stored(data) and super().has_changed(initial, data)

    def _is_stored(self, text: Any) -> bool:
        """Whether the text is still the unreadable one; browsers change the ends of lines."""
        return self.stored is not None and str(text).split() == self.stored.text.split()


def _is_nested(value: Any) -> bool:
    """Whether one line would be hard to read."""
    return (isinstance(value, dict) and len(value) > 1) or len(json.dumps(value, default=str)) > 60


def _describe(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        place = {"line": error.lineno, "column": error.colno, "error": error.msg}
        return _("Not valid JSON (line %(line)d, column %(column)d: %(error)s).") % place
    return _("Not valid JSON.")


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
