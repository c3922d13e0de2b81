"""What a schedule means: a sentence, the next runs on two clocks, and what is worth knowing about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from django_gocron.admin.moments import clock_time, in_zone
from django_gocron.admin.standing import when_due
from django_gocron.exceptions import GocronError
from django_gocron.models.definitions import read_definition
from django_gocron.models.fields import Unreadable
from django_gocron.planning import due, first_tick, next_tick
from django_gocron.schedules.advice import advise

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from django_gocron.models import Job, JobState
    from django_gocron.planning import Definition

RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """A run to come: on the job's clock, in UTC, and from now."""

    instant: datetime
    local: str
    utc: str
    relative: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``problems`` are reasons why there is nothing to show; ``advice`` refuses nothing."""

    sentence: str = ""
    zone: str = ""
    coming: Sequence[Coming] = ()
    advice: Sequence[str] = ()
    problems: Sequence[str] = ()


def preview(job: Job, state: JobState | None, now: datetime) -> Preview:
    """Of a job as it would be saved now; whether it is paused or disabled does not matter."""
    if job.schedule is None:
        return Preview(sentence=_("By hand only."))
    if isinstance(job.schedule, Unreadable):
        return Preview(problems=[job.schedule.reason])
    try:
        definition = read_definition(job)
        instants = _next_instants(job, definition, state, now)
        advice = _advice(definition, job, now)
        sentence = job.schedule.describe()
    except GocronError as error:
        return Preview(problems=[error.message])
    zone = definition.zone
    return Preview(sentence=sentence, zone=zone.key, coming=list_coming(instants, zone, now), advice=advice)


def list_coming(instants: Sequence[datetime], zone: ZoneInfo, now: datetime) -> list[Coming]:
    return [
        Coming(
            instant=instant,
            local=in_zone(instant, zone),
            utc=clock_time(instant, UTC) if _is_same_day(instant, zone) else in_zone(instant, UTC),
            relative=when_due(instant, now),
        )
        for instant in instants
    ]


def _is_same_day(instant: datetime, zone: ZoneInfo) -> bool:
    return instant.astimezone(zone).date() == instant.astimezone(UTC).date()


def _next_instants(job: Job, definition: Definition, state: JobState | None, now: datetime) -> list[datetime]:
    """As the engine plans an edit: a job that has an anchor keeps it, and goes on from now."""
    kept = state.anchor_at if state else None
    anchor = job.starts_at or kept or now
    tick = (
        next_tick(definition, anchor=anchor, after=now)
        if kept
        else first_tick(definition, anchor=anchor, now=now)
    )
    left = (
        RUNS if job.max_runs is None else min(RUNS, max(0, job.max_runs - (state.run_count if state else 0)))
    )
    instants: list[datetime] = []
    while tick is not None and len(instants) < left:
        instants.append(due(definition, tick))
        tick = next_tick(definition, anchor=anchor, after=tick)
    return instants


def _advice(definition: Definition, job: Job, now: datetime) -> list[str]:
    assert definition.schedule is not None
    found = advise(
        definition.schedule, zone=definition.zone, after=now, gap=definition.gap, fold=definition.fold
    )
    advice = [one.message for one in found]
    if job.interval_from_completion:
        advice.append(
            _("Each run is counted from the end of the one before, so all but the first are estimates.")
        )
    if job.starts_at and job.starts_at < now and job._state.adding:
        advice.append(_("The start has passed: ticks count from there, and none is made up for."))
    return advice
