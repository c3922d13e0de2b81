from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection
from django.test.utils import CaptureQueriesContext, setup_test_environment, teardown_test_environment

from django_gocron import Every, job, registry
from django_gocron.after_migrate import is_wanted
from django_gocron.models import Job
from django_gocron.tables import are_ready

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _one_declaration() -> Iterator[None]:
    with registry.isolated():
        job(Every(minutes=10))(tidy)
        yield


def tidy() -> None: ...


def migrated(using: str = "default", verbosity: int = 1) -> str:
    """What the end of ``migrate`` prints."""
    out = io.StringIO()
    emit_post_migrate_signal(verbosity=verbosity, interactive=False, db=using, stdout=out)
    return out.getvalue()


def test_declared_jobs_become_rows_after_migrate(settings: Any):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    assert "Scheduler: 1 declared job: 1 created.\n" in migrated()
    assert Job.objects.get().key == "tests.tidy"


def test_the_migrate_command_itself_syncs(settings: Any):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    call_command("migrate", verbosity=0)
    assert Job.objects.count() == 1


def test_it_is_silent_where_migrate_is(settings: Any):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    assert "Scheduler" not in migrated(verbosity=0)


def test_nothing_happens_under_a_test_runner_unless_told():
    migrated()
    assert not Job.objects.exists()


def test_nothing_happens_where_the_setting_says_so(settings: Any):
    settings.GOCRON = {"SYNC_ON_MIGRATE": False}
    migrated()
    assert not Job.objects.exists()


def test_outside_of_a_test_runner_it_is_wanted():
    teardown_test_environment()
    try:
        assert is_wanted()
    finally:
        setup_test_environment()


def test_nothing_happens_on_another_database(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    from django_gocron import after_migrate

    monkeypatch.setattr(after_migrate, "database", lambda: "elsewhere")
    with CaptureQueriesContext(connection) as queries:
        after_migrate.sync_after_migrate(apps.get_app_config("gocron"), using="default")
    assert len(queries) == 0


def test_it_runs_once_however_many_apps_were_migrated(settings: Any):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    assert migrated().count("Scheduler") == 1


def test_a_refused_declaration_is_logged_and_stops_nothing(settings: Any, caplog: pytest.LogCaptureFixture):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    job(Every(minutes=10), timezone="Mars/X")(clean)
    caplog.set_level(logging.ERROR, "django_gocron")
    migrated()
    assert Job.objects.count() == 1
    assert [record.message for record in caplog.records if "Mars/X" in record.message]


def clean() -> None: ...


def test_a_wrong_setting_stops_no_migration(settings: Any):
    settings.GOCRON = {"COLOUR": "red"}
    migrated()
    assert not Job.objects.exists()


def test_the_tables_are_ready_after_migrate():
    assert are_ready("default")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["table", "column"])
def test_tables_that_lack_something_are_not_ready_and_are_left_alone(settings: Any, what: str):
    settings.GOCRON = {"SYNC_ON_MIGRATE": True}
    field = Job._meta.get_field("owner")
    with connection.schema_editor() as editor:
        if what == "table":
            editor.alter_db_table(Job, "gocron_job", "gocron_job_away")
        else:
            editor.remove_field(Job, field)
    try:
        assert not are_ready("default")
        assert "Scheduler" not in migrated()
    finally:
        with connection.schema_editor() as editor:
            if what == "table":
                editor.alter_db_table(Job, "gocron_job_away", "gocron_job")
            else:
                editor.add_field(Job, field)
