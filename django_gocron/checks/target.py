"""Which database the checks are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.exceptions import ConfigurationError
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from collections.abc import Sequence


def find_database() -> str | None:
    """The alias that schedulers work on; None where the setting cannot be read, which E001 says."""
    try:
        return database()
    except ConfigurationError:
        return None


def find_checked(databases: Sequence[str] | None) -> str | None:
    """The alias that schedulers work on where it is among those that may be asked, else None."""
    using = find_database()
    return using if using in (databases or ()) else None
