"""Which cron implementation reads an expression: the schedule's own, else the process's."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from importlib import import_module
from typing import Any

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.cron_contract import CronImplementation, Walked
from django_gocron.schedules.croniter_times import CroniterImplementation, CroniterTimes
from django_gocron.schedules.suggestions import shown
from django_gocron.schedules.text import gettext as _

DEFAULT = "croniter"

CENTURY = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall time
"""An expression without a time from here on never fires."""

_named: dict[str, CronImplementation] = {DEFAULT: CroniterImplementation()}
_process_wide: list[CronImplementation] = [_named[DEFAULT]]


def register_cron_implementation(name: str, implementation: CronImplementation) -> None:
    """Let schedules ask for ``implementation`` by ``name``."""
    _named[name] = implementation
    cron_times.cache_clear()


def set_cron_implementation(implementation: CronImplementation | str | None) -> None:
    """Use it for every cron schedule that names none: an object, a registered name, a dotted path, or None for ours."""
    _process_wide[0] = find_implementation(implementation or DEFAULT)
    cron_times.cache_clear()


def find_implementation(which: CronImplementation | str) -> CronImplementation:
    """The implementation of a registered name, or of the dotted path of an object or of a class without arguments.

    ``ScheduleError``: ``implementation_unknown``.
    """
    try:
        found = _find_named(which) if isinstance(which, str) else which
        found.parse  # noqa: B018 - an object without it is none
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        message = _("%(name)s is not a cron implementation: %(error)s.") % {
            "name": shown(which),
            "error": error,
        }
        raise ScheduleError(message, code="implementation_unknown", field="implementation") from error
    return found


def _find_named(name: str) -> CronImplementation:
    if name in _named:
        return _named[name]
    module, _dot, attribute = name.rpartition(".")
    found: Any = getattr(import_module(module), attribute)
    implementation: CronImplementation = found() if isinstance(found, type) else found
    return implementation


@lru_cache(maxsize=4096)
def cron_times(expression: str, implementation: str | None) -> CroniterTimes | Walked:
    """The times of a spelt-out expression; the same object for the same text.

    ``ScheduleError``: ``implementation_unknown``, ``never_fires``, ``unreadable``, and what our own raises.
    """
    reader = find_implementation(implementation) if implementation else _process_wide[0]
    try:
        times = reader.parse(expression)
    except ScheduleError:
        raise
    except ValueError as error:
        message = _("The expression cannot be read: %(error)s.") % {"error": error}
        raise ScheduleError(message, code="unreadable", field="expression") from error
    if isinstance(times, CroniterTimes):
        return times
    walked = Walked(times)
    if walked.next(CENTURY) is None:
        raise ScheduleError(_("This schedule never runs."), code="never_fires", field="expression")
    return walked
