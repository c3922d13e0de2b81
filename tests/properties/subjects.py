"""Random jobs as the package sees them: a schedule, a moment, and what else its questions take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly
from tests.properties.strategies import CalendarJob, CronJob, DurationJob, Job, OneTimeJob, RandomIntervalJob

UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Subject:
    schedule: Schedule
    context: dict[str, Any]
    moment: datetime


def subject(job: Job) -> Subject:
    """Raises ScheduleError where the package refuses the schedule."""
    match job:
        case CronJob(scene=scene):
            zone = scene.zone if job.zone_from == "job" else "Asia/Tokyo"
            context = {"zone": ZoneInfo(zone), "anchor": job.anchor, "gap": job.gap, "fold": job.fold}
            return Subject(cron_schedule(job), context, scene.moment)
        case CalendarJob(scene=scene):
            context = {"zone": ZoneInfo(scene.zone), "anchor": job.anchor, "gap": job.gap, "fold": job.fold}
            return Subject(calendar_schedule(job), context, scene.moment)
        case DurationJob():
            return Subject(Every(job.interval), {"zone": UTC, "anchor": job.anchor}, job.moment)
        case RandomIntervalJob():
            context = {"zone": UTC, "anchor": job.anchor, "seed": job.seed}
            return Subject(EveryRandom(job.shortest, job.longest), context, job.anchor)
        case OneTimeJob():
            return Subject(OneTime(job.at), {"zone": UTC, "anchor": job.moment}, job.moment)


def cron_schedule(job: CronJob) -> Schedule:
    if job.zone_from == "job":
        return Cron(job.expression)
    if job.zone_from == "timezone":
        return Cron(job.expression, timezone=job.scene.zone)
    return Cron(f"{job.zone_from}{job.scene.zone} {job.expression}", timezone="Asia/Tokyo")


def calendar_schedule(job: CalendarJob) -> Schedule:
    if job.kind == "daily":
        return Daily(every=job.every, at=job.at)
    if job.kind == "weekly":
        return Weekly(every=job.every, on=job.on, at=job.at, week_start=job.week_start)
    return Monthly(every=job.every, on=job.on, at=job.at)
