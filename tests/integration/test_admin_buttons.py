"""The buttons of one job: Run now, Pause, Resume, Skip next run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client, override_settings

from django_gocron import Every
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Origin, Status
from tests.integration.admin_support import (
    TASK,
    get_text,
    history_of,
    make_run,
    messages_after,
    sign_in,
    start_instance,
    url,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

LIST = "/admin/gocron/job/"


@pytest.fixture
def client() -> Client:
    return sign_in("view_job", "view_run", "run_job", "pause_job")


@pytest.fixture
def job() -> Job:
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1), timezone="Europe/Berlin")


def press(client: Client, button: str, job: Job, **data: Any) -> Any:
    return client.post(url(button, job.pk), data)


def test_run_now_queues_a_run_in_the_name_of_who_pressed(client: Client, job: Job):
    press(client, "run", job)
    run = Run.objects.get()
    assert (run.job, run.status, run.origin, run.requested_by) == (job, Status.QUEUED, Origin.MANUAL, "anna")


def test_run_now_says_what_happens_and_links_the_run(client: Client, job: Job):
    start_instance()
    response = press(client, "run", job)
    assert messages_after(response) == ["Digest will start within 2 seconds. View run"]
    assert url("change", Run.objects.get().pk, model="run") in str(
        next(iter(response.wsgi_request._messages))
    )


def test_run_now_leaves_the_schedule_alone(client: Client, job: Job):
    before = JobState.objects.get(pk=job.pk).next_run_at
    press(client, "run", job)
    assert JobState.objects.get(pk=job.pk).next_run_at == before


def test_without_a_scheduler_the_run_waits_for_one(client: Client, job: Job):
    assert messages_after(press(client, "run", job)) == [
        "Digest is queued. No scheduler is running, so it will start when one does. View run"
    ]


def test_a_paused_job_runs_by_hand_and_stays_paused(client: Client, job: Job):
    start_instance()
    job.pause()
    (said,) = messages_after(press(client, "run", job))
    assert "It is paused; a run by hand does not resume it." in said
    assert Run.objects.filter(origin=Origin.MANUAL).exists()
    job.refresh_from_db()
    assert job.paused_at


def test_a_disabled_job_runs_by_hand_from_its_own_button(client: Client, job: Job):
    start_instance()
    Job.objects.update(enabled=False)
    (said,) = messages_after(press(client, "run", job))
    assert "It is disabled; a run by hand does not enable it." in said
    assert Run.objects.count() == 1


def test_a_run_beside_a_live_one_is_told_to_wait(client: Client, job: Job):
    instance = start_instance()
    make_run(
        job, Status.RUNNING, instance=instance, started_at=datetime.now(UTC) - timedelta(minutes=2, seconds=1)
    )
    (said,) = messages_after(press(client, "run", job))
    assert said.startswith("Digest is queued. A run of it has been going for 2 min")


def test_a_task_that_nobody_knows_is_refused(client: Client, job: Job):
    Job.objects.update(task="shop.gone")
    assert messages_after(press(client, "run", job)) == [
        "Digest: No running instance knows the task shop.gone."
    ]
    assert not Run.objects.exists()


def test_a_task_that_only_a_running_instance_knows_is_queued(client: Client, job: Job):
    Job.objects.update(task="shop.elsewhere")
    start_instance("shop.elsewhere")
    press(client, "run", job)
    assert Run.objects.get().task == "shop.elsewhere"


def test_bad_arguments_are_refused_with_the_reason(client: Client, job: Job):
    Job.objects.update(kwargs={"regoin": 1})
    (said,) = messages_after(press(client, "run", job))
    assert said == f"Digest: {TASK} takes no argument 'regoin'. Did you mean 'region'?"


def test_a_button_pressed_twice_asks_for_one_run(client: Client, job: Job):
    """A browser sends the same token with both: they come from one rendering of the page."""
    for _press in range(2):
        press(client, "run", job, csrfmiddlewaretoken="of this page")
    assert Run.objects.count() == 1
    press(client, "run", job, csrfmiddlewaretoken="of the next page")
    assert Run.objects.count() == 2


def test_a_stale_page_says_who_asked_already(client: Client, job: Job):
    press(client, "run", job, csrfmiddlewaretoken="of this page")
    Run.objects.update(scheduled_for=datetime.now(UTC) - timedelta(minutes=3, seconds=1))
    *_earlier, said = messages_after(press(client, "run", job, csrfmiddlewaretoken="of this page"))
    assert said == "Digest: Digest was asked to run from this page already, by anna, 3 minutes ago."


@override_settings(GOCRON={"CONFIRM_RUN": "always"})
def test_where_the_project_wants_it_run_now_asks_first(client: Client, job: Job):
    response = press(client, "run", job)
    assert "This job will run now, whatever its schedule says:" in response.rendered_content
    assert not Run.objects.exists()
    press(client, "run", job, sure="1")
    assert Run.objects.count() == 1


def test_pause_stops_the_ticks(client: Client, job: Job):
    response = press(client, "pause", job)
    job.refresh_from_db()
    assert job.paused_at
    assert job.paused_by == "anna"
    assert JobState.objects.get(pk=job.pk).next_run_at is None
    assert messages_after(response) == ["Paused Digest."]


def test_pause_takes_a_reason_and_an_end_on_the_jobs_clock(client: Client, job: Job):
    response = press(client, "pause", job, reason="maintenance", until="2090-01-01T08:00")
    job.refresh_from_db()
    assert job.paused_until == datetime(2090, 1, 1, 7, 0, tzinfo=UTC)
    assert job.pause_reason == "maintenance"
    assert messages_after(response) == ["Paused Digest until Sun 1 Jan 2090 08:00 CET. Reason: maintenance."]


def test_pause_asks_for_both_where_it_is_told_to(client: Client, job: Job):
    page = press(client, "pause", job, ask="1").rendered_content
    assert 'name="reason"' in page
    assert "On the clocks of Europe/Berlin." in page
    job.refresh_from_db()
    assert job.paused_at is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"until": "soon"}, "Enter a date and time such as 2026-12-24 18:00."),
        ({"until": "2027-03-28T02:30"}, "In Europe/Berlin clocks never read 2027-03-28 02:30"),
        ({"reason": "x" * 201}, "Ensure this value has at most 200 characters"),
    ],
)
def test_a_pause_that_makes_no_sense_is_asked_for_again(client: Client, job: Job, data: Any, message: str):
    response = press(client, "pause", job, **data)
    assert message in response.rendered_content
    job.refresh_from_db()
    assert job.paused_at is None


def test_a_pause_into_the_past_is_refused(client: Client, job: Job):
    (said,) = messages_after(press(client, "pause", job, until="2020-01-01T00:00"))
    assert said == "Digest: The end of a pause must be in the future."


def test_resume_lets_the_job_go_on_from_now(client: Client, job: Job):
    job.pause()
    response = press(client, "resume", job)
    job.refresh_from_db()
    assert job.paused_at is None
    assert JobState.objects.get(pk=job.pk).next_run_at
    assert messages_after(response) == ["Resumed Digest. What it slept through is not made up for."]


def test_skip_leaves_out_the_next_run(client: Client, job: Job):
    tick = JobState.objects.get(pk=job.pk).next_tick_at
    assert tick
    (said,) = messages_after(press(client, "skip", job))
    assert said.startswith("Digest will skip its run of ")
    assert said.endswith(("CET.", "CEST."))
    assert JobState.objects.get(pk=job.pk).next_tick_at == tick + timedelta(hours=1)
    skipped = Run.objects.get()
    assert (skipped.status, skipped.scheduled_for, skipped.requested_by) == (Status.SKIPPED, tick, "anna")


def test_there_is_nothing_to_skip_without_a_next_run(client: Client, job: Job):
    Job.objects.update(enabled=False)
    assert messages_after(press(client, "skip", job)) == ["Digest: The job has no next run."]


@pytest.mark.parametrize(
    ("button", "sentence"),
    [
        ("run", "Asked to run now."),
        ("pause", "Paused Digest."),
        ("resume", "Resumed Digest. What it slept through is not made up for."),
    ],
)
def test_each_act_is_a_sentence_in_the_history(client: Client, job: Job, button: str, sentence: str):
    press(client, button, job)
    assert history_of(job) == [sentence]


def test_an_act_that_was_refused_is_not_in_the_history(client: Client, job: Job):
    Job.objects.update(enabled=False)
    press(client, "skip", job)
    assert history_of(job) == []


def test_the_history_page_is_the_audit_log(client: Client, job: Job):
    press(client, "pause", job, reason="maintenance")
    said = get_text(client, url("history", job.pk))
    assert "anna Paused Digest. Reason: maintenance." in said


@pytest.mark.parametrize("page", [f"{LIST}?q=Dig&standing=new", LIST])
def test_a_button_leads_back_to_where_it_was(client: Client, job: Job, page: str):
    assert press(client, "pause", job, next=page).url == page


@pytest.mark.parametrize("page", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_a_button_never_leads_to_another_site(client: Client, job: Job, page: str):
    assert press(client, "pause", job, next=page).url == url("change", job.pk)


@pytest.mark.parametrize("button", ["run", "pause", "resume", "skip", "reset"])
def test_an_address_that_acts_answers_only_post(client: Client, job: Job, button: str):
    response = client.get(url(button, job.pk))
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert "answers only when its button is pressed" in response.content.decode()
    job.refresh_from_db()
    assert job.paused_at is None


@pytest.mark.parametrize("button", ["run", "pause", "resume", "skip", "reset"])
def test_an_address_that_acts_wants_the_token_of_its_page(client: Client, job: Job, button: str):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    assert strict.post(url(button, job.pk)).status_code == 403


def test_a_job_that_is_gone_is_told(client: Client):
    (said,) = messages_after(client.post(url("run", 10_000)))
    assert "10000" in said
    assert "Perhaps it was deleted?" in said
