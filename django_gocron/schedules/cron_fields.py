"""The five or six fields of a cron expression, checked and rewritten so that they mean one thing only.

Ranges that wrap, ``a-a``, ``a/n``, names and Sunday as 7 are spelt out; ``L``, ``W`` and ``#`` are taken aside. What is
left, lists of numbers and plain ranges, every cron implementation reads alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.suggestions import find_close, with_suggestion
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.text import gettext_noop
from django_gocron.schedules.weekdays import SHORT

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What one place of an expression may hold; ``names[i]`` stands for ``low + i``."""

    label: str
    noun: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.high - self.low + 1


SECOND = Field(label=gettext_noop("Second"), noun="second", low=0, high=59)
MINUTE = Field(label=gettext_noop("Minute"), noun="minute", low=0, high=59)
HOUR = Field(label=gettext_noop("Hour"), noun="hour", low=0, high=23)
DAY = Field(label=gettext_noop("Day of month"), noun="day", low=1, high=31)
MONTH = Field(label=gettext_noop("Month"), noun="month", low=1, high=12, names=MONTHS)
WEEKDAY = Field(label=gettext_noop("Day of week"), noun="weekday", low=0, high=6, names=SHORT)
FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)

SUNDAY_TOO = 7
"""The other number of Sunday."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """What has been read of one field: ``plain`` items in numbers, and what was taken aside.

    ``wrapped`` are the ranges that pass the end of the field, as written, with the values they stand for.
    """

    text: str
    plain: list[str] = field(default_factory=list)
    last_day: bool = False
    nearest: set[int] = field(default_factory=set)
    nth: set[tuple[int, int]] = field(default_factory=set)
    wrapped: list[tuple[str, list[int]]] = field(default_factory=list)

    @property
    def is_restricted(self) -> bool:
        """Whether it says anything: ``*/1`` does, as only ``*`` and ``?`` do not."""
        return self.text not in ("*", "?")

    @property
    def has_star(self) -> bool:
        """Whether its text begins with a star."""
        return self.text.startswith("*")


def read_fields(text: str) -> tuple[Reading, ...]:
    """Seconds, minutes, hours, days, months and weekdays of single-spaced ``text``; seconds are 0 unless given.

    ``ScheduleError``: ``field_count``, ``year_unsupported``, and what single fields raise: ``second_out_of_range`` and
    so on for every field, ``month_unknown``, ``weekday_unknown``, ``nth_out_of_range``, ``step_zero``,
    ``step_unreadable``, ``question_mark_misplaced``, ``hash_unsupported``, ``random_unsupported``,
    ``field_unreadable``.
    """
    parts = text.split(" ") if text else []
    if len(parts) == 7:
        message = _("A seventh field, the year, is not supported. Leave it out and give the job an end.")
        raise ScheduleError(message, code="year_unsupported", field="expression")
    if len(parts) not in (5, 6):
        message = _(
            "Enter a cron expression with 5 parts: minute, hour, day of month, month, day of week "
            "(or 6, with seconds first). You entered %(count)d."
        )
        raise ScheduleError(message % {"count": len(parts)}, code="field_count", field="expression")
    if len(parts) == 5:
        parts.insert(0, "0")
    return tuple(_read_field(place, part) for place, part in zip(FIELDS, parts, strict=True))


def _read_field(place: Field, text: str) -> Reading:
    reading = Reading(text=text)
    if text == "?" and place in (DAY, WEEKDAY):
        reading.plain.append(f"{place.low}-{place.high}")
        return reading
    for item in text.lower().split(","):
        if not _take_aside(place, item, reading):
            reading.plain.append(_plain(place, item, reading))
    return reading


_NEAREST = re.compile(r"([0-9]+)w")
_LAST = re.compile(r"l([0-9]+|[a-z]{3})|([0-9]+|[a-z]{3})l")
_NTH = re.compile(r"([0-9]+|[a-z]+)#([0-9]+)")


def _take_aside(place: Field, item: str, reading: Reading) -> bool:
    """Read ``L`` and ``15W`` of a day of month, ``L5``, ``5L`` and ``5#2`` of a day of week."""
    if place is DAY and item == "l":
        reading.last_day = True
    elif place is DAY and (nearest := _NEAREST.fullmatch(item)):
        reading.nearest.add(_number(DAY, nearest[1]))
    elif place is WEEKDAY and (last := _LAST.fullmatch(item)):
        reading.nth.add((-1, _value(WEEKDAY, last[1] or last[2]) % 7))
    elif place is WEEKDAY and (nth := _NTH.fullmatch(item)):
        reading.nth.add((_nth(nth[2], item), _value(WEEKDAY, nth[1]) % 7))
    else:
        return False
    return True


def _nth(text: str, item: str) -> int:
    if text not in ("1", "2", "3", "4", "5"):
        message = _("The number after '#' must be from 1 to 5 in '%(item)s'.")
        raise ScheduleError(message % {"item": item}, code="nth_out_of_range", field="expression")
    return int(text)


def _plain(place: Field, item: str, reading: Reading) -> str:
    """One item of a list in numbers: ``5``, ``5-9``, ``5-59/10``, or values with commas where a range wraps."""
    base, slash, step_text = item.partition("/")
    step = _step(step_text, item) if slash else 1
    if base == "*":
        return f"{place.low}-{place.high}/{step}"
    first, dash, last = base.partition("-")
    low = _value(place, first)
    high = _value(place, last) if dash else low
    if low == high and (dash or not slash):
        return str(_home(place, low))
    low = _home(place, low)
    if not dash:
        high = place.high
    if low <= high <= place.high:
        return str(low) if low == high else f"{low}-{high}/{step}"
    values = _unrolled(place, low, high, step)
    if high < low:
        reading.wrapped.append((item, values))
    return ",".join(map(str, values))


def _unrolled(place: Field, low: int, high: int, step: int) -> list[int]:
    """The values of a range that passes the end of the field."""
    end = high if high >= low else high + place.size
    return [_home(place, value) for value in range(low, end + 1, step)]


def _home(place: Field, value: int) -> int:
    return value if value <= place.high else value - place.size


def _step(text: str, item: str) -> int:
    if not _is_number(text):
        message = _("'%(item)s' cannot be read: after the '/' comes a number, as in */15.")
        raise ScheduleError(message % {"item": item}, code="step_unreadable", field="expression")
    if not int(text):
        message = _("'%(item)s' is not possible. The step must be 1 or more.")
        raise ScheduleError(message % {"item": item}, code="step_zero", field="expression")
    return int(text)


def _value(place: Field, text: str) -> int:
    """A number or a name as a number; Sunday may still be 7."""
    if _is_number(text):
        return _number(place, text)
    if text in place.names:
        return place.low + place.names.index(text)
    raise _unknown(place, text)


def _number(place: Field, text: str) -> int:
    value, high = int(text), SUNDAY_TOO if place is WEEKDAY else place.high
    if place.low <= value <= high:
        return value
    limits = _limits(place)
    message = _("'%(text)s' is too low.") if value < place.low else _("'%(text)s' is too high.")
    raise ScheduleError(
        f"{limits} {message % {'text': text}}", code=f"{place.noun}_out_of_range", field="expression"
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _limits(place: Field) -> str:
    if place is MONTH:
        return _("Month must be 1-12 or JAN-DEC.")
    if place is WEEKDAY:
        return _("Day of week must be 0-7 or SUN-SAT.")
    message = _("%(field)s must be from %(low)d to %(high)d.")
    return message % {"field": _(place.label), "low": place.low, "high": place.high}


def _unknown(place: Field, text: str) -> ScheduleError:
    if text == "?":
        message = _("'?' stands alone, and for the day of month or the day of week only.")
        return ScheduleError(message, code="question_mark_misplaced", field="expression")
    if re.fullmatch(r"[hr](\(.*)?", text):
        return _spread(text)
    message = _limits(place) + " " + _("'%(text)s' is not known.") % {"text": text}
    close = find_close(text, place.names, cutoff=0.5)
    message = with_suggestion(message, close and close.upper())
    code = f"{place.noun}_unknown" if place.names else "field_unreadable"
    return ScheduleError(message, code=code, field="expression")


def _spread(text: str) -> ScheduleError:
    if text.startswith("h"):
        message = _("'H' is not supported. Write a number, and give the job a jitter to spread its runs.")
        return ScheduleError(message, code="hash_unsupported", field="expression")
    message = _("'R' is not supported. Write a number, or use a random interval.")
    return ScheduleError(message, code="random_unsupported", field="expression")
