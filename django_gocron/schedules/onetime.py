"""Instants given one by one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.base import TermedSchedule
from django_gocron.schedules.calendar_sentences import one_time_sentence
from django_gocron.schedules.monthdays import as_list
from django_gocron.schedules.suggestions import shown
from django_gocron.schedules.terms import Terms, in_utc
from django_gocron.schedules.text import gettext as _


@dataclass(frozen=True, slots=True, init=False)
class OneTime(TermedSchedule, kind="one_time"):
    """The given instants, sorted and without doubles; those at or before the anchor never fire.

    ``at`` is an aware ``datetime`` or several. ``ScheduleError``: ``no_times``, ``naive_datetime``,
    ``time_unreadable``.
    """

    at: tuple[datetime, ...]

    def __init__(self, at: datetime | Iterable[datetime]) -> None:
        instants = sorted({in_utc(each, "at") for each in as_list(at)})  # type: ignore[arg-type]
        if not instants:
            raise ScheduleError(_("Enter at least one date and time."), code="no_times", field="at")
        self._assign(at=tuple(instants))

    def _next(self, moment: datetime, terms: Terms) -> datetime | None:
        index = self._passed(moment)
        return self.at[index].replace(tzinfo=None) if index < len(self.at) else None

    def _latest(self, moment: datetime, terms: Terms) -> datetime | None:
        index = self._passed(moment)
        return self.at[index - 1].replace(tzinfo=None) if index > self._passed(terms.anchor) else None

    def _count(self, after: datetime, through: datetime, terms: Terms) -> int:
        return self._passed(through) - self._passed(after)

    def _passed(self, moment: datetime) -> int:
        """How many of the instants are at or before ``moment``."""
        return bisect_right(self.at, moment.replace(tzinfo=UTC))

    def describe(self) -> str:
        return one_time_sentence(self.at)

    def to_data(self) -> dict[str, Any]:
        return {"at": [instant.isoformat() for instant in self.at]}

    @classmethod
    def from_data(cls, **data: Any) -> Self:
        return cls(**{**data, "at": [_read_instant(text) for text in as_list(data.get("at"))]})


def _read_instant(text: object) -> datetime:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        message = _("%(text)s is not a date and time such as 2026-12-24T18:00:00+01:00.") % {
            "text": shown(text)
        }
        raise ScheduleError(message, code="time_unreadable", field="at") from error
