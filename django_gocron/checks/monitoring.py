"""Monitors and listeners: whether they can be made, and called."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.core import checks

from django_gocron.conf import LISTENERS, get_settings
from django_gocron.exceptions import ConfigurationError
from django_gocron.listeners import read_listeners
from django_gocron.monitors.base import Monitor

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.core.checks import CheckMessage


def check_monitors(**kwargs: Any) -> list[CheckMessage]:
    """E005: a monitor cannot be made, or a listener cannot be imported or called."""
    try:
        settings = get_settings()
    except ConfigurationError:
        return []  # E001 says so
    asked: list[tuple[str, Callable[[], object]]] = [
        ("Monitors", partial(backend.make, Monitor)) for backend in settings.monitors
    ]
    asked.append(("Listeners", partial(read_listeners, settings.listeners, ConfigurationError, LISTENERS)))
    return [message for page, make in asked for message in _check(page, make)]


def _check(page: str, make: Callable[[], object]) -> list[CheckMessage]:
    try:
        make()
    except ConfigurationError as error:
        hint = f"See {page!r} in the documentation."
        return [checks.Error(error.message, hint=hint, id="gocron.E005")]
    return []
