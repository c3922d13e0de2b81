"""What bit the users of other schedulers, where jobs are declared; each test says which report it answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from django_gocron import Cron, Daily, Every, job, registry
from django_gocron.admin.situation import read_situation
from django_gocron.admin.standing import Standing, with_standing
from django_gocron.declarations import overridden_fields, reset_to_code, sync
from django_gocron.exceptions import DeclarationError, ScheduleError
from django_gocron.merging import declared_value
from django_gocron.models import Instance, Job, Run
from django_gocron.models.choices import Status
from django_gocron.sync_report import Action
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, next_tick

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]


def sync_orders() -> None: ...


def fetch_orders() -> None: ...


def tidy() -> None: ...


def report_number(number: int = 0) -> None: ...


def release(*declared: tuple[Callable[..., Any], Any, dict[str, Any]]) -> Any:
    """A process of a release that declares these jobs starts: what its sync reports."""
    with registry.isolated():
        for function, schedule, options in declared:
            job(schedule, **options)(function)
        return sync("default")


TEN_MINUTES: tuple[Callable[..., Any], Any, dict[str, Any]] = (sync_orders, Cron("*/10 * * * *"), {})


@pytest.mark.django_db(transaction=True)
def test_b12_a_job_has_one_row_however_often_and_by_however_many_it_is_declared():
    """B12"""
    with registry.isolated():
        for number in range(5):
            job(Every(minutes=5), name=f"Report {number}", args=[number])(report_number)
        for _ in range(5):
            assert sync("default").refused == []
        Job.objects.all().delete()
        barrier, reports = threading.Barrier(2), []

        def start() -> None:
            barrier.wait(timeout=30)
            try:
                reports.append(sync("default"))
            finally:
                connections.close_all()

        threads = [threading.Thread(target=start) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [report.refused for report in reports] == [[], []]
    assert Job.objects.count() == 5


def test_b16_a_restart_keeps_what_the_operator_changed():
    """B16"""
    release(TEN_MINUTES)
    Job.objects.update(schedule=Cron("*/2 * * * *"), enabled=False)
    release(TEN_MINUTES)
    row = Job.objects.get()
    assert (row.schedule, row.enabled) == (Cron("*/2 * * * *"), False)


def test_b16_the_operator_can_go_back_to_what_the_code_says():
    """B16"""
    release(TEN_MINUTES)
    Job.objects.update(schedule=Cron("*/2 * * * *"), enabled=False)
    reset_to_code(Job.objects.get())
    row = Job.objects.get()
    assert (row.schedule, row.enabled) == (Cron("*/10 * * * *"), True)


def test_b16_what_the_code_says_now_shows_beside_what_the_operator_set():
    """B16"""
    release(TEN_MINUTES)
    Job.objects.update(schedule=Cron("*/2 * * * *"))
    release((sync_orders, Cron("*/15 * * * *"), {}))
    row = Job.objects.get()
    assert (overridden_fields(row), row.schedule) == (["schedule"], Cron("*/2 * * * *"))
    assert declared_value(row, "schedule") == Cron("*/15 * * * *")


def history(row: Job) -> Run:
    return Run.objects.create(job=row, job_name=row.name, scheduled_for=now(), status=Status.SUCCEEDED)


def test_b17_a_job_that_is_not_declared_any_more_keeps_its_row_and_history():
    """B17"""
    release(TEN_MINUTES)
    Job.objects.update(enabled=False, description="ours")
    row = Job.objects.get()
    run = history(row)
    release((tidy, Every(hours=1), {}))
    row.refresh_from_db()
    assert (row.enabled, row.description, row.key) == (False, "ours", "tests.sync_orders")
    assert Run.objects.get(pk=run.pk).job_id == row.pk


def test_b17_a_job_that_is_declared_again_goes_on_with_its_old_settings():
    """B17"""
    release(TEN_MINUTES)
    Job.objects.update(description="ours")
    pk = Job.objects.get().pk
    release((tidy, Every(hours=1), {}))
    release((sync_orders, Cron("*/20 * * * *"), {}))
    row = Job.objects.get(pk=pk)
    assert (row.schedule, row.description) == (Cron("*/20 * * * *"), "ours")


def test_b17_a_renamed_job_keeps_its_row_and_history_by_an_alias():
    """B17"""
    release(TEN_MINUTES)
    row = Job.objects.get()
    run = history(row)
    report = release((fetch_orders, Cron("*/10 * * * *"), {"aliases": ["tests.sync_orders"]}))
    assert report.outcomes[0].action is Action.RENAMED
    assert Run.objects.get(pk=run.pk).job_id == Job.objects.get(key="tests.fetch_orders").pk == row.pk


@REAL_TRANSACTIONS
def test_b17_a_job_that_is_not_declared_any_more_is_an_orphan_and_not_run_until_it_is_declared_again():
    """B17"""
    release(TEN_MINUTES)
    row = Job.objects.get()
    tick = next_tick(row)
    assert run_all(row, tick, TEN_MINUTES) == 1
    assert run_all(row, tick + timedelta(hours=1), (tidy, Every(hours=1), {})) == 1
    assert standing_of(row) is Standing.ORPHANED
    assert run_all(row, tick + timedelta(hours=1), TEN_MINUTES) == 2
    assert standing_of(row) is not Standing.ORPHANED


def run_all(row: Job, moment: datetime, declared: tuple[Callable[..., Any], Any, dict[str, Any]]) -> int:
    """A scheduler of a release that declares this job is all there is: how many runs ``row`` has had after its turn.
    The function that the job runs is a task of every release."""
    function, schedule, options = declared
    with registry.isolated():
        registry.register(sync_orders)
        job(schedule, **options)(function)
        Instance.objects.update(heartbeat_at=now() - timedelta(minutes=16))
        HandDriven().go_to(moment).step()
    return Run.objects.filter(job=row, status=Status.SUCCEEDED).count()


def standing_of(row: Job) -> Standing:
    jobs = with_standing(Job.objects.all(), read_situation("default"))
    return Standing(jobs.get(pk=row.pk).standing)  # type: ignore[attr-defined]


def test_b18_a_paused_job_stays_paused_whatever_the_code_says():
    """B18"""
    release(TEN_MINUTES)
    Job.objects.update(paused_at=now(), paused_by="anna", pause_reason="maintenance")
    for _ in range(3):
        release((sync_orders, Cron("*/15 * * * *"), {"enabled": True}))
    row = Job.objects.get()
    assert (row.paused_at is not None, row.paused_by, row.pause_reason) == (True, "anna", "maintenance")
    assert row.state.next_run_at is None


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "99 * * * *", "", "* * * *", "@reboot"])
def test_b23_a_cron_expression_that_cannot_run_is_refused_where_it_is_declared(expression: str):
    """B23"""
    with registry.isolated():
        with pytest.raises(ScheduleError):
            job(expression)(sync_orders)
        assert registry.declarations() == ()


@pytest.mark.parametrize(
    "options",
    [{"kwargs": {"numbr": 1}}, {"args": [1, 2]}, {"kwargs": {"number": object()}}, {"args": '{"a":'}],
)
def test_b23_arguments_that_cannot_be_passed_are_refused_where_they_are_declared(options: dict[str, Any]):
    """B23"""
    with registry.isolated(), pytest.raises(DeclarationError):
        job(Every(minutes=5), **options)(report_number)


def test_b23_a_declaration_that_cannot_be_saved_leaves_the_other_jobs_alone():
    """B23"""
    bad = (tidy, Every(minutes=5), {"timezone": "Mars/X"})
    report = release(TEN_MINUTES, bad)
    assert [outcome.action for outcome in report.outcomes] == [Action.CREATED, Action.REFUSED]
    assert "timezone" in report.refused[0].message


def test_b26_jobs_of_one_schedule_share_no_row_and_are_not_looked_up_by_it():
    """B26"""
    jobs = [(report_number, Cron("0 4 * * *"), {"name": f"Report {n}", "args": [n]}) for n in range(100)]
    with CaptureQueriesContext(connection) as queries:
        release(*jobs)
        release(*jobs)
    assert Job.objects.count() == 100
    conditions = [query["sql"].partition(" WHERE ")[2] for query in queries]
    assert not [condition for condition in conditions if re.search(r"gocron_job\W+schedule\b", condition)]


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``manage.py`` of a new project with jobs and an empty database; every warning is an error."""
    (tmp_path / "newshop").mkdir()
    (tmp_path / "newshop" / "__init__.py").touch()
    (tmp_path / "newshop" / "jobs.py").write_text(
        "from django_gocron import Every, job\n\n@job(Every(minutes=5))\ndef sync_orders(): ...\n"
    )
    (tmp_path / "newshop" / "apps.py").write_text(
        "from django.apps import AppConfig\nfrom django_gocron import Every, job\n\nclass NewshopConfig(AppConfig):\n"
        "    name = 'newshop'\n\n@job(Every(hours=1))\ndef restock(): ...\n"
    )
    (tmp_path / "newshop" / "tests.py").write_text(
        "from django.test import TestCase\n\nclass Tests(TestCase):\n    def test_rows(self):\n"
        "        from django_gocron.models import Job\n        self.assertEqual(Job.objects.count(), 0)\n"
    )
    (tmp_path / "settings.py").write_text(
        "from tests.settings import *\n"
        f"DATABASES = {{'default': {{'ENGINE': 'django.db.backends.sqlite3', 'NAME': {str(tmp_path / 'db')!r}}}}}\n"
        f"STATIC_ROOT = {str(tmp_path / 'static')!r}\n"
        "INSTALLED_APPS = [*INSTALLED_APPS, 'newshop']\n"
    )

    def manage(*args: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "GOCRON_TEST_DATABASE": "sqlite",
            "DJANGO_SETTINGS_MODULE": "settings",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        }
        command = [sys.executable, "-W", "error", "-m", "django", *args]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )

    return manage


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["makemigrations", "--check", "--dry-run"],
        ["collectstatic", "--noinput"],
        ["migrate", "--verbosity", "0"],
        ["test", "newshop"],
    ],
    ids=lambda command: command[0],
)
def test_b67_every_command_of_a_first_deploy_works_on_an_empty_database(project: Any, command: list[str]):
    """B67"""
    done = project(*command)
    assert done.returncode == 0, done.stderr


@pytest.mark.only_on("sqlite")
def test_b67_declared_jobs_are_rows_after_the_first_migrate(project: Any):
    """B67"""
    assert "Scheduler: 2 declared jobs: 2 created." in project("migrate").stdout
    assert project("gocron", "sync").stdout.splitlines() == [
        "unchanged  newshop.restock  'Restock'",
        "unchanged  newshop.sync_orders  'Sync orders'",
        "2 declared jobs: 2 unchanged.",
    ]


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    "command", [["gocron", "sync"], ["runscheduler", "--once"]], ids=lambda command: command[0]
)
def test_b67_before_migrate_our_commands_say_what_to_do(project: Any, command: list[str]):
    """B67"""
    done = project(*command)
    assert (done.returncode, "migrate" in done.stderr, "Traceback" in done.stderr) == (1, True, False)


def test_b80_a_management_command_can_be_scheduled_like_any_task(settings: Any):
    """B80"""
    settings.GOCRON = {"COMMANDS": ["clearsessions"]}
    row = Job(name="Clear sessions", task="command.clearsessions", schedule=Daily(at="03:00"))
    row.full_clean()
    row.save()
    assert row.state.broken_code == ""
    assert registry.get_task(row.task).function(*row.args, **row.kwargs) is None


def test_b80_a_command_that_is_not_on_the_list_is_refused(settings: Any):
    """B80"""
    settings.GOCRON = {"COMMANDS": ["clearsessions"]}
    for name in ("flush", "no_such"):
        with pytest.raises(ValidationError) as caught:
            Job(name="x", task=f"command.{name}").full_clean()
        assert list(caught.value.message_dict) == ["task"]


def test_b80_arguments_that_the_command_does_not_take_are_refused(settings: Any):
    """B80"""
    settings.GOCRON = {"COMMANDS": ["clearsessions"]}
    with pytest.raises(ValidationError) as caught:
        Job(name="x", task="command.clearsessions", kwargs={"older_than": 5}).full_clean()
    assert list(caught.value.message_dict) == ["kwargs"]
