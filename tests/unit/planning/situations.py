"""Jobs and plans as the tests of planning make them. All instants are aware UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django_gocron.planning import Definition, Passed, Plan, Progress, first_tick, plan
from django_gocron.schedules import Every, Schedule

BERLIN = ZoneInfo("Europe/Berlin")
ZERO, SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (0, 1, 60, 3600, 86400))
MICROSECOND = timedelta(microseconds=1)


def at(clock: str, *, day: int = 5) -> datetime:
    """A time of a day of January 2026 in UTC; the 5th is a Monday."""
    return datetime.fromisoformat(f"2026-01-{day:02}T{clock}").replace(tzinfo=UTC)


START = at("00:00")
MINUTELY = Every(minutes=1)


def define(schedule: Schedule | None = MINUTELY, **options: Any) -> Definition:
    return Definition(schedule=schedule, zone=options.pop("zone", ZoneInfo("UTC")), seed="job", **options)


def planned(
    definition: Definition,
    *,
    next_tick: datetime,
    now: datetime,
    ahead: timedelta = SECOND,
    budget: int | None = None,
    anchor: datetime = START,
) -> Plan:
    progress = Progress(anchor_at=anchor, next_tick_at=next_tick, budget=budget)
    return plan(definition, progress, now=now, horizon=now + ahead)


def running(answer: Plan) -> list[datetime]:
    return [tick.scheduled_for for tick in answer.ticks]


def row(status: str, reason: str, first: datetime, last: datetime, count: int) -> tuple[Passed, ...]:
    return (Passed(status=status, reason=reason, first=first, last=last, count=count),)


def first(definition: Definition, now: datetime, anchor: datetime | None = None) -> datetime | None:
    return first_tick(definition, anchor=anchor or definition.starts_at or now, now=now)
