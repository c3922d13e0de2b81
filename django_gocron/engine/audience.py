"""Who hears of what happens, besides the log and the signals of the project: a logger, and monitors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django_gocron import events, logs
from django_gocron.conf import get_settings
from django_gocron.exceptions import ConfigurationError
from django_gocron.monitors.base import Monitor
from django_gocron.monitors.feed import Feed, make_monitors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Audience:
    """Of one scheduler, from its start to its shutdown: it hears of everything in this process meanwhile.

    Raises ``ConfigurationError`` (``bad_backend``, ``logger_unusable``, ``monitor_unusable``).
    """

    def __init__(self, logger: logging.Logger | None, monitors: Sequence[Monitor]) -> None:
        self._receivers: list[Callable[[events.Event], None]] = []
        if logger is not None:
            self._receivers.append(logs.Log(_read_logger(logger)))
        if everyone := [*make_monitors(get_settings()), *map(_read_monitor, monitors)]:
            self._receivers.append(Feed(everyone))

    def come(self) -> None:
        """Hear from now on."""
        for receiver in self._receivers:
            events.subscribe(receiver)

    def leave(self) -> None:
        """Hear nothing more."""
        for receiver in self._receivers:
            events.unsubscribe(receiver)


def _read_logger(value: object) -> logging.Logger:
    if not isinstance(value, logging.Logger):
        message = f"logger must be a logging.Logger, not {value!r}."
        raise ConfigurationError(message, code="logger_unusable", field="logger")
    return value


def _read_monitor(value: object) -> Monitor:
    if not isinstance(value, Monitor):
        message = f"monitors must be objects of django_gocron.monitors.base.Monitor, not {value!r}."
        raise ConfigurationError(message, code="monitor_unusable", field="monitors")
    return value
