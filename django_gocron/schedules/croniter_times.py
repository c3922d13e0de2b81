"""The default cron implementation: croniter says what the fields hold, our arithmetic finds the times.

croniter's own search is not used: it misreads combinations of the day fields, and is too slow to count with.
"""

from __future__ import annotations

from dataclasses import dataclass

from croniter import croniter

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.cron_fields import DAY, FIELDS, WEEKDAY, Field, Reading, read_fields
from django_gocron.schedules.days import DayPattern, MonthDays, NamedMonths, ever_picks
from django_gocron.schedules.daytimes import ClockTimes, DayTimes
from django_gocron.schedules.phrases import joined, month_name
from django_gocron.schedules.text import gettext as _


@dataclass(frozen=True, slots=True, kw_only=True)
class CronSets:
    """What an expression means: sorted numbers of each field, and the days it picks.

    ``by_date`` and ``by_weekday``: whether the day of month and the day of week are restricted.
    """

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayPattern
    by_date: bool
    by_weekday: bool


@dataclass(frozen=True, slots=True)
class CroniterTimes(DayTimes):
    """The wall times of an expression, with what was read of it."""

    wildcard: bool
    sets: CronSets
    readings: tuple[Reading, ...]


class CroniterImplementation:
    """Five fields, or six with seconds first; ``L``, ``L5``, ``5L``, ``5#2``, ``15W``; wrapping ranges."""

    def parse(self, expression: str) -> CroniterTimes:
        """``ScheduleError``: those of ``read_fields``, and ``never_fires``."""
        readings = read_fields(expression)
        sets = _sets(readings)
        if not ever_picks(sets.days, sets.months):
            raise _never_fires(sets)
        _second, minute, hour, *_days = readings
        return CroniterTimes(
            MonthDays(NamedMonths(frozenset(sets.months)), sets.days),
            ClockTimes([*sets.hours], [*sets.minutes], [*sets.seconds]),
            wildcard=minute.has_star or hour.has_star,
            sets=sets,
            readings=readings,
        )


def _never_fires(sets: CronSets) -> ScheduleError:
    """Only a date can be missing, from every month that is chosen: the first one stands for all."""
    message = _("This schedule never runs: day %(day)d does not exist in %(months)s.")
    message %= {"day": min(sets.days.dates), "months": joined(map(month_name, sets.months))}
    return ScheduleError(message, code="never_fires", field="expression")


def _sets(readings: tuple[Reading, ...]) -> CronSets:
    day, weekday = readings[FIELDS.index(DAY)], readings[FIELDS.index(WEEKDAY)]
    seconds, minutes, hours, dates, months, weekdays = _expand(readings)
    either = day.is_restricted and weekday.is_restricted
    pattern = DayPattern(
        dates=frozenset(dates) | ({-1} if day.last_day else frozenset()),
        nearest=frozenset(day.nearest),
        weekdays=frozenset(weekdays),
        nth=frozenset(weekday.nth),
        combine="either" if either else "both",
    )
    return CronSets(
        seconds=seconds,
        minutes=minutes,
        hours=hours,
        months=months,
        days=pattern,
        by_date=day.is_restricted,
        by_weekday=weekday.is_restricted,
    )


def _expand(readings: tuple[Reading, ...]) -> list[tuple[int, ...]]:
    """The numbers of every field, as croniter lists them; none where all was taken aside."""
    second, *others = [",".join(reading.plain) or "*" for reading in readings]
    try:
        (*expanded, seconds), _nth = croniter.expand(" ".join([*others, second]))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        message = _("The expression cannot be read: %(error)s.") % {"error": error}
        raise ScheduleError(message, code="unreadable", field="expression") from error
    return [_numbers(*each) for each in zip(FIELDS, readings, [seconds, *expanded], strict=True)]


def _numbers(place: Field, reading: Reading, values: list[int | str]) -> tuple[int, ...]:
    if not reading.plain:
        return ()
    return tuple(range(place.low, place.high + 1)) if values == ["*"] else tuple(map(int, values))
