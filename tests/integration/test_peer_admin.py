"""What bit the users of other schedulers, where jobs are edited; each test says which report it answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_gocron import Daily, Every
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from tests.integration.admin_support import (
    START,
    TASK,
    field_errors,
    get_text,
    messages_after,
    read_form,
    sign_in_superuser,
    start_instance,
    text_of,
    url,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

LIST = "/admin/gocron/job/"


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"cron_expression": "0 0 31 2 *"}, "cron_expression", "never runs"),
        ({"cron_expression": "99 * * * *"}, "cron_expression", "Minute must be from 0 to 59."),
        ({"cron_expression": ""}, "cron_expression", "Enter a cron expression"),
        ({"cron_expression": "0 3 * * *", "kwargs": '{"a":'}, "kwargs", "Not valid JSON"),
    ],
)
def test_b23_the_form_refuses_what_would_never_run_on_the_right_field(
    client: Client, fields: dict[str, Any], field: str, words: str
):
    """B23"""
    form = {**read_form(client, url("add")), "name": "Digest", "task": TASK, "kind": "cron", **fields}
    errors = field_errors(client.post(url("add"), form))
    assert list(errors) == [field]
    assert words in errors[field][0]
    assert not Job.objects.exists()


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "99 * * * *", ""])
def test_b23_a_row_that_was_stored_all_the_same_shows_its_reason(client: Client, expression: str):
    """B23"""
    job = Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))
    stored = f'{{"kind": "cron", "version": 1, "expression": "{expression}"}}'
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_job SET schedule = %s WHERE id = %s", [stored, job.pk])
    Job.objects.filter(pk=job.pk).update(description="planned anew")
    reason = JobState.objects.get(pk=job.pk).broken_text
    assert reason
    for page in (get_text(client, LIST), get_text(client, url("change", job.pk))):
        assert "Broken" in page
        assert reason in page


def test_b23_arguments_that_are_no_json_show_the_reason(client: Client):
    """B23"""
    job = Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))
    Job.objects.filter(pk=job.pk).update(kwargs=["not", "an object"])
    assert JobState.objects.get(pk=job.pk).broken_text in get_text(client, LIST)


def test_b27_the_list_is_quick_to_ask_for_whatever_it_holds(client: Client):
    """B27"""
    start_instance()
    jobs = Job.objects.bulk_create(
        Job(name=f"Job {number}", task=TASK, schedule=Every(hours=1)) for number in range(1000)
    )
    Run.objects.bulk_create(
        Run(job=jobs[0], scheduled_for=START + timedelta(seconds=number), status=Status.SUCCEEDED)
        for number in range(1000)
    )
    with CaptureQueriesContext(connection) as captured:
        assert client.get(LIST).status_code == 200
    statements = [query["sql"] for query in captured.captured_queries]
    assert len(statements) <= 8
    assert not any("COUNT(" in sql.upper() and "gocron_run" in sql for sql in statements)


def test_b27_one_form_tells_in_words_and_on_the_jobs_clock_when_it_runs(client: Client):
    """B27"""
    job = Job.objects.create(
        name="Digest",
        task=TASK,
        schedule=Daily(at="09:00"),
        timezone="Asia/Tokyo",
        starts_at=datetime(2090, 1, 1, tzinfo=UTC),
    )
    response = client.get(url("change", job.pk))
    said = text_of(response.content.decode())
    assert "At 09:00 every day (Asia/Tokyo)" in said
    for day in range(1, 6):
        assert f" {day} Jan 2090 09:00 JST" in said
    offered = [value for value, _label in response.context["adminform"].form.fields["kind"].choices]
    assert {"every", "every_random", "daily", "weekly", "monthly", "cron", "one_time", "manual"} <= set(
        offered
    )


def test_b29_running_a_selection_tells_each_jobs_result(client: Client):
    """B29"""
    start_instance()
    schedule = Every(hours=1)
    jobs = [
        Job.objects.create(name="Fine", task=TASK, schedule=schedule),
        Job.objects.create(name="Off", task=TASK, schedule=schedule, enabled=False),
        Job.objects.create(name="Lost", task="shop.gone", schedule=schedule),
    ]
    selected = [str(job.pk) for job in jobs]
    data = {"action": "run_selected", "_selected_action": selected, "sure": "1"}
    said = messages_after(client.post(LIST, data))
    assert sorted(said) == [
        "1 job is queued: Fine.",
        "Lost: No running instance knows the task shop.gone.",
        "Off: It is disabled. Run it from its own row or page if you mean it.",
    ]
    assert Run.objects.get(status=Status.QUEUED).job == jobs[0]
