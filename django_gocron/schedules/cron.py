"""Cron expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django_gocron.schedules.cron_contract import Walked
from django_gocron.schedules.cron_implementation import cron_times, find_implementation
from django_gocron.schedules.cron_sentences import cron_sentence
from django_gocron.schedules.cron_text import CronText, split, tidy
from django_gocron.schedules.croniter_times import CroniterTimes
from django_gocron.schedules.firing import WILDCARD, Firing, fixed
from django_gocron.schedules.interval import Every
from django_gocron.schedules.terms import Terms
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.wall import WallSchedule
from django_gocron.schedules.zones import find_zone


@dataclass(frozen=True, slots=True, init=False)
class Cron(WallSchedule, kind="cron"):
    """``minute hour day-of-month month day-of-week``, or six fields with seconds first; ``@hourly`` and the like.

    Its zone is that of a ``TZ=`` or ``CRON_TZ=`` prefix, else ``timezone``, else the one of the question.
    If the minute or the hour begins with a star it is a wildcard schedule, else a fixed one: see ``firing``.
    If both day fields are restricted (anything but ``*`` and ``?``), a day that matches either counts.
    ``implementation`` names who reads the expression, if not the process's cron implementation.
    ``Cron("@every 90s")`` is ``Every(90)``.

    ``ScheduleError``: ``expression_too_long``, ``expression_not_text``, ``timezone_unknown``, ``alias_unknown``,
    ``reboot_unsupported``, ``implementation_unknown``, ``never_fires``, those of single fields (see ``cron_fields``).
    """

    expression: str
    timezone: str | None
    implementation: str | None

    def __new__(
        cls,
        expression: str = "",
        *,
        timezone: str | None = None,  # noqa: ARG004
        implementation: str | None = None,  # noqa: ARG004
    ) -> Any:
        every = split(tidy(expression)).every
        return object.__new__(cls) if every is None else Every(every)

    def __init__(
        self, expression: str, *, timezone: str | None = None, implementation: str | None = None
    ) -> None:
        if timezone is not None:
            find_zone(timezone)
        if implementation is not None:
            find_implementation(implementation)
        self._assign(expression=tidy(expression), timezone=timezone, implementation=implementation)
        self.times  # noqa: B018 - reads the expression, and raises what is wrong with it
        self.own_zone  # noqa: B018 - likewise

    @property
    def times(self) -> CroniterTimes | Walked:
        """The wall times of the expression."""
        return cron_times(_split(self.expression).fields, self.implementation)

    @property
    def follows_the_clock(self) -> bool:
        return self.times.wildcard

    @property
    def own_zone(self) -> ZoneInfo | None:
        zone = _split(self.expression).zone
        if zone is not None:
            return find_zone(zone, "expression")
        return None if self.timezone is None else find_zone(self.timezone)

    def firing(self, terms: Terms) -> Firing:
        times = self.times
        passes = WILDCARD if times.wildcard else fixed(terms.gap, terms.fold)
        return Firing(times, self.own_zone or terms.zone, passes)

    def describe(self) -> str:
        times = self.times
        sentence = cron_sentence(times.sets) if isinstance(times, CroniterTimes) else None
        if sentence is None:
            return self.expression
        if self.own_zone is None:
            return sentence
        return _("%(sentence)s, %(zone)s time") % {"sentence": sentence, "zone": self.own_zone.key}

    def to_data(self) -> dict[str, Any]:
        data = {
            "expression": self.expression,
            "timezone": self.timezone,
            "implementation": self.implementation,
        }
        return {name: value for name, value in data.items() if value is not None}


@lru_cache(maxsize=4096)
def _split(expression: str) -> CronText:
    return split(expression)
