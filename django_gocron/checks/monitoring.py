"""Monitors: whether they can be made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core import checks

from django_gocron.conf import get_settings
from django_gocron.exceptions import ConfigurationError
from django_gocron.monitors.base import Monitor

if TYPE_CHECKING:
    from django.core.checks import CheckMessage


def check_monitors(**kwargs: Any) -> list[CheckMessage]:
    """E005: a monitor cannot be made."""
    try:
        backends = get_settings().monitors
    except ConfigurationError:
        return []  # E001 says so
    messages: list[CheckMessage] = []
    for backend in backends:
        try:
            backend.make(Monitor)
        except ConfigurationError as error:
            hint = "See 'Monitors' in the documentation."
            messages.append(checks.Error(error.message, hint=hint, id="gocron.E005"))
    return messages
