"""The pages of runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from django_gocron import Every
from django_gocron.admin import paginators
from django_gocron.models import Job, Run
from django_gocron.models.choices import Origin, Reason, Status
from tests.integration.admin_support import (
    START,
    TASK,
    get_text,
    make_run,
    sign_in,
    sign_in_superuser,
    start_instance,
    url,
)

pytestmark = pytest.mark.django_db

LIST = "/admin/gocron/run/"


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


@pytest.fixture
def job() -> Job:
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1), timezone="Europe/Berlin")


def make_failed(job: Job, **values: Any) -> Run:
    facts = {
        "reason": Reason.EXCEPTION,
        "claimed_at": START - timedelta(seconds=0.8),
        "started_at": START + timedelta(seconds=0.8),
        "finished_at": START + timedelta(seconds=5.3),
        "error_type": "ConnectionError",
        "error_message": "timed out\nwhile talking to the shop",
        "traceback": "Traceback (most recent call last):\n  in fetch",
        "output": "fetching page 1",
        "result": {"pages": 1},
        "kwargs": {"region": "eu", "password": "hunter2"},
        **values,
    }
    return make_run(job, Status.FAILED, **facts)


def page(client: Client, run: Run) -> str:
    return get_text(client, url("change", run.pk, model="run"))


def listed(client: Client, **query: str) -> list[int]:
    response = client.get(LIST, query)
    return [run.pk for run in response.context["cl"].result_list]


def test_a_line_tells_the_life_of_a_run(client: Client, job: Job):
    instance = start_instance()
    make_failed(job, instance=instance)
    assert (
        "Failed Digest Mon 2 Mar 2026 12:00 UTC 12:00 UTC +800 ms 4.5 s schedule web-1 ConnectionError: timed out"
    ) in get_text(client, LIST)


def test_a_line_tells_who_asked_and_which_attempt_it_is(client: Client, job: Job):
    make_run(job, origin=Origin.MANUAL, requested_by="anna", attempt=2)
    assert "manual, by anna, attempt 2" in get_text(client, LIST)


def test_a_run_that_stands_for_several_ticks_says_how_many(client: Client, job: Job):
    make_run(job, Status.COALESCED, count=240, window_end=START + timedelta(hours=4))
    assert "240 ticks" in get_text(client, LIST)


def test_a_run_that_did_not_begin_says_why(client: Client, job: Job):
    make_run(job, Status.SKIPPED, reason=Reason.OVERLAP)
    assert "the previous run was still live" in get_text(client, LIST)


def test_a_run_outlives_its_job(client: Client, job: Job):
    make_run(job)
    job.delete()
    assert "Digest" in get_text(client, LIST)


def test_a_word_of_a_later_release_does_not_break_the_list(client: Client, job: Job):
    make_run(job)
    Run.objects.update(status="dreamt", reason="moon", origin="tide")
    said = get_text(client, LIST)
    assert "Dreamt" in said
    assert "moon" in said


def test_the_latest_come_first(client: Client, job: Job):
    runs = [make_run(job, scheduled_for=START + timedelta(hours=number)) for number in range(3)]
    newest_first = [run.pk for run in reversed(runs)]
    assert listed(client) == newest_first
    assert listed(client, job=str(job.pk)) == newest_first


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"status": "failed"}, ["failed"]),
        ({"origin": "manual"}, ["manual"]),
        ({"period": "24h"}, ["recent"]),
        ({"q": "other"}, ["other"]),
        ({"q": "gone"}, ["gone"]),
        ({"q": "nobody"}, []),
    ],
)
def test_runs_are_found_by(client: Client, job: Job, query: dict[str, str], found: list[str]):
    other = Job.objects.create(name="Other", task=TASK)
    gone = Job.objects.create(name="Gone", task=TASK)
    recent = datetime.now(UTC) - timedelta(hours=3)
    runs = {
        "failed": make_run(job, Status.FAILED, scope="a"),
        "manual": make_run(job, origin=Origin.MANUAL, scope="b"),
        "recent": make_run(job, scheduled_for=recent, scope="c"),
        "other": make_run(other),
        "gone": make_run(gone),
    }
    gone.delete()
    assert listed(client, **query) == [runs[name].pk for name in found]


def test_the_runs_of_a_job_and_of_an_instance_have_lists_of_their_own(client: Client, job: Job):
    instance = start_instance()
    mine = make_run(job, instance=instance)
    make_run(Job.objects.create(name="Other", task=TASK))
    assert listed(client, job=str(job.pk)) == [mine.pk]
    assert listed(client, instance=str(instance.pk)) == [mine.pk]
    assert "Instance: web-1" in get_text(client, LIST, instance=str(instance.pk))


@pytest.mark.parametrize("query", [{"job": "x"}, {"instance": "x"}, {"job": "99999999999999999999"}])
def test_a_list_of_nothing_is_empty(client: Client, job: Job, query: dict[str, str]):
    make_run(job)
    assert listed(client, **query) == []


def test_no_more_than_the_cap_is_counted(client: Client, job: Job, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paginators, "MOST", 3)
    for number in range(5):
        make_run(job, scope=str(number))
    said = get_text(client, LIST)
    assert "3 runs" in said
    assert "There are more. Only the latest are counted" in said


def test_up_to_the_cap_the_count_is_exact(client: Client, job: Job, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paginators, "MOST", 3)
    for number in range(3):
        make_run(job, scope=str(number))
    assert "There are more" not in get_text(client, LIST)


def test_the_page_tells_the_life_of_the_run_on_the_jobs_clock(client: Client, job: Job):
    said = page(client, make_failed(job, instance=start_instance()))
    assert "Failed The task raised an exception" in said
    assert "Scheduled Mon 2 Mar 2026 13:00:00.000 CET" in said
    assert "Claimed by web-1 Mon 2 Mar 2026 12:59:59.200 CET" in said
    assert "Started Mon 2 Mar 2026 13:00:00.800 CET +800 ms" in said
    assert "Ended Mon 2 Mar 2026 13:00:05.300 CET took 4.5 s" in said


def test_the_page_shows_what_the_run_left_behind(client: Client, job: Job):
    said = page(client, make_failed(job))
    assert "Traceback (most recent call last): in fetch" in said
    assert "fetching page 1" in said
    assert '"pages": 1' in said
    assert "ConnectionError: timed out while talking to the shop" in said


def test_secrets_in_arguments_are_masked(client: Client, job: Job):
    said = page(client, make_failed(job))
    assert '{"region": "eu", "password": "********"}' in said
    assert "hunter2" not in said


def test_who_may_not_see_output_is_told_whom_to_ask(job: Job):
    said = page(sign_in("view_run"), make_failed(job))
    assert "ask an administrator for the permission “Can view run output”" in said.replace("Ask", "ask")
    for secret in ("in fetch", "fetching page 1", '"pages"', '"region"'):
        assert secret not in said


def test_who_may_see_output_sees_it(job: Job):
    assert "fetching page 1" in page(sign_in("view_run", "view_run_output"), make_failed(job))


def test_a_lost_run_says_what_that_means(client: Client, job: Job):
    run = make_run(job, Status.LOST, instance=start_instance(), reason=Reason.INSTANCE_GONE)
    assert "It was started by web-1, which stopped before the run ended. It may have finished." in page(
        client, run
    )


def test_runs_are_only_read(client: Client, job: Job):
    run = make_run(job)
    assert client.get(url("add", model="run")).status_code == 403
    assert client.post(url("change", run.pk, model="run"), {"status": "failed"}).status_code == 403


def test_runs_can_be_deleted_by_who_may(job: Job):
    run = make_run(job)
    assert sign_in("view_run").post(url("delete", run.pk, model="run"), {"post": "yes"}).status_code == 403
    sign_in("view_run", "delete_run", name="bob").post(url("delete", run.pk, model="run"), {"post": "yes"})
    assert not Run.objects.exists()


def test_an_empty_list_says_so(client: Client):
    assert "No runs yet." in get_text(client, LIST)
    assert "No runs match these filters." in get_text(client, LIST, status="failed")
