"""What the OPTIONS of lockers may be. Each function raises ``ConfigurationError`` (``bad_backend``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from django_gocron.exceptions import ConfigurationError
from django_gocron.options import WrongValue, read_duration, suggest

SHORTEST_TTL = timedelta(seconds=1)
LONGEST_TTL = timedelta(days=30)
"""Memcached takes longer ones for a date."""

PREFIX = re.compile(r"[a-z0-9._-]{1,50}")


def read_ttl(value: object) -> timedelta:
    """A ``timedelta`` or a number of seconds, from 1 second to 30 days."""
    try:
        ttl = read_duration(value)
    except WrongValue:
        ttl = timedelta.min
    if SHORTEST_TTL <= ttl <= LONGEST_TTL:
        return ttl
    raise refuse(
        f"ttl must be a timedelta or a number of seconds, from 1 second to {LONGEST_TTL.days} days, not {value!r}.",
        field="ttl",
    )


def read_prefix(value: object) -> str:
    """Up to 50 lower-case letters, digits, dots, underscores and hyphens."""
    if isinstance(value, str) and PREFIX.fullmatch(value):
        return value
    raise refuse(
        f"prefix must be 1 to 50 lower-case letters, digits, dots, underscores or hyphens, not {value!r}.",
        field="prefix",
    )


def read_alias(value: object, known: Iterable[str], *, field: str, setting: str) -> str:
    """One of the aliases that ``setting`` has."""
    aliases = list(known)
    if isinstance(value, str) and value in aliases:
        return value
    raise refuse(
        f"{field} must be an alias of {setting} ({', '.join(aliases)}), not {value!r}.{suggest(str(value), aliases)}",
        field=field,
    )


def refuse(message: str, *, field: str) -> ConfigurationError:
    return ConfigurationError(message, code="bad_backend", field=field)
