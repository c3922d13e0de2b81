"""Schedules that read a wall clock: cron and the calendar kinds."""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime

from django_gocron.schedules.base import TermedSchedule
from django_gocron.schedules.firing import Firing
from django_gocron.schedules.terms import Terms


class WallSchedule(TermedSchedule):
    """A schedule whose ticks are wall times read on a zone's clock."""

    __slots__ = ()

    @property
    def follows_the_clock(self) -> bool:
        """Whether it fires at every real instant that matches, so that gaps, folds and their policies do not matter."""
        return False

    @abstractmethod
    def firing(self, terms: Terms) -> Firing:
        """Its wall times, the zone in which they are read, and what gaps and folds do to them."""

    def _next(self, moment: datetime, terms: Terms) -> datetime | None:
        return self.firing(terms).next(moment)

    def _latest(self, moment: datetime, terms: Terms) -> datetime | None:
        return self.firing(terms).latest(moment, terms.anchor)

    def _count(self, after: datetime, through: datetime, terms: Terms) -> int:
        return self.firing(terms).count(after, through)
