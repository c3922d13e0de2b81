"""The button of a run, and the action on several: Cancel."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from django_gocron import Every
from django_gocron.models import Job, Run
from django_gocron.models.choices import Status
from tests.integration.admin_support import (
    TASK,
    get_text,
    make_run,
    messages_after,
    sign_in,
    url,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

LIST = "/admin/gocron/run/"


@pytest.fixture
def client() -> Client:
    return sign_in("view_run", "cancel_run")


@pytest.fixture
def job() -> Job:
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))


def queue(job: Job) -> Run:
    return job.run_now()


def press(client: Client, run: Run, **data: Any) -> Any:
    return client.post(url("cancel", run.pk, model="run"), {"sure": "1", **data})


def page(client: Client, run: Run) -> str:
    return get_text(client, url("change", run.pk, model="run"))


def test_it_cancels_a_queued_run_in_the_name_of_who_pressed(client: Client, job: Job):
    run = queue(job)
    response = press(client, run)
    run.refresh_from_db()
    assert (run.status, run.reason, run.error_message) == ("cancelled", "by_user", "Cancelled by anna.")
    assert messages_after(response) == ["Cancelled the run of Digest."]
    assert response.url.startswith(url("change", run.pk, model="run"))


def test_it_asks_before_it_acts(client: Client, job: Job):
    run = queue(job)
    response = client.post(url("cancel", run.pk, model="run"))
    assert "This run will be cancelled." in response.content.decode()
    run.refresh_from_db()
    assert run.status == Status.QUEUED


def test_it_asks_a_run_that_executes_to_end(client: Client, job: Job):
    run = make_run(job, Status.RUNNING, started_at=datetime.now(UTC))
    assert messages_after(press(client, run)) == ["Asked the run of Digest to end."]
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    text = page(client, run)
    assert "Cancel requested." in text
    assert "Its cancellation was requested by anna." in text
    assert "Its cancellation was requested by anna." in get_text(client, LIST)


def test_it_says_why_it_cannot(client: Client, job: Job):
    run = make_run(job, Status.SUCCEEDED)
    assert messages_after(press(client, run)) == ["Digest: The run has ended already."]


def test_each_press_is_noted_in_the_history_of_the_run(client: Client, job: Job):
    run = queue(job)
    press(client, run)
    assert [entry.get_change_message() for entry in LogEntry.objects.filter(object_id=str(run.pk))] == [
        "Cancelled the run of Digest."
    ]


@pytest.mark.parametrize(
    ("status", "is_offered"),
    [(Status.QUEUED, True), (Status.CLAIMED, True), (Status.RUNNING, True), (Status.FAILED, False)],
)
def test_the_button_is_on_the_pages_of_live_runs(client: Client, job: Job, status: Status, is_offered: bool):
    assert ("Cancel…" in page(client, make_run(job, status))) is is_offered


def test_the_button_is_gone_once_it_was_pressed(client: Client, job: Job):
    run = make_run(job, Status.RUNNING, started_at=datetime.now(UTC))
    press(client, run)
    assert "Cancel…" not in page(client, run)


def test_who_may_not_sees_no_button_and_is_refused(job: Job):
    client, run = sign_in("view_run"), queue(job)
    assert "Cancel…" not in page(client, run)
    response = press(client, run)
    assert response.status_code == 403
    assert "permission “Can cancel a run”" in response.content.decode()
    run.refresh_from_db()
    assert run.status == Status.QUEUED


def test_its_address_answers_to_the_button_alone(client: Client, job: Job):
    response = client.get(url("cancel", queue(job).pk, model="run"))
    assert (response.status_code, response["Allow"]) == (405, "POST")


def test_a_run_that_is_gone_is_not_found(client: Client, job: Job):
    run = queue(job)
    Run.objects.all().delete()
    assert press(client, run).url == "/admin/"


def select(client: Client, *runs: Run, **data: Any) -> Any:
    selected = [run.pk for run in runs]
    return client.post(
        LIST, {"action": "cancel_selected", "_selected_action": selected, "index": "0", **data}
    )


def test_a_selection_is_asked_about_first(client: Client, job: Job):
    response = select(client, queue(job), queue(job))
    assert "These 2 runs will be cancelled." in response.content.decode()
    assert set(Run.objects.values_list("status", flat=True)) == {"queued"}


def test_each_run_of_a_selection_is_told_apart(client: Client, job: Job):
    response = select(client, queue(job), queue(job), make_run(job, Status.FAILED), sure="1")
    assert messages_after(response) == [
        "2 runs are cancelled. Those that execute have been asked to end.",
        "Digest: The run has ended already.",
    ]
    assert sorted(Run.objects.values_list("status", flat=True)) == ["cancelled", "cancelled", "failed"]


def test_who_may_not_is_not_offered_the_action(job: Job):
    client = sign_in("view_run", "delete_run")
    queue(job)
    assert 'value="cancel_selected"' not in client.get(LIST).content.decode()


def test_the_page_of_a_run_whose_code_goes_on_says_so(client: Client, job: Job):
    run = make_run(job, Status.TIMED_OUT, held_lock="1")
    assert "Its code still executes" in page(client, run)
