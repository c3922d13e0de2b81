"""What planning is told, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django_gocron.exceptions import ScheduleError

if TYPE_CHECKING:
    from django_gocron.schedules import Schedule

LONGEST = timedelta(days=36525)
"""No duration of a job may be longer: with more, sums leave the calendar."""

DURATIONS = ("jitter", "misfire_grace", "catchup_window", "starting_deadline")


class Misfire(StrEnum):
    """What becomes of ticks that are found overdue."""

    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"
    SKIP = "skip"


class FirstRun(StrEnum):
    """When a job runs first."""

    ON_SCHEDULE = "on_schedule"
    IMMEDIATELY = "immediately"
    AT_STARTS_AT = "at_starts_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What people decided about a job, as far as its ticks are concerned.

    ``ScheduleError``: ``duration_out_of_range`` for a duration below zero or above 100 years.
    """

    schedule: Schedule | None
    zone: ZoneInfo
    seed: str
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    first_run: FirstRun = FirstRun.ON_SCHEDULE
    max_runs: int | None = None
    interval_from_completion: bool = False
    jitter: timedelta = timedelta(0)
    gap: str = "run_after"
    fold: str = "first"
    misfire: Misfire = Misfire.RUN_ONCE
    misfire_grace: timedelta = timedelta(seconds=60)
    catchup_window: timedelta | None = None
    max_catchup: int = 100
    starting_deadline: timedelta | None = None
    skip_until: datetime | None = None

    def __post_init__(self) -> None:
        for field in DURATIONS:
            value = getattr(self, field)
            if value is not None and not (isinstance(value, timedelta) and timedelta(0) <= value <= LONGEST):
                message = f"{field} must be a duration from 0 to {LONGEST.days} days, not {value!r}."
                raise ScheduleError(message, code="duration_out_of_range", field=field)

    def calendar(self, anchor: datetime) -> dict[str, Any]:
        """The keyword arguments that every question to the schedule takes."""
        return {"zone": self.zone, "anchor": anchor, "gap": self.gap, "fold": self.fold, "seed": self.seed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a job has come. ``next_tick_at`` is the first tick that is not settled; ``budget`` is how many more
    first attempts ``max_runs`` leaves (None: no limit)."""

    anchor_at: datetime
    next_tick_at: datetime
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A planned instant that is to run at ``due_at`` (jitter included)."""

    scheduled_for: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Ticks from ``first`` to ``last``, ``count`` of them, that do not run, in one row: ``status`` with ``reason``."""

    status: str
    reason: str
    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer: ticks to run, oldest first; ticks that are settled without; and the next one (None: no more)."""

    ticks: tuple[Tick, ...] = ()
    passed: tuple[Passed, ...] = ()
    next_tick_at: datetime | None = None
    next_due_at: datetime | None = None

    @property
    def settled_through(self) -> datetime | None:
        """The latest tick this plan gives a row."""
        return max(
            (*(tick.scheduled_for for tick in self.ticks), *(row.last for row in self.passed)), default=None
        )
