"""The settings of the test suite. ``GOCRON_TEST_DATABASE`` is sqlite (the default), postgresql or mariadb.

The name of the database is drawn anew for each run, so that runs side by side do not meet; pytest's workers, which
share a run, each have one of their own. It goes into the environment, as the servers' URLs do: a process that a test
starts with these settings meets the same one.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from tests.services import DATABASES as KNOWN_DATABASES
from tests.services import find_service
from tests.services.servers import Address

TEST_DATABASE = os.environ.get("GOCRON_TEST_DATABASE", "sqlite")
if TEST_DATABASE not in KNOWN_DATABASES:
    raise ValueError(f"GOCRON_TEST_DATABASE is {TEST_DATABASE!r}. Use one of: {', '.join(KNOWN_DATABASES)}.")

RUN = os.environ.setdefault("GOCRON_TEST_DATABASE_NAME", f"gocron_{secrets.token_hex(4)}")
DATABASE_NAME = "_".join(filter(None, (RUN, os.environ.get("PYTEST_XDIST_WORKER"))))


def sqlite_settings() -> dict[str, Any]:
    """A file, not memory: threads and other processes are to share it."""
    file = str(Path(tempfile.gettempdir(), f"{DATABASE_NAME}.sqlite3"))
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        "TEST": {"NAME": file},
    }


def postgresql_settings() -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.postgresql",
        **server_settings("postgresql", default_port=5432),
        "TEST": {"NAME": DATABASE_NAME},
    }


def mariadb_settings() -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.mysql",
        **server_settings("mariadb", default_port=3306),
        "OPTIONS": {"charset": "utf8mb4"},
        "TEST": {"NAME": DATABASE_NAME, "CHARSET": "utf8mb4"},
    }


def server_settings(name: str, *, default_port: int) -> dict[str, Any]:
    address = Address.parse(find_service(name).location, default_port=default_port)
    return {
        "NAME": DATABASE_NAME,
        "USER": address.user,
        "PASSWORD": address.password,
        "HOST": address.host,
        "PORT": address.port or "",
    }


DATABASES = {
    "default": {
        "sqlite": sqlite_settings,
        "postgresql": postgresql_settings,
        "mariadb": mariadb_settings,
    }[TEST_DATABASE]()
}

SECRET_KEY = "for tests alone"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
ROOT_URLCONF = "tests.urls"
STATIC_URL = "/static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_gocron",
    "tests.testapp",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
