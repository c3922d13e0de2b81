"""The pages of instances."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from django_gocron import Every
from django_gocron.models import Job
from django_gocron.models.choices import Status
from tests.integration.admin_support import TASK, get_text, make_run, sign_in_superuser, start_instance, url

pytestmark = [pytest.mark.django_db, pytest.mark.only_on("sqlite")]

LIST = "/admin/gocron/instance/"


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def ago(**parts: float) -> datetime:
    return datetime.now(UTC) - timedelta(**parts)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({}, "OK"),
        ({"heartbeat_at": ago(seconds=25)}, "Late"),
        ({"heartbeat_at": ago(minutes=5), "lease_expires_at": ago(minutes=4)}, "Dead"),
        ({"reaped_at": ago(minutes=1)}, "Dead"),
        ({"stopped_at": ago(minutes=1)}, "Stopped"),
    ],
)
def test_the_state_is_one_word(client: Client, values: Any, word: str):
    start_instance(**values)
    assert f"web-1 {word} " in get_text(client, LIST)


def test_a_line_tells_what_runs_where(client: Client):
    instance = start_instance(
        host="web",
        pid=42,
        workers=8,
        labels=["reports"],
        versions={"django-gocron": "1.0"},
        heartbeat_at=ago(seconds=3.5),
    )
    job = Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))
    make_run(job, Status.RUNNING, instance=instance, started_at=ago(seconds=1))
    said = get_text(client, LIST)
    assert "web-1 OK 3 seconds ago 1 8 reports web 42 in step django-gocron 1.0" in said


@pytest.mark.parametrize(
    ("offset", "words"),
    [(0.2, "in step"), (3.2, "3.2 s behind: check NTP"), (-3.2, "3.2 s ahead: check NTP")],
)
def test_a_clock_that_differs_from_the_databases_is_told(client: Client, offset: float, words: str):
    start_instance(clock_offset=offset)
    assert words in get_text(client, LIST)


def test_the_page_lists_the_tasks_it_knows(client: Client):
    instance = start_instance("shop.jobs.digest", declares=["shop.digest"])
    said = get_text(client, url("change", instance.pk, model="instance"))
    assert "Tasks it knows (1) shop.jobs.digest" in said
    assert "Jobs it declares (1) shop.digest" in said


def test_instances_are_only_read(client: Client):
    instance = start_instance()
    assert client.get(url("add", model="instance")).status_code == 403
    assert client.post(url("change", instance.pk, model="instance"), {"name": "x"}).status_code == 403
    assert client.post(url("delete", instance.pk, model="instance"), {"post": "yes"}).status_code == 403
