"""Who may do what: viewer, operator, editor, superuser, and every address."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from django_gocron import Every
from django_gocron.admin import register
from django_gocron.models import Instance, Job, JobState, Run
from tests.integration.admin_support import (
    TASK,
    get_text,
    make_run,
    read_form,
    sign_in,
    sign_in_superuser,
    start_instance,
    url,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task"), pytest.mark.only_on("sqlite")]

ROLES = {
    "nobody": (),
    "viewer": ("view_job", "view_run", "view_instance"),
    "operator": ("view_job", "view_run", "run_job", "pause_job"),
    "editor": ("view_job", "add_job", "change_job", "delete_job", "view_run"),
}

ALLOWED = {
    ("get", "changelist"): {"viewer", "operator", "editor", "superuser"},
    ("get", "change"): {"viewer", "operator", "editor", "superuser"},
    ("get", "history"): {"viewer", "operator", "editor", "superuser"},
    ("get", "add"): {"editor", "superuser"},
    ("get", "delete"): {"editor", "superuser"},
    ("get", "preview"): {"editor", "superuser"},
    ("post", "change"): {"editor", "superuser"},
    ("post", "run"): {"operator", "superuser"},
    ("post", "pause"): {"operator", "superuser"},
    ("post", "resume"): {"operator", "superuser"},
    ("post", "release"): {"operator", "superuser"},
    ("post", "skip"): {"operator", "superuser"},
    ("post", "reset"): {"editor", "superuser"},
}


@pytest.fixture
def job() -> Job:
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))


def sign_in_as(role: str) -> Client:
    return sign_in_superuser() if role == "superuser" else sign_in(*ROLES[role], name=role)


def open_page(client: Client, method: str, page: str, job: Job) -> Any:
    args = () if page in ("changelist", "add", "preview") else (job.pk,)
    return getattr(client, method)(url(page, *args))


@pytest.mark.parametrize("role", [*ROLES, "superuser"])
def test_every_address_is_open_to_those_who_may_alone(role: str, job: Job):
    client = sign_in_as(role)
    opened = {key for key in ALLOWED if open_page(client, *key, job).status_code in (200, 302)}
    assert opened == {key for key, roles in ALLOWED.items() if role in roles}


@pytest.mark.parametrize(("method", "page"), ALLOWED)
def test_who_may_not_is_refused_and_nothing_is_done(method: str, page: str, job: Job):
    assert open_page(sign_in_as("nobody"), method, page, job).status_code == 403
    job.refresh_from_db()
    assert job.paused_at is None
    assert not Run.objects.exists()


@pytest.mark.parametrize(("method", "page"), ALLOWED)
def test_a_stranger_is_sent_to_the_login(method: str, page: str, job: Job):
    assert "/login/" in open_page(Client(), method, page, job).url


@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("run", "You may not run jobs. Ask an administrator for the permission “Can run a job now”."),
        ("pause", "You may not pause or resume jobs. Ask an administrator for the permission"),
        ("reset", "You may not change jobs. Ask an administrator for the permission “Can change job”."),
    ],
)
def test_a_refusal_says_whom_to_ask_for_what(job: Job, button: str, words: str):
    response = sign_in_as("viewer").post(url(button, job.pk))
    assert response.status_code == 403
    assert words in response.content.decode()


@pytest.mark.parametrize(
    ("role", "drawn"),
    [
        ("viewer", []),
        ("operator", ["Run now", "Pause"]),
        ("editor", []),
        ("superuser", ["Run now", "Pause"]),
    ],
)
def test_buttons_are_drawn_for_those_who_may_press_them(role: str, drawn: list[str], job: Job):
    client = sign_in_as(role)
    for address in (url("changelist"), url("change", job.pk)):
        page = client.get(address).content.decode()
        assert re.findall(r">(Run now|Pause)…?</button>", page) == drawn


@pytest.mark.parametrize(
    ("role", "offered"), [("viewer", set()), ("operator", {"run_selected", "pause_selected"})]
)
@pytest.mark.usefixtures("job")
def test_actions_are_offered_to_those_who_may(role: str, offered: set[str]):
    page = sign_in_as(role).get(url("changelist")).content.decode()
    assert {
        name for name in ("run_selected", "pause_selected", "delete_selected") if f'"{name}"' in page
    } == offered


def test_an_action_that_is_not_offered_does_nothing(job: Job):
    data = {"action": "run_selected", "_selected_action": [str(job.pk)], "sure": "1"}
    sign_in_as("viewer").post(url("changelist"), data)
    assert not Run.objects.exists()


def test_a_viewer_reads_the_job_and_its_secrets_are_masked(job: Job):
    Job.objects.update(kwargs={"region": "eu", "api_key": "hunter2"})
    client = sign_in_as("viewer")
    said = get_text(client, url("change", job.pk))
    assert '{"region": "eu", "api_key": "********"}' in said
    assert "hunter2" not in client.get(url("change", job.pk)).content.decode()
    assert "Every hour (UTC)" in said
    assert read_form(client, url("change", job.pk)).keys() <= {"csrfmiddlewaretoken"}


def test_runs_are_linked_only_for_those_who_may_see_them(job: Job):
    run = make_run(job)
    moment = run.scheduled_for
    JobState.objects.update(last_run=run.pk, last_started_at=moment, last_finished_at=moment)
    address = url("change", run.pk, model="run")
    for role, is_linked in (("viewer", True), ("blind", False)):
        client = sign_in_as(role) if role in ROLES else sign_in("view_job", name=role)
        for page in (url("changelist"), url("change", job.pk)):
            assert (address in client.get(page).content.decode()) is is_linked


def test_runs_and_instances_are_open_to_those_who_may(job: Job):
    pages = [
        url("changelist", model="run"),
        url("change", make_run(job).pk, model="run"),
        url("changelist", model="instance"),
        url("change", start_instance().pk, model="instance"),
    ]
    for role, status in (("viewer", 200), ("nobody", 403)):
        client = sign_in_as(role)
        assert [client.get(page).status_code for page in pages] == [status] * 4


def test_the_pages_can_be_put_on_another_site():
    site = admin.AdminSite(name="ops")
    register(site)
    assert all(site.is_registered(model) for model in (Job, Run, Instance))
