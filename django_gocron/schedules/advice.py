"""Warnings that refuse nothing: what a schedule does when clocks are moved, and what may not be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from django_gocron.schedules.base import Schedule
from django_gocron.schedules.calendar import Monthly
from django_gocron.schedules.clock_changes import ClockChange, clock_changes
from django_gocron.schedules.cron import Cron
from django_gocron.schedules.croniter_times import CroniterTimes
from django_gocron.schedules.days import LENGTHS
from django_gocron.schedules.interval import Every
from django_gocron.schedules.phrases import date_phrases, joined, month_name, weekday_name
from django_gocron.schedules.terms import Terms, naive_utc
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.timesofday import time_text
from django_gocron.schedules.wall import WallSchedule

AHEAD = timedelta(days=366)
DAY = timedelta(days=1)

OFTEN = 24 * 60
"""More runs a day than this, one a minute, are worth a word."""

SHORTEST_MONTH = 28

_DAY_STEP = re.compile(r"(?:^|(?<=,))((?:\*|1|1-31)/(?!0*1(?:,|$))0*([0-9]+))")


@dataclass(frozen=True, slots=True)
class Advice:
    """``code`` is stable; ``message`` is for people, in the active language."""

    code: str
    message: str


def advise(
    schedule: Schedule,
    *,
    zone: tzinfo,
    after: datetime,
    anchor: datetime | None = None,
    gap: str = "run_after",
    fold: str = "first",
) -> list[Advice]:
    """What is worth knowing of a schedule from ``after`` on, an aware instant; it counts from ``anchor`` or from there.

    Codes: ``never_fires``, ``gap``, ``fold`` (in the next twelve months), ``skips_months``, ``either_day``,
    ``day_step_restarts``, ``range_wraps``, ``sub_second``, ``very_frequent``.
    """
    anchor = anchor or after
    if schedule.next_after(after, zone=zone, anchor=anchor, gap=gap, fold=fold) is None:
        return [Advice("never_fires", _("Nothing is left to run: this schedule has no time to come."))]
    advice = [*_meaning(schedule), *_often(schedule, zone, after)]
    if isinstance(schedule, WallSchedule) and not schedule.follows_the_clock:
        firing = schedule.firing(Terms(zone, naive_utc(anchor, "anchor"), gap, fold, ""))
        begin = naive_utc(max(after, anchor), "after")
        changes = clock_changes(firing, begin, begin + AHEAD)
        advice += [_gap(change, gap) if change.is_gap else _fold(change, fold) for change in changes]
    return advice


def _gap(change: ClockChange, policy: str) -> Advice:
    message = _(
        "On %(day)s clocks in %(zone)s go from %(before)s to %(after)s, so %(time)s does not exist. %(effect)s "
        "To avoid this, choose a time outside %(before)s-%(after)s or use UTC."
    )
    skipped, run = _("The job will not run for it."), _("The job will run at %(after)s that day.")
    facts = _facts(change, change.before, change.after)
    effect = (run if policy == "run_after" else skipped) % facts
    return Advice("gap", message % {**facts, "effect": effect})


def _fold(change: ClockChange, policy: str) -> Advice:
    message = _(
        "On %(day)s the time %(time)s occurs twice in %(zone)s. %(effect)s "
        "To avoid this, choose a time outside %(before)s-%(after)s or use UTC."
    )
    effects = {
        "first": _("The job will run once, at the first one (%(time)s %(first)s)."),
        "second": _("The job will run once, at the second one (%(time)s %(second)s)."),
        "both": _("The job will run at both (%(time)s %(first)s and %(time)s %(second)s)."),
    }
    facts = _facts(change, change.after, change.before)
    names = {"first": change.name_of_pass(second=False), "second": change.name_of_pass(second=True)}
    return Advice("fold", message % {**facts, "effect": effects[policy] % {**facts, **names}})


def _facts(change: ClockChange, before: datetime, after: datetime) -> dict[str, str]:
    times = {"before": before, "after": after, "time": change.time}
    day = {
        "weekday": weekday_name(change.time.isoweekday() % 7),
        "day": change.time.day,
        "month": month_name(change.time.month),
        "year": change.time.year,
    }
    facts = {"day": _("%(weekday)s %(day)d %(month)s %(year)d") % day, "zone": str(change.zone)}
    return facts | {name: time_text(moment.time()) for name, moment in times.items()}


def _often(schedule: Schedule, zone: tzinfo, after: datetime) -> Iterator[Advice]:
    if isinstance(schedule, Every) and schedule.interval < timedelta(seconds=1):
        yield Advice("sub_second", _("The interval is less than a second: is that meant?"))
    runs = schedule.count_between(after, after + DAY, zone=zone, anchor=after)
    if runs > OFTEN:
        yield Advice("very_frequent", _("This is %(count)s runs a day.") % {"count": f"{runs:,}"})


def _meaning(schedule: Schedule) -> Iterator[Advice]:
    if isinstance(schedule, Monthly):
        yield from _skipped_months([day for day in schedule.on if isinstance(day, int)], SHORTEST_MONTH)
    if isinstance(schedule, Cron) and isinstance(schedule.times, CroniterTimes):
        yield from _cron_meaning(schedule.times)


def _skipped_months(dates: list[int], shortest: int) -> Iterator[Advice]:
    """For days beyond the ``shortest`` of the months, unless there are earlier ones or days from the end as well."""
    if dates and min(dates) > shortest:
        message = _(
            "This runs on %(days)s, so it skips months with fewer days. "
            "For the end of every month choose the last day."
        )
        yield Advice("skips_months", message % {"days": joined(date_phrases(dates))})


def _cron_meaning(times: CroniterTimes) -> Iterator[Advice]:
    sets, (_second, _minute, _hour, day, _month, _weekday) = times.sets, times.readings
    if sets.by_date:
        shortest = min(LENGTHS[month - 1] for month in sets.months)
        yield from _skipped_months(sorted(sets.days.dates), shortest)
    if sets.by_date and sets.by_weekday:
        message = _("Day of month and day of week are both set: the job runs when either matches.")
        yield Advice("either_day", message)
    for item, step in _DAY_STEP.findall(day.text):
        message = _("'%(item)s' does not mean every %(n)s days: it restarts on the 1st of each month.")
        yield Advice("day_step_restarts", message % {"item": item, "n": step})
    for reading in times.readings:
        for text, values in reading.wrapped:
            message = _("'%(range)s' wraps around: %(values)s.")
            yield Advice("range_wraps", message % {"range": text, "values": ", ".join(map(str, values))})
