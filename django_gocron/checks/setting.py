"""The GOCRON setting, and what it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks
from django.db import router
from django.utils.module_loading import import_string

from django_gocron import commands, conf
from django_gocron.exceptions import ConfigurationError, ScheduleError
from django_gocron.models import Job
from django_gocron.options import suggest
from django_gocron.schedules.cron_implementation import DEFAULT, find_implementation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.core.checks import CheckMessage


def check_setting(**kwargs: Any) -> list[CheckMessage]:
    """E001: the GOCRON setting. W001: jobs are written to another database than the scheduler reads."""
    current, faults = conf.read_settings(getattr(settings, "GOCRON", {}))
    if faults:
        hint = 'The documentation lists the keys and their values under "Settings".'
        return [checks.Error(fault.message, hint=hint, id="gocron.E001") for fault in faults]
    return [*_check_paths(current), *_check_database(current)]


def _check_paths(current: conf.Settings) -> Iterator[CheckMessage]:
    try:
        import_string(current.admin_base_class)
    except ImportError as error:
        yield checks.Error(
            f"GOCRON['ADMIN_BASE_CLASS'] cannot be imported: {error}.",
            hint="Write the dotted path of a class, such as 'unfold.admin.ModelAdmin'.",
            id="gocron.E001",
        )
    try:
        find_implementation(current.cron or DEFAULT)
    except ScheduleError as error:
        yield checks.Error(
            f"GOCRON['CRON']: {error.message}",
            hint="Write the dotted path of a cron implementation, or leave the key out.",
            id="gocron.E001",
        )


def _check_database(current: conf.Settings) -> Iterator[CheckMessage]:
    written = router.db_for_write(Job)
    if current.database is not None and current.database != written:
        yield checks.Warning(
            f"The scheduler works on the database {current.database!r}, but jobs are written to {written!r}.",
            hint="Add a database router that sends the app 'gocron' there, or leave GOCRON['DATABASE'] out.",
            id="gocron.W001",
        )


def check_commands(**kwargs: Any) -> list[CheckMessage]:
    """W002: names in ``GOCRON["COMMANDS"]`` that are no management commands."""
    from django.core.management import get_commands

    try:
        unknown = commands.find_unknown()
    except ConfigurationError:
        return []  # E001 says so
    return [
        checks.Warning(
            f"GOCRON['COMMANDS'] has {name!r}, which is no management command.{suggest(name, get_commands())}",
            hint="Is its app in INSTALLED_APPS? The other commands of the list work.",
            id="gocron.W002",
        )
        for name in unknown
    ]
