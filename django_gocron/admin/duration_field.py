"""Durations as people write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_duration
from django.utils.translation import gettext_lazy

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
        fraction = f".{left.microseconds:06d}".rstrip("0").rstrip(".")
        parts.append(f"{left.seconds}{fraction} s")
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
