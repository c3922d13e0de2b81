"""``DATABASE_URL`` -> ``DATABASES``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

if TYPE_CHECKING:
    from pathlib import Path

SERVERS = {
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
}


def read_database_url(url: str, folder: Path) -> dict[str, Any]:
    """One entry of ``DATABASES``. An SQLite file is named from ``folder`` (``sqlite:///shop.sqlite3``) or from the root
    (``sqlite:////var/shop.sqlite3``).

    Raises ``ImproperlyConfigured``.
    """
    scheme, separator, rest = url.partition(":")
    if separator and scheme == "sqlite":
        return sqlite(folder / unquote(rest).removeprefix("///"))
    if separator and scheme in SERVERS:
        return server(url, SERVERS[scheme])
    raise ImproperlyConfigured(
        f"DATABASE_URL cannot be {url!r}. Write sqlite:///shop.sqlite3, postgresql://user:password@host/name"
        " or mysql://user:password@host/name."
    )


def sqlite(file: Path) -> dict[str, Any]:
    """SQLite for several processes: a write-ahead log, and transactions that wait for each other."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


def server(url: str, engine: str) -> dict[str, Any]:
    address = urlsplit(url)
    return {
        "ENGINE": engine,
        "NAME": unquote(address.path.removeprefix("/")),
        "USER": unquote(address.username or ""),
        "PASSWORD": unquote(address.password or ""),
        "HOST": address.hostname or "",
        "PORT": address.port or "",
    }
