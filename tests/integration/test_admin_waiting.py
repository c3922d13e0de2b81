"""What waits in the queue of a job, and the attempts of a tick: as the pages of jobs and of runs tell it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from django_gocron import Every
from django_gocron.models import Job, Run
from django_gocron.models.choices import Reason, Status
from tests.integration.admin_support import START, TASK, get_text, make_run, sign_in, sign_in_superuser, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def make_job(**values: Any) -> Job:
    fields = {"name": "Digest", "task": TASK, "schedule": Every(hours=1), "timezone": "Europe/Berlin"}
    return Job.objects.create(**{**fields, **values})


def queue(job: Job, number: int, reason: Reason = Reason.OVERLAP, **values: Any) -> list[Run]:
    return [
        make_run(
            job, Status.QUEUED, reason=reason, **{"scheduled_for": START + timedelta(hours=place), **values}
        )
        for place in range(number)
    ]


def panel(client: Client, job: Job) -> str:
    text = get_text(client, url("change", job.pk))
    return text[text.index("State") : text.index("Last runs")]


def page(client: Client, run: Run) -> str:
    return get_text(client, url("change", run.pk, model="run"))


# The page of a job


@pytest.mark.parametrize(("number", "words"), [(0, "0 ticks wait"), (1, "1 tick waits"), (2, "2 ticks wait")])
@pytest.mark.parametrize("overlap", ["queue", "queue_latest"])
def test_a_job_that_queues_tells_how_many_ticks_wait(client: Client, overlap: str, number: int, words: str):
    job = make_job(overlap=overlap, max_queued=5)
    queue(job, number)
    assert f"{words} in the queue (maximum queued: 5)" in panel(client, job)


def test_ticks_that_are_caught_up_with_are_told_whatever_the_job_says_of_overlap(client: Client):
    job = make_job()
    assert "in the queue" not in panel(client, job)
    queue(job, 2)
    assert "2 ticks wait in the queue" in panel(client, job)
    assert "maximum queued" not in panel(client, job)


def test_what_waits_for_something_else_or_of_another_job_is_not_counted(client: Client):
    job = make_job(overlap="queue")
    queue(make_job(name="Other"), 1)
    queue(job, 1, Reason.MANUAL)
    queue(job, 1, Reason.RETRY, attempt=2)
    assert "0 ticks wait" in panel(client, job)


def test_a_retry_tells_which_it_is_and_when_it_is_due(client: Client):
    job = make_job(retries=3)
    due_at = datetime(2090, 1, 1, 7, 0, tzinfo=UTC)
    (retry,) = queue(job, 1, Reason.RETRY, attempt=3, available_at=due_at)
    said = panel(client, job)
    assert "Retry 2 of 3: in " in said
    assert "Sun 1 Jan 2090 08:00 CET" in said
    assert url("change", retry.pk, model="run") in client.get(url("change", job.pk)).content.decode()


def test_a_retry_of_a_lost_run_is_no_share_of_the_retries(client: Client):
    job = make_job(on_lost="retry")
    queue(job, 1, Reason.RETRY, attempt=2, available_at=datetime.now(UTC))
    assert "Retry 1: due now" in panel(client, job)


def test_the_next_retries_are_told_and_the_page_stays_short(client: Client):
    job = make_job(retries=1)
    for place in range(7):
        due_at = datetime(2090, 1, 1 + place, tzinfo=UTC)
        queue(job, 1, Reason.RETRY, attempt=2, available_at=due_at, scheduled_for=due_at)
    said = panel(client, job)
    assert said.count("Retry 1 of 1") == 5
    assert "Sun 1 Jan 2090" in said
    assert "Fri 6 Jan 2090" not in said


def test_who_may_not_see_runs_gets_no_link(client: Client):
    job = make_job(retries=1)
    (retry,) = queue(job, 1, Reason.RETRY, attempt=2, available_at=START)
    viewer = sign_in("view_job", name="viewer")
    html = viewer.get(url("change", job.pk)).content.decode()
    assert "Retry 1 of 1" in html
    assert url("change", retry.pk, model="run") not in html


# The page of a run


@pytest.fixture
def attempts() -> list[Run]:
    """Three of the four that the job allows."""
    runs: list[Run] = []
    for attempt in (1, 2, 3):
        parent = runs[-1] if runs else None
        runs.append(make_run(make_job() if not runs else runs[0].job, attempt=attempt, parent=parent))  # type: ignore[arg-type]
    Job.objects.update(retries=3)
    return runs


def links(client: Client, run: Run, others: list[Run]) -> list[bool]:
    html = client.get(url("change", run.pk, model="run")).content.decode()
    return [f'href="{url("change", other.pk, model="run")}"' in html for other in others]


def test_a_run_links_the_attempts_before_and_after_it(client: Client, attempts: list[Run]):
    assert links(client, attempts[0], attempts) == [False, True, False]
    assert links(client, attempts[1], attempts) == [True, False, True]
    assert links(client, attempts[2], attempts) == [False, True, False]


def test_a_run_says_which_attempt_it_is(client: Client, attempts: list[Run]):
    assert "2 of at most 4 · the one before · the one after" in page(client, attempts[1])


def test_attempts_beyond_the_retries_have_no_most(client: Client, attempts: list[Run]):
    Job.objects.update(retries=1)
    assert "3 · the one before" in page(client, attempts[2])


def test_a_run_whose_job_is_gone_still_says_which_attempt_it_is(client: Client, attempts: list[Run]):
    Job.objects.all().delete()
    assert "2 · the one before · the one after" in page(client, attempts[1])


def test_an_attempt_that_was_pruned_is_not_linked(client: Client, attempts: list[Run]):
    Run.objects.filter(pk=attempts[0].pk)._raw_delete("default")
    assert "2 of at most 4 · the one after" in page(client, attempts[1])


def test_a_tick_that_was_tried_once_says_nothing_of_attempts(client: Client):
    assert "Attempt" not in page(client, make_run(make_job(retries=3)))


@pytest.mark.parametrize(
    ("status", "reason", "sentence"),
    [
        (Status.QUEUED, Reason.OVERLAP, "It waits for the end of the job's live run."),
        (Status.QUEUED, Reason.RETRY, "This one begins when it is due."),
        (Status.SKIPPED, Reason.QUEUE_FULL, "as many ticks were waiting as the job allows."),
        (Status.SKIPPED, Reason.SUPERSEDED, "until a later tick took its place."),
        (Status.SKIPPED, Reason.LIMIT, "The job had had its maximum of runs, or its scheduler was executing"),
        (Status.SKIPPED, Reason.PAUSED, "The job was paused, quarantined, disabled or deleted"),
        (Status.SKIPPED, Reason.OVERLAP, "The previous run was still live"),
    ],
)
def test_a_run_says_in_a_sentence_why_it_waits_or_was_not_run(
    client: Client, status: Status, reason: Reason, sentence: str
):
    assert sentence in page(client, make_run(make_job(), status, reason=reason))
