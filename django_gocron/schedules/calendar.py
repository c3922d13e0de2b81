"""Fixed local times on days of the calendar, counted from the anchor's local day, week or month."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time
from functools import lru_cache
from typing import Any

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.calendar_sentences import daily_sentence, monthly_sentence, weekly_sentence
from django_gocron.schedules.days import MonthDays, PeriodicDays, SteppedMonths
from django_gocron.schedules.daytimes import Days, DayTimes, ListedTimes
from django_gocron.schedules.firing import Firing, fixed
from django_gocron.schedules.monthdays import MonthDay, as_list, day_pattern, read_month_days
from django_gocron.schedules.suggestions import shown
from django_gocron.schedules.terms import Terms
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.timesofday import read_times, second_of_day, time_text
from django_gocron.schedules.wall import WallSchedule
from django_gocron.schedules.wallclock import offset_at
from django_gocron.schedules.weekdays import SHORT, read_weekday

At = str | time | Iterable[str | time]


class CalendarSchedule(WallSchedule):
    """A wall time fires at the first instant at which the local clock reads that time or later.

    ``at`` is one time or several: "HH:MM", "HH:MM:SS" or ``time``. ``every`` counts days, weeks or months.
    ``ScheduleError`` for both: ``no_times``, ``time_unreadable``, ``hour_out_of_range``, ``minute_out_of_range``,
    ``second_out_of_range``; ``zero_interval``, ``negative_interval``, ``interval_not_whole``.
    """

    __slots__ = ()

    every: int
    at: tuple[time, ...]

    @abstractmethod
    def days(self, anchor: date) -> Days:
        """The days on which it fires; ``anchor`` is the local day from which they count."""

    def firing(self, terms: Terms) -> Firing:
        anchor = terms.anchor + offset_at(terms.zone, terms.anchor)
        return Firing(_wall_times(self, anchor.date()), terms.zone, fixed(terms.gap, terms.fold))

    def _at_data(self) -> list[str]:
        return [time_text(each) for each in self.at]


@lru_cache(maxsize=1024)
def _wall_times(schedule: CalendarSchedule, anchor: date) -> DayTimes:
    return DayTimes(schedule.days(anchor), ListedTimes([second_of_day(each) for each in schedule.at]))


@dataclass(frozen=True, slots=True, init=False)
class Daily(CalendarSchedule, kind="daily"):
    """Local days whose distance from the anchor's is divisible by ``every``."""

    every: int
    at: tuple[time, ...]

    def __init__(self, *, every: int = 1, at: At) -> None:
        self._assign(every=_read_every(every), at=read_times(at))

    def days(self, anchor: date) -> Days:
        return PeriodicDays(origin=anchor.toordinal(), period=self.every, offsets=[0])

    def describe(self) -> str:
        return daily_sentence(self.every, self.at)

    def to_data(self) -> dict[str, Any]:
        return {"every": self.every, "at": self._at_data()}


@dataclass(frozen=True, slots=True, init=False)
class Weekly(CalendarSchedule, kind="weekly"):
    """Weekdays of the weeks whose distance from the anchor's is divisible by ``every``.

    ``on`` holds names, "mon" or "Monday"; weeks begin on ``week_start``.
    Further ``ScheduleError``: ``no_days``, ``weekday_unknown``.
    """

    every: int
    on: tuple[str, ...]
    at: tuple[time, ...]
    week_start: str

    def __init__(self, *, every: int = 1, on: str | Iterable[str], at: At, week_start: str = "sun") -> None:
        self._assign(
            every=_read_every(every),
            on=_read_weekdays(on),
            at=read_times(at),
            week_start=SHORT[read_weekday(week_start, "week_start")],
        )

    def days(self, anchor: date) -> Days:
        start = SHORT.index(self.week_start)
        into_week = (anchor.isoweekday() - start) % 7
        offsets = [(SHORT.index(name) - start) % 7 for name in self.on]
        return PeriodicDays(origin=anchor.toordinal() - into_week, period=7 * self.every, offsets=offsets)

    def describe(self) -> str:
        return weekly_sentence(self.every, frozenset(map(SHORT.index, self.on)), self.at)

    def to_data(self) -> dict[str, Any]:
        on, at = list(self.on), self._at_data()
        return {"every": self.every, "on": on, "at": at, "week_start": self.week_start}


@dataclass(frozen=True, slots=True, init=False)
class Monthly(CalendarSchedule, kind="monthly"):
    """Days of the months whose distance from the anchor's is divisible by ``every``.

    ``on`` holds days from the front (1 to 31), from the end (-1 is the last) and numbered weekdays ("first mon",
    "last friday"). A day that a month lacks is skipped, never moved.
    Further ``ScheduleError``: ``no_days``, ``day_out_of_range``, ``day_unreadable``, ``weekday_unknown``.
    """

    every: int
    on: tuple[MonthDay, ...]
    at: tuple[time, ...]

    def __init__(self, *, every: int = 1, on: MonthDay | Iterable[MonthDay], at: At) -> None:
        self._assign(every=_read_every(every), on=read_month_days(on), at=read_times(at))

    def days(self, anchor: date) -> Days:
        months = SteppedMonths(origin=anchor.year * 12 + anchor.month - 1, every=self.every)
        return MonthDays(months, day_pattern(self.on))

    def describe(self) -> str:
        return monthly_sentence(self.every, self.on, self.at)

    def to_data(self) -> dict[str, Any]:
        return {"every": self.every, "on": list(self.on), "at": self._at_data()}


def _read_every(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        message = _("'Every' must be a whole number, 1 or more; %(value)s is not one.")
        raise ScheduleError(message % {"value": shown(value)}, code="interval_not_whole", field="every")
    if value < 1:
        code = "negative_interval" if value else "zero_interval"
        raise ScheduleError(_("Interval must be more than 0."), code=code, field="every")
    return value


def _read_weekdays(value: object) -> tuple[str, ...]:
    numbers = sorted({read_weekday(each, "on") for each in as_list(value)})
    if not numbers:
        raise ScheduleError(_("Choose at least one weekday."), code="no_days", field="on")
    return tuple(SHORT[number] for number in numbers)
