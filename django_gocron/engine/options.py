"""What a scheduler is started with: its arguments, and the settings where it has none."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django_gocron.conf import LISTENERS, Settings, get_settings, override, read_argument
from django_gocron.exceptions import ConfigurationError
from django_gocron.listeners import read_listeners
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from django_gocron.backends import Backend
    from django_gocron.clock import Clock
    from django_gocron.listeners import Kind, Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a scheduler is started with, the settings applied. ``workers`` is how many threads run functions, ``limit``
    (None: as many) the most runs at a time; ``drops`` whether ticks beyond a limit are skipped, instead of waiting."""

    using: str
    workers: int
    limit: int | None = None
    drops: bool = False
    labels: tuple[str, ...]
    name: str
    lockers: Mapping[str, Backend] | None = None
    """By alias; None: no job asks any, whatever it names."""
    elector: Backend | None = None
    listeners: Mapping[Kind, Listener] = field(default_factory=dict)
    """Of all runs; those of a task stand for those of their kind."""
    lease: timedelta
    heartbeat: timedelta
    ahead: timedelta
    poll: timedelta
    stop_timeout: timedelta

    @property
    def slots(self) -> int:
        """The most runs at a time."""
        return self.workers if self.limit is None else min(self.workers, self.limit)

    @property
    def drops_beyond_limit(self) -> bool:
        return self.drops and self.limit is not None


ARGUMENTS = {
    "workers": "MAX_WORKERS",
    "limit": "CONCURRENCY_LIMIT",
    "limit_mode": "LIMIT_MODE",
    "stop_timeout": "STOP_TIMEOUT",
    "lockers": "LOCKERS",
    "elector": "ELECTOR",
}
"""Arguments of a scheduler that stand for a setting."""


def read_options(
    *,
    using: str = "",
    name: str = "",
    labels: Sequence[str] = (),
    ahead: timedelta | None = None,
    listeners: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Options:
    """Those of ``Scheduler``; an argument that is None is not given. Raises ``ConfigurationError`` (``bad_setting``, or
    one of ``read_listeners``)."""
    settings = override(get_settings(), {ARGUMENTS[key]: (key, value) for key, value in arguments.items()})
    return Options(
        using=using or database(),
        workers=settings.max_workers,
        limit=settings.concurrency_limit,
        drops=settings.limit_mode == "reschedule",
        labels=_read_labels(labels),
        name=name,
        lockers=settings.lockers if settings.coordination == "on" else None,
        elector=settings.elector if settings.has_elector else None,
        listeners=_read_listeners(settings, listeners),
        lease=settings.lease,
        heartbeat=settings.heartbeat,
        ahead=settings.claim_ahead if ahead is None else read_argument("STOP_TIMEOUT", "ahead", ahead),
        poll=settings.poll_interval,
        stop_timeout=settings.stop_timeout,
    )


def _read_labels(labels: object) -> tuple[str, ...]:
    if not isinstance(labels, list | tuple | set | frozenset) or not all(
        isinstance(one, str) for one in labels
    ):
        message = f"labels must be a list of texts, not {labels!r}."
        raise ConfigurationError(message, code="bad_setting", field="labels")
    return tuple(labels)


def read_clock(clock: Clock) -> Clock:
    """Raises ``ConfigurationError`` (``clock_unusable``) for what cannot tell the time."""
    if missing := [name for name in ("now", "boottime", "sleep") if not callable(getattr(clock, name, None))]:
        message = f"clock must have now(), boottime() and sleep(); {clock!r} lacks {', '.join(missing)}."
        raise ConfigurationError(message, code="clock_unusable", field="clock")
    return clock


def _read_listeners(settings: Settings, own: Mapping[str, Any] | None) -> dict[Kind, Listener]:
    """Those of the scheduler stand for those of the settings, kind by kind."""
    general = read_listeners(settings.listeners, ConfigurationError, LISTENERS)
    return general | read_listeners({} if own is None else own, ConfigurationError)
