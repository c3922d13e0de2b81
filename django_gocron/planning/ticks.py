"""Which tick comes next, and when it is to start."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron.planning.values import FirstRun
from django_gocron.schedules import Daily, Monthly, Weekly

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.planning.values import Definition
    from django_gocron.schedules import Schedule

MICROSECOND = timedelta(microseconds=1)


def first_tick(definition: Definition, *, anchor: datetime, now: datetime) -> datetime | None:
    """The first tick of a job that is planned for the first time at ``now``, or None.

    A start in the past is allowed: ticks count from there, and none is made up for. An immediate first run that was
    skipped does not come back.
    """
    starts_at, skip_until = definition.starts_at, definition.skip_until
    if definition.first_run is FirstRun.IMMEDIATELY and skip_until is None:
        return within(definition, max(now, starts_at or now))
    is_to_start = (
        starts_at is not None and starts_at >= now and (skip_until is None or skip_until < starts_at)
    )
    if definition.first_run is FirstRun.AT_STARTS_AT and is_to_start:
        return within(definition, starts_at)
    return next_tick(definition, anchor=anchor, after=now)


def next_tick(definition: Definition, *, anchor: datetime, after: datetime) -> datetime | None:
    """The first tick strictly later than ``after`` inside the job's window, or None when there is none.

    ``starts_at`` and ``ends_at`` are inclusive; ticks up to ``skip_until`` are passed over.
    """
    if definition.schedule is None:
        return None
    if definition.skip_until:
        after = max(after, definition.skip_until)
    if definition.starts_at and after < definition.starts_at:
        if _fires_at(definition.schedule, definition, definition.starts_at):
            return within(definition, definition.starts_at)
        after = definition.starts_at
    return within(definition, definition.schedule.next_after(after, **definition.calendar(anchor)))


def _fires_at(schedule: Schedule, definition: Definition, moment: datetime) -> bool:
    """Whether a wall-clock schedule has a tick at ``moment`` itself: the window includes its start, an anchor does not.

    Its day, week and month are the first, so every one of them counts; the microsecond before may lie in another.
    """
    if isinstance(schedule, Daily | Weekly | Monthly):
        schedule = replace(schedule, every=1)
    before = moment - MICROSECOND
    return schedule.next_after(before, **definition.calendar(before)) == moment


def within(definition: Definition, tick: datetime | None) -> datetime | None:
    """The tick itself unless it lies after the end of the job's window."""
    return None if tick and definition.ends_at and tick > definition.ends_at else tick


def after_completion(definition: Definition, *, finished_at: datetime) -> datetime | None:
    """The next tick of a job whose interval counts from the completion of its last run."""
    return next_tick(definition, anchor=finished_at, after=finished_at)


def due(definition: Definition, tick: datetime) -> datetime:
    """The instant at which a tick is to start: never before the tick, later by at most ``jitter``."""
    if not definition.jitter:
        return tick
    digest = hashlib.blake2b(f"{definition.seed}|{tick.isoformat()}".encode(), digest_size=8).digest()
    return tick + definition.jitter * (int.from_bytes(digest) / 2**64)
