"""The ``GOCRON`` setting: read when first asked for, checked, and kept until a setting changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed

from django_gocron.backends import Backend, read_backend
from django_gocron.exceptions import ConfigurationError, DeclarationError, ScheduleError
from django_gocron.listeners import Kind
from django_gocron.options import (
    OF_ONE_JOB,
    WrongValue,
    read_duration,
    read_flag,
    read_options,
    read_text,
    read_whole,
    suggest,
)
from django_gocron.schedules import find_zone

CONFIRM_RUN = ("bulk", "always", "never")
LIMIT_MODES = ("wait", "reschedule")
COORDINATIONS = ("on", "off")

LISTENERS = "GOCRON['LISTENERS']"
"""Where the listeners of all runs stand."""

LONGEST_ALIAS = 100
"""Characters of a locker's alias, at most: jobs keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the project has decided. Each field is a key of ``GOCRON`` in lower case."""

    database: str | None = None
    """The alias that the scheduler works on; None: where the database routers write jobs."""
    time_zone: str = "UTC"
    """The zone of jobs without one. Its default is the project's ``TIME_ZONE``."""
    max_workers: int = 10
    concurrency_limit: int | None = None
    """The most runs that one scheduler executes at a time, where that is to be less than its workers."""
    limit_mode: str = "wait"
    """What a tick does that finds the concurrency limit reached: wait, or be skipped until its job's next."""
    lease: timedelta = timedelta(seconds=30)
    heartbeat: timedelta = timedelta(seconds=10)
    poll_interval: timedelta = timedelta(seconds=1)
    claim_ahead: timedelta = timedelta(seconds=1)
    stop_timeout: timedelta = timedelta(seconds=30)
    job_defaults: Mapping[str, Any] = field(default_factory=dict)
    lockers: Mapping[str, Backend] = field(default_factory=dict)
    """By alias. ``default`` is what jobs use that name none; where it is not there, the ledger's own lock is all."""
    elector: Backend | None = None
    listeners: Mapping[str, Any] = field(default_factory=dict)
    """By kind: a function, or the dotted path of one, imported when a scheduler is made."""
    monitors: tuple[Backend, ...] = ()
    """Those of every scheduler, which makes them when it is made."""
    coordination: str = "on"
    """``off``: neither lockers nor the elector are used, as suits a developer's machine."""
    cron: str | None = None
    """Dotted path or registered name of a cron implementation; None: the one that comes with the package."""
    commands: tuple[str, ...] = ()
    enabled: bool = True
    sync_on_migrate: bool | None = None
    """None: yes, except under a test runner."""
    keep_days: int = 30
    keep_runs: int = 1000
    admin_base_class: str = "django.contrib.admin.ModelAdmin"
    confirm_run: str = "bulk"

    @property
    def has_elector(self) -> bool:
        """Whether instances elect a leader."""
        return self.elector is not None and self.coordination == "on"


def get_settings() -> Settings:
    """The settings in force. Raises ``ConfigurationError`` (``unknown_setting``, ``bad_setting``)."""
    global _cached
    settings = _cached
    if settings is None:
        settings, faults = read_settings(getattr(django_settings, "GOCRON", {}))
        if faults:
            raise faults[0]
        _cached = settings
    return settings


_cached: Settings | None = None


def _forget(setting: str, **kwargs: Any) -> None:
    global _cached
    if setting in {"GOCRON", "TIME_ZONE", "DATABASES"}:
        _cached = None


setting_changed.connect(_forget, dispatch_uid="gocron_conf")


def read_settings(raw: Any) -> tuple[Settings, list[ConfigurationError]]:
    """The settings in ``raw``, with the default in place of each wrong one, and everything that is wrong."""
    if not isinstance(raw, Mapping):
        return Settings(), [_bad("", f"GOCRON must be a dictionary, not {raw!r}.")]
    values: dict[str, Any] = {}
    faults: list[ConfigurationError] = []
    for key, value in {"TIME_ZONE": None, **raw}.items():
        try:
            values[str(key).lower()] = _read_setting(key, value)
        except ConfigurationError as error:
            faults.append(error)
    settings = Settings(**values)
    return settings, faults or _find_conflicts(settings)


def override(settings: Settings, arguments: Mapping[str, tuple[str, Any]]) -> Settings:
    """The settings with other values, by key: what the argument is called, and its value (None: not given). Raises
    ``ConfigurationError`` (``bad_setting``), with the argument as its field."""
    given = {key: named for key, named in arguments.items() if named[1] is not None}
    return replace(settings, **{key.lower(): read_argument(key, *named) for key, named in given.items()})


def read_argument(key: str, name: str, value: Any) -> Any:
    """What stands for a setting, and is called ``name`` where it is given. Raises ``ConfigurationError``
    (``bad_setting``)."""
    try:
        return READERS[key](value)
    except WrongValue as error:
        message = f"{name} must be {error}, not {value!r}."
    except ConfigurationError as error:
        message = error.message.replace(f"GOCRON[{key!r}]", name)
    raise ConfigurationError(message, code="bad_setting", field=name)


def _read_setting(key: object, value: Any) -> Any:
    if key not in READERS:
        message = f"GOCRON has an unknown key {key!r}.{suggest(str(key).upper(), READERS)}"
        raise ConfigurationError(message, code="unknown_setting", field=str(key))
    try:
        return READERS[str(key)](value)
    except WrongValue as error:
        raise _bad(str(key), f"GOCRON[{key!r}] must be {error}, not {value!r}.") from None


def _find_conflicts(settings: Settings) -> list[ConfigurationError]:
    margin = max(timedelta(seconds=1), settings.lease / 10)
    if settings.heartbeat * 2 < settings.lease and settings.heartbeat < settings.lease - margin:
        return []
    message = (
        f"GOCRON['HEARTBEAT'] ({settings.heartbeat.total_seconds():g} s) must be less than half of GOCRON['LEASE']"
        f" ({settings.lease.total_seconds():g} s), and less than it by a second: a lease must outlast a heartbeat"
        " that fails."
    )
    return [_bad("HEARTBEAT", message)]


def _bad(key: str, message: str) -> ConfigurationError:
    return ConfigurationError(message, code="bad_setting", field=key)


def _optional(read: Callable[[object], Any]) -> Callable[[object], Any]:
    return lambda value: None if value is None else read(value)


def _read_alias(value: object) -> str:
    if not isinstance(value, str) or value not in django_settings.DATABASES:
        known = ", ".join(map(repr, django_settings.DATABASES))
        raise WrongValue(f"an alias of DATABASES ({known}) or None")
    return value


def _read_zone(value: object) -> str:
    name = django_settings.TIME_ZONE if value is None else value
    try:
        return find_zone(read_text(name)).key
    except ScheduleError as error:
        raise WrongValue(f"a time zone such as 'Europe/Berlin' ({error.message})") from None


def _read_positive(value: object) -> timedelta:
    duration = read_duration(value)
    if duration <= timedelta(0):
        raise WrongValue("more than 0 seconds")
    return duration


def _read_not_negative(value: object) -> timedelta:
    duration = read_duration(value)
    if duration < timedelta(0):
        raise WrongValue("0 seconds or more")
    return duration


def _at_least(least: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if read_whole(value) < least:
            raise WrongValue(f"{least} or more")
        return read_whole(value)

    return read


def _read_path(value: object) -> str:
    """Only its form: what it names is imported when it is needed, and by the system check."""
    if not isinstance(value, str) or not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", value):
        raise WrongValue("the dotted path of something to import")
    return value


def _read_names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise WrongValue("a list of names of management commands")
    return tuple(dict.fromkeys(value))


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise WrongValue(f"one of {', '.join(map(repr, choices))}")
        return str(value)

    return read


def _read_lockers(value: object) -> Mapping[str, Backend]:
    if not isinstance(value, Mapping):
        raise WrongValue("a dictionary of lockers by alias")
    return {_read_locker_alias(alias): _read_locker(alias, locker) for alias, locker in value.items()}


def _read_locker_alias(alias: object) -> str:
    if not isinstance(alias, str) or not alias or len(alias) > LONGEST_ALIAS:
        raise WrongValue(f"a dictionary whose keys are names of 1 to {LONGEST_ALIAS} characters")
    return alias


def _read_locker(alias: str, value: object) -> Backend:
    setting = f"GOCRON['LOCKERS'][{alias!r}]"
    try:
        return read_backend(value, setting)
    except WrongValue as error:
        raise _bad("LOCKERS", f"{setting} must be {error}, not {value!r}.") from None


def _read_elector(value: object) -> Backend:
    return read_backend(value, "GOCRON['ELECTOR']")


def _read_monitors(value: object) -> tuple[Backend, ...]:
    if not isinstance(value, list | tuple):
        raise WrongValue("a list of monitors")
    return tuple(_read_monitor(place, monitor) for place, monitor in enumerate(value))


def _read_monitor(place: int, value: object) -> Backend:
    setting = f"GOCRON['MONITORS'][{place}]"
    try:
        return read_backend(value, setting)
    except WrongValue as error:
        raise _bad("MONITORS", f"{setting} must be {error}, not {value!r}.") from None


def _read_listeners(value: object) -> Mapping[str, Any]:
    """Only their form: what they name is imported when a scheduler is made, and by the system check."""
    kinds = ", ".join(map(repr, map(str, Kind)))
    if not isinstance(value, Mapping) or not value.keys() <= set(Kind):
        raise WrongValue(f"a dictionary of listeners by kind ({kinds})")
    return {kind: one if callable(one) else _read_path(one) for kind, one in value.items()}


def _read_defaults(value: object) -> Mapping[str, Any]:
    """One dictionary, or several, of which the later ones win."""
    if isinstance(value, list | tuple):
        return {name: option for one in value for name, option in _read_defaults(one).items()}
    if not isinstance(value, Mapping):
        raise WrongValue("a dictionary of options of @job, or a list of such")
    for name in OF_ONE_JOB & value.keys():
        raise _bad("JOB_DEFAULTS", f"GOCRON['JOB_DEFAULTS'] cannot set {name!r}: every job has its own.")
    try:
        return read_options(value)
    except DeclarationError as error:
        raise _bad("JOB_DEFAULTS", f"GOCRON['JOB_DEFAULTS']: {error.message}") from None


READERS: Mapping[str, Callable[[object], Any]] = {
    "DATABASE": _optional(_read_alias),
    "TIME_ZONE": _read_zone,
    "MAX_WORKERS": _at_least(1),
    "CONCURRENCY_LIMIT": _optional(_at_least(1)),
    "LIMIT_MODE": _one_of(LIMIT_MODES),
    "LEASE": _read_positive,
    "HEARTBEAT": _read_positive,
    "POLL_INTERVAL": _read_positive,
    "CLAIM_AHEAD": _read_positive,
    "STOP_TIMEOUT": _read_not_negative,
    "JOB_DEFAULTS": _read_defaults,
    "LOCKERS": _read_lockers,
    "ELECTOR": _optional(_read_elector),
    "LISTENERS": _read_listeners,
    "MONITORS": _read_monitors,
    "COORDINATION": _one_of(COORDINATIONS),
    "CRON": _optional(_read_path),
    "COMMANDS": _read_names,
    "ENABLED": read_flag,
    "SYNC_ON_MIGRATE": _optional(read_flag),
    "KEEP_DAYS": _at_least(0),
    "KEEP_RUNS": _at_least(0),
    "ADMIN_BASE_CLASS": _read_path,
    "CONFIRM_RUN": _one_of(CONFIRM_RUN),
}
