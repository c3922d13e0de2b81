"""What bit the users of other schedulers, in the database and around it; each test says which report it answers."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

import django_gocron
from django_gocron import Every, events
from django_gocron.engine.heartbeat import Heartbeat
from django_gocron.engine.loop import Loop
from django_gocron.engine.scheduler import Scheduler
from django_gocron.models import Job, JobState, Run
from django_gocron.models.now import database_now
from tests.concurrency.test_instances import side_by_side
from tests.elsewhere import elsewhere
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, make_job
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

ROOT = Path(django_gocron.__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# --- databases that can less, and databases that show less -------------------------------------------


@pytest.fixture
def without_skip_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As MySQL 5.7 and MariaDB 10.5 are: no ``SKIP LOCKED``, no ``NOWAIT``, no ``OF``."""
    for name in ("skip_locked", "nowait", "of"):
        monkeypatch.setattr(type(connection.features), f"has_select_for_update_{name}", False)


def plan_all(tick: Any) -> None:
    JobState.objects.update(next_tick_at=tick, next_run_at=tick, anchor_at=tick - timedelta(hours=1))


def test_b64_without_skip_locked_two_that_claim_at_once_claim_every_tick_once(without_skip_locked):
    """B64"""
    for number in range(40):
        make_job(f"job {number}", schedule=Every(seconds=10))
    engines = [HandDriven(name=name, workers=50) for name in ("one", "two")]
    for round_ in range(3):
        tick = database_now(DATABASE) + round_ * timedelta(seconds=10)
        plan_all(tick)
        for engine in engines:
            engine.go_to(tick)
        side_by_side(*[engine.claim for engine in engines])
        engines[0].claim()
        for engine in engines:
            engine.start()
            engine.execute()
            engine.finish()
        done = Run.objects.filter(scheduled_for=tick).values_list("job", "status")
        assert sorted(done) == sorted((pk, "succeeded") for pk in Job.objects.values_list("pk", flat=True))


def test_b64_without_skip_locked_a_scheduler_runs_jobs(without_skip_locked):
    """B64"""
    make_job(schedule=Every(seconds=0.1))
    manual = make_job("manual", schedule=None)
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        manual.run_now()
        succeeded.wait_for(1, where=lambda event: event.job_id == manual.pk)
        succeeded.wait_for(5)


@pytest.mark.only_on("mariadb")
def test_b65_an_edit_in_another_session_is_seen_under_repeatable_read(settings, monkeypatch):
    """B65"""
    settings.GOCRON = {"POLL_INTERVAL": 0.1}
    connection.close()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "isolation_level", "repeatable read")
    job = make_job(schedule=Every(hours=5))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        elsewhere(lambda: edit_past_django(job))
        succeeded.wait_for(2)
    connection.close()


def edit_past_django(job: Job) -> None:
    with connection.cursor() as cursor:
        schedule = '{"kind": "every", "version": 1, "interval": 0.2}'
        cursor.execute("UPDATE gocron_job SET schedule = %s WHERE id = %s", [schedule, job.pk])


def test_b70_nothing_of_ours_needs_a_cursor_that_lives_on_the_server():
    """B70"""
    code = {file.name: file.read_text() for file in Path(django_gocron.__file__).parent.rglob("*.py")}
    assert not [name for name, text in code.items() if re.search(r"\.a?iterator\(", text)]


# --- the environment ---------------------------------------------------------------------------------


@pytest.fixture
def manage(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``manage.py`` of a project with one declared job that tells what it sees of its surroundings, and a cache on a
    Redis that nobody answers for; every warning is an error."""
    (tmp_path / "office").mkdir()
    (tmp_path / "office" / "__init__.py").touch()
    (tmp_path / "office" / "jobs.py").write_text(
        "import os\nfrom django_gocron import job\n\n@job\ndef look(names):\n"
        "    from django.conf import settings\n    return [settings.OFFICE, *map(os.environ.get, names)]\n"
    )
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        redis = f"redis://127.0.0.1:{unused.getsockname()[1]}"
    (tmp_path / "office_settings.py").write_text(
        "from tests.settings import *\n"
        f"DATABASES = {{'default': {{'ENGINE': 'django.db.backends.sqlite3', 'NAME': {str(tmp_path / 'db')!r},"
        " 'OPTIONS': {'transaction_mode': 'IMMEDIATE', 'init_command': 'PRAGMA journal_mode=WAL'}}}\n"
        f"CACHES = {{'default': {{'BACKEND': 'django_redis.cache.RedisCache', 'LOCATION': {redis!r}}}}}\n"
        "INSTALLED_APPS = [*INSTALLED_APPS, 'office']\nOFFICE = 'second floor'\n"
    )

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {
            **os.environ,
            "GOCRON_TEST_DATABASE": "sqlite",
            "DJANGO_SETTINGS_MODULE": "office_settings",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            **environment,
        }
        command = [sys.executable, "-W", "error", "-m", "django", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=variables
        )

    return run


ASK = """
from django_gocron.models import Job
names = ["DJANGO_SETTINGS_MODULE", "FLOOR", "PATH"]
Job.objects.create(name="look", task="office.jobs.look", kwargs={"names": names}).run_now()
"""


@pytest.mark.only_on("sqlite")
def test_b72_a_job_sees_the_settings_and_the_environment_of_the_scheduler(manage, tmp_path):
    """B72"""
    assert manage("migrate", "--verbosity", "0").returncode == 0
    assert manage("shell", "--verbosity", "0", "--command", ASK).returncode == 0
    done = manage("runscheduler", "--once", FLOOR="2")
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        (result,) = database.execute("SELECT result FROM gocron_run").fetchone()
    assert json.loads(result) == ["second floor", "office_settings", "2", os.environ["PATH"]]


@pytest.mark.only_on("sqlite")
def test_b73_with_a_redis_that_does_not_answer_everything_that_needs_none_works(manage):
    """B73"""
    for command in (
        ["check"],
        ["migrate", "--verbosity", "0"],
        ["gocron", "sync"],
        ["runscheduler", "--once"],
    ):
        done = manage(*command)
        assert (done.returncode, "redis" in done.stderr.lower()) == (0, False), done.stderr


def test_b74_ten_idle_minutes_are_two_lines_of_log(settings, monkeypatch, caplog):
    """B74: sixty heartbeats, as many as ten minutes have."""
    caplog.set_level(logging.INFO)
    settings.GOCRON = {"POLL_INTERVAL": 0.01, "HEARTBEAT": 0.02, "LEASE": 30}
    for number in range(3):
        make_job(f"job {number}", schedule=Every(hours=5))
    beats, polls = count_calls(monkeypatch, Heartbeat, "beat"), count_calls(monkeypatch, Loop, "claim")
    with Scheduler():
        assert all(beats.acquire(timeout=PATIENCE) for _ in range(60))
        assert all(polls.acquire(timeout=PATIENCE) for _ in range(100))
        assert len(caplog.messages) <= 2, caplog.messages


def count_calls(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> threading.Semaphore:
    calls, original = threading.Semaphore(0), getattr(kind, name)

    def counted(self: Any, *arguments: Any) -> Any:
        calls.release()
        return original(self, *arguments)

    monkeypatch.setattr(kind, name, counted)
    return calls


# --- the package -------------------------------------------------------------------------------------


def test_b68_the_wheel_has_every_migration():
    """B68"""
    folder = Path(django_gocron.__file__).parent / "migrations"
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["django_gocron"]}
    assert (folder / "__init__.py").exists()
    assert not [
        file for file in folder.glob("*.py") if not re.fullmatch(r"(__init__|\d{4}_\w+)\.py", file.name)
    ]


def test_b76_no_version_of_django_or_python_is_shut_out():
    """B76"""
    (django,) = [text for text in requires("django-gocron") or () if re.match(r"django\b(?!-)", text)]
    assert "<" not in django
    assert "<" not in PROJECT["project"]["requires-python"]


def test_b76_the_workflow_tries_djangos_main_branch_and_coming_pythons():
    """B76"""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert re.search(r'django: \[.*"main"\]', workflow)
    assert "allow-prereleases: true" in workflow


def test_b78_names_of_the_package_its_app_and_its_tables_are_our_own():
    """B78"""
    models = apps.get_app_config("gocron").get_models(include_auto_created=True)
    assert PROJECT["project"]["name"] == "django-gocron"
    assert {model._meta.db_table.partition("_")[0] for model in models} == {"gocron"}
    assert apps.get_app_config("gocron").name == "django_gocron"
