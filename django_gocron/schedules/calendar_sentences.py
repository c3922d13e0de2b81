"""One sentence for each calendar kind and for single instants, in the active language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, time

from django_gocron.schedules.day_sentences import EVERY_DAY, DayPhrase, at_sentence, weekday_phrase
from django_gocron.schedules.monthdays import MonthDay, numbered_weekday
from django_gocron.schedules.phrases import date_phrases, joined, nth_weekday, weekday_name
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.text import ngettext
from django_gocron.schedules.timesofday import time_text


def daily_sentence(every: int, at: Sequence[time]) -> str:
    if every == 1:
        return at_sentence(EVERY_DAY, _times(at))
    sentence = ngettext("At %(times)s every %(n)d day", "At %(times)s every %(n)d days", every)
    return sentence % {"n": every, "times": _times(at)}


def weekly_sentence(every: int, on: frozenset[int], at: Sequence[time]) -> str:
    """``on`` are numbers of weekdays; 0 is Sunday."""
    if every == 1:
        return at_sentence(weekday_phrase(on), _times(at))
    sentence = ngettext(
        "Every %(n)d week on %(days)s at %(times)s", "Every %(n)d weeks on %(days)s at %(times)s", every
    )
    return sentence % {"n": every, "days": joined(map(weekday_name, sorted(on))), "times": _times(at)}


def monthly_sentence(every: int, on: Sequence[MonthDay], at: Sequence[time]) -> str:
    dates = date_phrases(day for day in on if isinstance(day, int))
    numbered = [nth_weekday(*numbered_weekday(day)) for day in on if isinstance(day, str)]
    days = joined([*dates, *numbered])
    if every == 1:
        return at_sentence(DayPhrase("picked", days), _times(at))
    sentence = ngettext(
        "Every %(n)d month on %(days)s at %(times)s", "Every %(n)d months on %(days)s at %(times)s", every
    )
    return sentence % {"n": every, "days": days, "times": _times(at)}


def one_time_sentence(instants: Sequence[datetime]) -> str:
    first, last = instants[0], instants[-1]
    if first == last:
        return _("Once, at %(moment)s") % {"moment": _moment(first)}
    facts = {"n": len(instants), "first": _moment(first), "last": _moment(last)}
    return _("%(n)d times, from %(first)s to %(last)s") % facts


def _times(at: Iterable[time]) -> str:
    return joined(map(time_text, at))


def _moment(instant: datetime) -> str:
    return f"{instant.date()} {time_text(instant.time())} UTC"
