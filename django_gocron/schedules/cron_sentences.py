"""One sentence for a cron expression, where a plain one says exactly the same. In the active language."""

from __future__ import annotations

from datetime import time
from itertools import product

from django_gocron.schedules.croniter_times import CronSets
from django_gocron.schedules.day_sentences import (
    DayPhrase,
    at_sentence,
    month_names,
    often_sentence,
    weekday_phrase,
)
from django_gocron.schedules.phrases import date_phrases, joined, nth_weekday, number_groups, weekday_name
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.text import ngettext
from django_gocron.schedules.timesofday import time_text

FEW_TIMES, SOME_TIMES = 3, 6
FEW_GROUPS = 6
"""A list that is longer than this is no plain sentence any more."""


def cron_sentence(sets: CronSets) -> str | None:
    """The sentence, or None where the expression itself is easier to read."""
    phrase = _day_phrase(sets)
    if phrase is None:
        return None
    times = _clock_times(sets)
    if times:
        return at_sentence(phrase, joined(times))
    frequency = _frequency(sets)
    return None if frequency is None else often_sentence(phrase, frequency)


def _clock_times(sets: CronSets) -> list[str]:
    """The times of the day, if they are few and read better one by one."""
    count = len(sets.hours) * len(sets.minutes) * len(sets.seconds)
    regular = _step(sets.hours, 24) or _is_range(sets.hours)
    if len(sets.seconds) > 1 or count > (FEW_TIMES if regular else SOME_TIMES):
        return []
    return [time_text(time(*each)) for each in product(sets.hours, sets.minutes, sets.seconds)]


def _frequency(sets: CronSets) -> str | None:
    if sets.seconds != (0,):
        return _secondly(sets.seconds) if len(sets.minutes) == 60 and len(sets.hours) == 24 else None
    return (_minutely if _step(sets.minutes, 60) else _hourly)(sets.minutes, sets.hours)


def _secondly(seconds: tuple[int, ...]) -> str | None:
    every = _step(seconds, 60)
    if every:
        return ngettext("Every second", "Every %(n)d seconds", every) % {"n": every}
    return _("Every minute at second %(second)d") % {"second": seconds[0]} if len(seconds) == 1 else None


def _minutely(minutes: tuple[int, ...], hours: tuple[int, ...]) -> str | None:
    """Minutes at equal distances."""
    every = _step(minutes, 60)
    frequency = ngettext("Every minute", "Every %(n)d minutes", every) % {"n": every}
    if len(hours) == 24:
        return frequency
    if _is_range(hours):
        return _from_to(frequency, time(hours[0]), time(hours[-1], minutes[-1]))
    listed = _hour_list(hours)
    return listed and _("%(frequency)s of %(hours)s") % {"frequency": frequency, "hours": listed}


def _hourly(minutes: tuple[int, ...], hours: tuple[int, ...]) -> str | None:
    """Some minutes of every hour, or of some."""
    every = _step(hours, 24)
    groups = number_groups(minutes)
    if len(groups) > FEW_GROUPS:
        return None
    listed = ngettext("minute %(minutes)s", "minutes %(minutes)s", len(minutes)) % {"minutes": joined(groups)}
    if every:
        frequency = ngettext("Every hour", "Every %(n)d hours", every) % {"n": every}
        at = _("%(frequency)s at %(minutes)s") % {"frequency": frequency, "minutes": listed}
        return frequency if minutes == (0,) else at
    if len(minutes) == 1 and _is_range(hours):
        return _from_to(_("Every hour"), time(hours[0], minutes[0]), time(hours[-1], minutes[0]))
    of = _hour_list(hours)
    return of and _("At %(minutes)s of %(hours)s") % {"minutes": listed, "hours": of}


def _from_to(frequency: str, first: time, last: time) -> str:
    facts = {"frequency": frequency, "first": time_text(first), "last": time_text(last)}
    return _("%(frequency)s from %(first)s to %(last)s") % facts


def _hour_list(hours: tuple[int, ...]) -> str | None:
    groups = number_groups(hours)
    if len(groups) > FEW_GROUPS:
        return None
    return ngettext("hour %(hours)s", "hours %(hours)s", len(hours)) % {"hours": joined(groups)}


def _step(values: tuple[int, ...], size: int) -> int:
    """The distance of values that are spread evenly over the whole field, from 0 on; 0: they are not, or are one."""
    every = size // len(values)
    return every if len(values) > 1 and values == tuple(range(0, size, every)) and size % every == 0 else 0


def _is_range(values: tuple[int, ...]) -> bool:
    return values[-1] - values[0] == len(values) - 1


def _day_phrase(sets: CronSets) -> DayPhrase | None:
    if FEW_GROUPS < len(sets.months) < 12:
        return None
    months = month_names(sets.months)
    if not sets.by_date and not sets.days.nth:
        return weekday_phrase(sets.days.weekdays, months)
    if len(number_groups(sorted(sets.days.dates))) > FEW_GROUPS:
        return None
    return DayPhrase("picked", _picked_days(sets), months)


def _picked_days(sets: CronSets) -> str:
    """Such as "day 13 or every Friday": where both fields are restricted, either counts."""
    parts = []
    if sets.by_date:
        nearest = [_("the weekday nearest day %(day)d") % {"day": day} for day in sorted(sets.days.nearest)]
        parts.append(joined([*date_phrases(sets.days.dates), *nearest]))
    if sets.by_weekday:
        names = map(weekday_name, sorted(sets.days.weekdays))
        every = [_("every %(weekday)s") % {"weekday": name} for name in names]
        parts.append(joined([*every, *(nth_weekday(*each) for each in sorted(sets.days.nth))]))
    return _(" or ").join(parts)
