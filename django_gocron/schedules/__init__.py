"""Schedules: pure values that answer "the next instant strictly after t". No Django, no clock, no I/O, no threads."""

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.base import Schedule
from django_gocron.schedules.calendar import Daily, Monthly, Weekly
from django_gocron.schedules.cron import Cron
from django_gocron.schedules.cron_contract import CronImplementation, CronTimes
from django_gocron.schedules.cron_implementation import register_cron_implementation, set_cron_implementation
from django_gocron.schedules.interval import Every, EveryRandom
from django_gocron.schedules.onetime import OneTime
from django_gocron.schedules.zones import find_zone

__all__ = [
    "Cron",
    "CronImplementation",
    "CronTimes",
    "Daily",
    "Every",
    "EveryRandom",
    "Monthly",
    "OneTime",
    "Schedule",
    "ScheduleError",
    "Weekly",
    "find_zone",
    "register_cron_implementation",
    "set_cron_implementation",
]
