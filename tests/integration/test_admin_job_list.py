"""The list of jobs: what a row says, and how rows are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client, override_settings

from django_gocron import Cron, Daily, Every, registry
from django_gocron.models import Job, JobState
from django_gocron.models.choices import Status
from tests.integration.admin_support import (
    START,
    TASK,
    TIDY,
    get_text,
    make_run,
    send_report,
    sign_in_superuser,
    start_instance,
    tidy,
    url,
)

pytestmark = pytest.mark.django_db

LIST = "/admin/gocron/job/"


@pytest.fixture(autouse=True)
def _tasks() -> Iterator[None]:
    with registry.isolated():
        registry.register(send_report)
        registry.register(tidy)
        yield


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def make_job(name: str = "Digest", **values: object) -> Job:
    return Job.objects.create(**{"name": name, "task": TASK, "schedule": Every(hours=1), **values})


def set_state(job: Job, **values: object) -> None:
    JobState.objects.filter(pk=job.pk).update(**values)


def row(client: Client, name: str, **query: str) -> str:
    """What the row of a job says, from its name to the next checkbox."""
    text = get_text(client, LIST, **query)
    assert name in text, text
    return text[text.rindex(name) :]


def test_a_row_says_what_runs_when_and_where_it_comes_from(client: Client):
    start_instance()
    make_job(schedule=Daily(at="07:30"), timezone="Europe/Berlin", tags=["mail"], key="shop.digest")
    said = row(client, "Digest")
    assert "from code mail" in said
    assert "At 07:30 every day (Europe/Berlin)" in said


def test_a_job_without_a_schedule_is_by_hand_only(client: Client):
    make_job(schedule=None)
    assert "By hand only" in row(client, "Digest")


def test_an_expression_that_is_no_sentence_keeps_its_direction(client: Client):
    text = "*/7 3-9/2 L * *"
    make_job(schedule=Cron(text))
    assert f'<code dir="ltr"><bdi>{text}</bdi></code>' in client.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ({"broken_code": "never_fires", "broken_text": "It never fires."}, "Broken It never fires."),
        ({"failures_in_row": 3, "last_status": "failed"}, "Failing 3 failures in a row"),
        ({"last_status": "lost"}, "Failing lost"),
        (
            {"finished_at": datetime(2026, 1, 1, tzinfo=UTC), "last_status": "succeeded"},
            "Finished no further runs",
        ),
        ({"last_status": "succeeded"}, "OK"),
        ({}, "Not run yet"),
    ],
)
def test_the_status_is_one_word_with_its_reason(client: Client, state: dict[str, object], word: str):
    start_instance()
    set_state(make_job(), **state)
    assert word in row(client, "Digest")


def test_a_job_whose_tick_has_waited_is_late(client: Client):
    start_instance()
    set_state(make_job(), next_run_at=datetime.now(UTC) - timedelta(minutes=4, seconds=2))
    said = row(client, "Digest")
    assert "Late" in said
    assert "late by 4 min" in said


def test_a_tick_of_this_moment_is_due_and_not_late(client: Client):
    start_instance()
    set_state(make_job(), next_run_at=datetime.now(UTC) - timedelta(seconds=1))
    said = row(client, "Digest")
    assert "due now" in said
    assert "late" not in said


def test_a_job_with_a_live_run_is_running(client: Client):
    instance = start_instance()
    started = datetime.now(UTC) - timedelta(minutes=2, seconds=1)
    make_run(make_job(), Status.RUNNING, instance=instance, started_at=started)
    assert "Running for 2 min" in row(client, "Digest")


def test_a_pause_says_by_whom_until_when_and_why(client: Client):
    start_instance()
    job = make_job(timezone="Europe/Berlin")
    job.pause(reason="maintenance", by="anna", until=datetime(2090, 1, 1, 7, tzinfo=UTC))
    assert "Paused by anna until Sun 1 Jan 2090 08:00 CET: maintenance" in row(client, "Digest")


def test_a_disabled_job_says_so(client: Client):
    make_job(enabled=False)
    assert "Disabled" in row(client, "Digest")


def test_a_paused_job_that_fails_says_both(client: Client):
    job = make_job()
    job.pause(by="anna")
    set_state(job, failures_in_row=2, last_status="failed")
    said = row(client, "Digest")
    assert "Failing 2 failures in a row" in said
    assert "Paused by anna" in said


def test_a_task_that_no_running_instance_knows_is_shown_as_broken(client: Client):
    start_instance(TIDY)
    make_job()
    assert f"Broken No running instance knows the task {TASK}." in row(client, "Digest")


def test_while_nobody_runs_no_task_is_called_unknown(client: Client):
    make_job(task="shop.gone")
    assert "Broken" not in row(client, "Digest")


def test_a_schedule_that_cannot_be_read_does_not_break_the_list(client: Client):
    job = make_job()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_job SET schedule = %s WHERE id = %s", ['{"kind": "lunar"}', job.pk])
    assert "The schedule cannot be read" in row(client, "Digest")


def test_a_job_without_a_state_row_is_listed(client: Client):
    JobState.objects.filter(pk=make_job().pk).delete()
    assert "Not run yet" in row(client, "Digest")


def test_the_strip_sums_up_the_last_outcomes(client: Client):
    outcomes = [["succeeded", 0.5]] * 17 + [["failed", 2.0]] * 2 + [["missed", None]]
    set_state(make_job(), outcomes=outcomes)
    assert "Last 20 runs: 17 succeeded, 2 failed, 1 missed" in client.get(LIST).content.decode()


@pytest.mark.parametrize("outcomes", ["x", [1], [["unheard-of", 1]], [["failed", "soon"]], {"a": 1}])
def test_outcomes_of_another_shape_do_not_break_the_list(client: Client, outcomes: object):
    set_state(make_job(), outcomes=outcomes)
    assert client.get(LIST).status_code == 200


def test_the_last_run_is_linked_and_timed(client: Client):
    job, now = make_job(), datetime.now(UTC)
    run = make_run(job)
    started = now - timedelta(minutes=8, seconds=5)
    set_state(
        job, last_run=run.pk, last_started_at=started, last_finished_at=started + timedelta(seconds=4.5)
    )
    assert "8 minutes ago took 4.5 s" in row(client, "Digest")
    assert url("change", run.pk, model="run") in client.get(LIST).content.decode()


def test_the_next_run_is_told_from_now_and_on_the_jobs_clock(client: Client):
    start_instance()
    job = make_job(timezone="Asia/Kathmandu")
    set_state(job, next_run_at=datetime(2090, 1, 1, 0, 0, tzinfo=UTC))
    said = row(client, "Digest")
    assert " days " in said
    assert "Sun 1 Jan 2090 05:45 UTC+05:45" in said


def test_what_matters_comes_first(client: Client):
    start_instance()
    names = ("calm", "failing", "broken")
    jobs = {name: make_job(name) for name in names}
    set_state(jobs["calm"], last_status="succeeded")
    set_state(jobs["failing"], failures_in_row=1, last_status="failed")
    set_state(jobs["broken"], broken_code="x")
    text = client.get(LIST).content.decode()
    assert text.index(">broken<") < text.index(">failing<") < text.index(">calm<")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"standing": "failing"}, ["failing"]),
        ({"standing": "disabled"}, ["disabled"]),
        ({"kind": "cron"}, ["cron"]),
        ({"kind": "manual"}, ["manual"]),
        ({"source": "code"}, ["declared"]),
        ({"next": "never"}, ["disabled", "manual"]),
        ({"next": "later"}, ["cron"]),
        ({"q": "mail"}, ["tagged"]),
    ],
)
def test_jobs_are_found_by(client: Client, query: dict[str, str], found: list[str]):
    start_instance()
    set_state(make_job("failing"), failures_in_row=1)
    make_job("disabled", enabled=False)
    set_state(make_job("cron", schedule=Cron("0 0 1 1 *")), next_run_at=datetime(2090, 1, 1, tzinfo=UTC))
    make_job("manual", schedule=None)
    make_job("declared", key="shop.declared")
    make_job("tagged", tags=["mail"])
    response = client.get(LIST, query)
    assert sorted(job.name for job in response.context["cl"].result_list) == found


def test_an_unknown_value_of_a_filter_finds_everything(client: Client):
    make_job()
    response = client.get(LIST, {"standing": "nonsense", "next": "nonsense", "source": "nonsense"})
    assert len(response.context["cl"].result_list) == 1


def test_the_buttons_lead_back_to_the_list_as_it_was(client: Client):
    make_job()
    page = client.get(LIST, {"q": "Dig"}).content.decode()
    assert '<input type="hidden" name="next" value="/admin/gocron/job/?q=Dig">' in page


def test_an_empty_list_says_what_a_job_is(client: Client):
    assert "No jobs yet. A job runs one of your registered tasks on a schedule." in get_text(client, LIST)


def test_an_empty_answer_offers_to_clear_the_filters(client: Client):
    make_job()
    assert "No jobs match these filters. Clear filters" in get_text(client, LIST, q="nothing like it")


@pytest.mark.parametrize("use_tz", [True, False])
def test_every_page_works_with_and_without_djangos_time_zones(client: Client, use_tz: bool):
    with override_settings(USE_TZ=use_tz, TIME_ZONE="Europe/Berlin"):
        job = make_job(starts_at=datetime(2090, 1, 1, tzinfo=UTC))
        run = make_run(job, started_at=START, finished_at=START)
        instance = start_instance()
        pages = [
            LIST,
            url("change", job.pk),
            url("changelist", model="run"),
            url("change", run.pk, model="run"),
            url("changelist", model="instance"),
            url("change", instance.pk, model="instance"),
        ]
        for page in pages:
            assert client.get(page).status_code == 200
        assert "Mon 2 Mar 2026 13:00:00.000 CET" in get_text(client, url("change", run.pk, model="run"))
        assert 'value="2090-01-01T01:00:00"' in client.get(url("change", job.pk)).content.decode()


def test_without_a_scheduler_a_notice_tells_the_command(client: Client):
    said = get_text(client, LIST)
    assert "No scheduler is running." in said
    assert "python manage.py runscheduler. No scheduler has ever run here." in said


def test_the_notice_tells_the_last_heartbeat(client: Client):
    gone = datetime.now(UTC) - timedelta(hours=2, minutes=1)
    start_instance(heartbeat_at=gone, lease_expires_at=gone)
    assert "Last heartbeat: web-1, 2 hours ago." in get_text(client, LIST)


def test_with_a_scheduler_there_is_no_notice(client: Client):
    start_instance()
    assert "No scheduler is running" not in get_text(client, LIST)
