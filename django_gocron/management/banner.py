"""What ``runscheduler`` says when it starts."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import django
from django.db import connections

import django_gocron
from django_gocron import registry
from django_gocron.conf import get_settings
from django_gocron.management.surroundings import find_warnings
from django_gocron.models import Job, JobState
from django_gocron.models.choices import Coordination
from django_gocron.schedules import find_zone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, timedelta

    from django.core.management.base import OutputWrapper

    from django_gocron.engine.scheduler import Scheduler

MOST = 5
"""Jobs named in one line, or one a line where something is wrong with them."""


def write_banner(stdout: OutputWrapper, style: Any, scheduler: Scheduler) -> None:
    """Versions, who this is, what there is to do, what is next, and what will not run."""
    using, now = scheduler.options.using, scheduler.clock.now()
    jobs = list(Job.objects.using(using).select_related("state").order_by("state__next_run_at", "name"))
    stdout.write(style.MIGRATE_HEADING(_versions(using)))
    stdout.write(f"instance  {_instance(scheduler)}")
    stdout.write(f"time zone {_zone(now)}")
    stdout.write(f"jobs      {_counts(jobs, now)}")
    stdout.write(
        f"workers   {scheduler.options.slots} at a time, a stop waits up to {_short(scheduler.options.stop_timeout)}"
    )
    for line in _coordination(scheduler):
        stdout.write(line)
    stdout.write(f"next      {_next(jobs, now)}")
    for line in [*_troubles(jobs), *find_warnings(scheduler)]:
        stdout.write(style.WARNING(f"! {line}"))
    stdout.write("Press Ctrl-C to stop after current runs; press it twice to stop at once.")
    stdout.flush()  # a pipe or a file would keep it until much more was written


def _versions(using: str) -> str:
    connection = connections[using]
    return (
        f"django-gocron {django_gocron.__version__} | Django {django.get_version()} |"
        f" Python {platform.python_version()} | {connection.display_name} ({using})"
    )


def _instance(scheduler: Scheduler) -> str:
    labels = ", ".join(scheduler.options.labels)
    return f"{scheduler.name}" + (f" (labels: {labels})" if labels else "")


def _coordination(scheduler: Scheduler) -> Iterator[str]:
    """Nothing, where the settings name neither lockers nor an elector."""
    settings = get_settings()
    if settings.coordination == "off":
        yield "lockers   none, and no elector: GOCRON['COORDINATION'] is off"
        return
    if settings.lockers:
        yield f"lockers   {', '.join(settings.lockers)}"
    if settings.elector:
        yield f"elector   {settings.elector.path}: this instance {'leads' if scheduler.is_leader else 'follows'}"


def _zone(now: datetime) -> str:
    zone = find_zone(get_settings().time_zone)
    return f"{zone.key}, now {now.astimezone(zone):%H:%M:%S %Z} ({now:%H:%M:%S} UTC)"


def _counts(jobs: list[Job], now: datetime) -> str:
    paused = sum(job.is_paused_at(now) for job in jobs)
    broken = sum(bool(_state(job) and job.state.broken_code) for job in jobs)
    enabled = sum(job.enabled for job in jobs)
    return f"{enabled} enabled, {paused} paused, {broken} broken"


def _next(jobs: list[Job], now: datetime) -> str:
    coming = [job for job in jobs if _state(job) and job.state.next_run_at]
    named = [f"{job.name} {_in(job.state.next_run_at - now)}" for job in coming[:MOST]]
    return ", ".join(named) or "nothing is scheduled"


def _troubles(jobs: list[Job]) -> list[str]:
    broken = [
        f"{job.name}: {job.state.broken_text} It will not run."
        for job in jobs
        if _state(job) and job.state.broken_code
    ]
    known = {task.name for task in registry.tasks()}
    unknown = [
        f"{job.name}: task {job.task} is not registered here. This instance leaves it alone."
        for job in jobs
        if job.task not in known
    ]
    lines = [*broken, *unknown, *_without_locker(jobs)]
    more = [f"... and {len(lines) - MOST} more."] if len(lines) > MOST else []
    return lines[:MOST] + more


def _without_locker(jobs: list[Job]) -> Iterator[str]:
    settings = get_settings()
    for job in jobs:
        is_asked = job.locker and job.coordination == Coordination.LOCKED and settings.coordination == "on"
        if is_asked and job.locker not in settings.lockers:
            yield f"{job.name}: no locker is called {job.locker!r}. Each of its ticks will be skipped."


def _state(job: Job) -> JobState | None:
    return getattr(job, "state", None)


def _in(delta: timedelta) -> str:
    return "now" if delta.total_seconds() <= 0 else f"in {_short(delta)}"


def _short(delta: timedelta) -> str:
    """The two largest units: "1 h 5 min"."""
    seconds = round(delta.total_seconds())
    units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
    parts = []
    for name, size in units:
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number} {name}")
    return " ".join(parts[:2]) or "0 s"
