"""Parts of sentences: lists, names of days and months, durations. All in the active language."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.text import gettext_noop, ngettext

_WEEKDAYS = (
    gettext_noop("Sunday"),
    gettext_noop("Monday"),
    gettext_noop("Tuesday"),
    gettext_noop("Wednesday"),
    gettext_noop("Thursday"),
    gettext_noop("Friday"),
    gettext_noop("Saturday"),
)
_MONTHS = (
    gettext_noop("January"),
    gettext_noop("February"),
    gettext_noop("March"),
    gettext_noop("April"),
    gettext_noop("May"),
    gettext_noop("June"),
    gettext_noop("July"),
    gettext_noop("August"),
    gettext_noop("September"),
    gettext_noop("October"),
    gettext_noop("November"),
    gettext_noop("December"),
)
_NTH = {
    1: gettext_noop("the first %(weekday)s"),
    2: gettext_noop("the second %(weekday)s"),
    3: gettext_noop("the third %(weekday)s"),
    4: gettext_noop("the fourth %(weekday)s"),
    5: gettext_noop("the fifth %(weekday)s"),
    -1: gettext_noop("the last %(weekday)s"),
}


def weekday_name(number: int) -> str:
    """0 is Sunday."""
    return _(_WEEKDAYS[number])


def month_name(number: int) -> str:
    return _(_MONTHS[number - 1])


def nth_weekday(n: int, weekday: int) -> str:
    """Such as "the second Friday"; -1 is the last."""
    return _(_NTH[n]) % {"weekday": weekday_name(weekday)}


def joined(words: Iterable[str]) -> str:
    """Such as "a, b and c"."""
    *head, last = words
    if not head:
        return last
    return _("%(head)s and %(last)s") % {"head": ", ".join(head), "last": last}


def number_groups(numbers: Iterable[int]) -> list[str]:
    """Ascending numbers, three or more neighbours as "1 to 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [text for run in runs for text in _run(run)]


def _run(run: list[int]) -> list[str]:
    if len(run) < 3:
        return [str(number) for number in run]
    return [_("%(first)d to %(last)d") % {"first": run[0], "last": run[-1]}]


def date_phrases(dates: Iterable[int]) -> list[str]:
    """Days of the month, -1 being the last: "days 1 to 7 and 15", "the last day", "day 2 from the end"."""
    given = sorted(dates)
    front = [day for day in given if day > 0]
    phrases = []
    if front:
        text = ngettext("day %(days)s", "days %(days)s", len(front))
        phrases.append(text % {"days": joined(number_groups(front))})
    return phrases + [_from_the_end(-day) for day in given[::-1] if day < 0]


def _from_the_end(day: int) -> str:
    return _("the last day") if day == 1 else _("day %(day)d from the end") % {"day": day}


def duration_phrase(duration: timedelta) -> str:
    """Such as "1 hour 30 minutes"."""
    return " ".join(text for count, text in _units(duration) if count)


def interval_phrase(interval: timedelta) -> str:
    """What follows "every": as ``duration_phrase``, but a single unit stands alone ("hour")."""
    units = {
        timedelta(days=1): _("24 hours"),
        timedelta(hours=1): _("hour"),
        timedelta(minutes=1): _("minute"),
        timedelta(seconds=1): _("second"),
    }
    return units.get(interval) or duration_phrase(interval)


def _units(duration: timedelta) -> list[tuple[int, str]]:
    minutes, seconds = divmod(duration.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    millis, micros = divmod(duration.microseconds, 1000)
    return [
        (duration.days, ngettext("%(n)d day", "%(n)d days", duration.days) % {"n": duration.days}),
        (hours, ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}),
        (minutes, ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}),
        (seconds, ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}),
        (millis, ngettext("%(n)d millisecond", "%(n)d milliseconds", millis) % {"n": millis}),
        (micros, ngettext("%(n)d microsecond", "%(n)d microseconds", micros) % {"n": micros}),
    ]
