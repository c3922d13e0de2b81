from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(source: str) -> subprocess.CompletedProcess[str]:
    """In an interpreter of its own, in which every warning is an error."""
    command = [sys.executable, "-W", "error", "-c", source]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env={"PATH": "/usr/bin:/bin"}
    )


def test_the_package_and_a_declaration_need_no_settings():
    done = python(
        "import django_gocron as gocron\n"
        "gocron.job(gocron.Every(minutes=5))\n"
        "from django_gocron import conf, registry\n"
        "from django.conf import settings\n"
        "print(settings.configured)"
    )
    assert (done.stderr, done.stdout) == ("", "False\n")


SETUP = """
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django_gocron"],
    DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "/no/such/directory/db"}}}},
    GOCRON={setting},
)
django.setup()
"""


def test_start_up_does_not_touch_the_database():
    done = python(
        SETUP.format(setting={"COMMANDS": ["clearsessions"]}) + "from django.db import connections\n"
        "print([connection.connection for connection in connections.all(initialized_only=True)])"
    )
    assert (done.stderr, done.stdout.endswith(("[]\n", "[None]\n"))) == ("", True)


@pytest.mark.parametrize(
    "setting", [{"MAX_WORKERS": 0}, {"CRON": "no.such"}, {"COLOUR": 1}, {"COMMANDS": ["no_such"]}, None]
)
def test_a_wrong_setting_does_not_stop_the_start_and_is_reported_by_the_check(setting: object):
    done = python(
        SETUP.format(setting=setting) + "from django.core import checks\n"
        "print(*(message.id for message in checks.run_checks(tags=['gocron'])))"
    )
    assert (done.stderr, done.stdout.strip() in {"gocron.E001", "gocron.W002"}) == ("", True)


def test_no_command_module_is_imported_at_start_up():
    done = python(
        SETUP.format(setting={"COMMANDS": ["createsuperuser"]}) + "import sys\n"
        "from django_gocron.registry import find_task\n"
        "print(find_task('command.createsuperuser') is not None)\n"
        "print('django.contrib.auth.management.commands.createsuperuser' in sys.modules)"
    )
    assert (done.stderr, done.stdout) == ("", "True\nFalse\n")


def test_the_setting_chooses_the_cron_implementation():
    done = python(
        SETUP.format(setting={"CRON": "tests.unit.every_noon.EveryNoon"})
        + "from datetime import UTC, datetime\n"
        "from django_gocron import Cron\n"
        "midnight = datetime(2026, 1, 1, tzinfo=UTC)\n"
        "print(Cron('0 0 * * *').next_after(midnight, zone=UTC, anchor=midnight))"
    )
    assert (done.stderr, done.stdout) == ("", "2026-01-01 12:00:00+00:00\n")
