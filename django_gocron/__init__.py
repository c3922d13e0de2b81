"""Scheduled jobs for Django: rows edited in the admin or declared with ``@job``, run by ``manage.py runscheduler``."""

from django_gocron.context import RunContext, current_run
from django_gocron.exceptions import Cancelled, Retry
from django_gocron.registry import job
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly

__version__ = "0.1.0"

__all__ = [
    "Cancelled",
    "Cron",
    "Daily",
    "Every",
    "EveryRandom",
    "Monthly",
    "OneTime",
    "Retry",
    "RunContext",
    "Schedule",
    "Weekly",
    "current_run",
    "job",
]
