"""Actions on several jobs at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client, override_settings

from django_gocron import Every
from django_gocron.declarations import sync
from django_gocron.models import Job, Run
from django_gocron.models.choices import Status
from django_gocron.registry import job as declare
from tests.integration.admin_support import (
    TASK,
    history_of,
    messages_after,
    send_report,
    sign_in_superuser,
    start_instance,
    text_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

LIST = "/admin/gocron/job/"


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def make_jobs(*names: str, **values: Any) -> list[Job]:
    fields = {"task": TASK, "schedule": Every(hours=1), **values}
    return [Job.objects.create(**{"name": name, **fields}) for name in names]


def act(client: Client, action: str, jobs: list[Job], address: str = LIST, **data: str) -> Any:
    selected = [str(job.pk) for job in jobs]
    return client.post(address, {"action": f"{action}_selected", "_selected_action": selected, **data})


def test_run_now_asks_first_and_names_the_jobs(client: Client):
    response = act(client, "run", make_jobs("A", "B"))
    said = text_of(response.rendered_content)
    assert "These 2 jobs will run now, whatever their schedules say: A B" in said
    assert not Run.objects.exists()


def test_run_now_queues_each_after_the_answer(client: Client):
    start_instance()
    response = act(client, "run", make_jobs("A", "B"), sure="1")
    assert messages_after(response) == ["2 jobs are queued: A, B."]
    assert Run.objects.filter(status=Status.QUEUED).count() == 2


@override_settings(GOCRON={"CONFIRM_RUN": "never"})
def test_where_the_project_wants_it_nothing_is_asked(client: Client):
    act(client, "run", make_jobs("A", "B"))
    assert Run.objects.count() == 2


def test_the_page_that_asks_tells_which_will_be_left_out(client: Client):
    jobs = make_jobs("A") + make_jobs("Off", enabled=False)
    assert "Off - disabled: it will be left out" in text_of(act(client, "run", jobs).rendered_content)


def test_pause_asks_for_a_reason_and_an_end(client: Client):
    jobs = make_jobs("A", "B")
    assert 'name="until"' in act(client, "pause", jobs).rendered_content
    response = act(client, "pause", jobs, sure="1", reason="maintenance", until="2090-01-01T08:00")
    assert messages_after(response) == ["2 jobs are paused: A, B."]
    paused = Job.objects.get(name="A")
    assert paused.paused_until == datetime(2090, 1, 1, 8, 0, tzinfo=UTC)
    assert history_of(paused) == ["Paused A until Sun 1 Jan 2090 08:00 UTC. Reason: maintenance."]


def test_a_pause_that_makes_no_sense_is_asked_for_again(client: Client):
    jobs = make_jobs("A")
    response = act(client, "pause", jobs, sure="1", until="soon")
    assert "Enter a date and time such as 2026-12-24 18:00." in response.rendered_content
    assert f'name="_selected_action" value="{jobs[0].pk}"' in response.rendered_content


def test_resume_names_those_that_were_not_paused(client: Client):
    paused, other = make_jobs("A", "B")
    paused.pause()
    assert messages_after(act(client, "resume", [paused, other])) == [
        "B: It is not paused.",
        "1 job is resumed: A.",
    ]


def test_skip_names_those_without_a_next_run(client: Client):
    jobs = make_jobs("A") + make_jobs("Off", enabled=False)
    assert messages_after(act(client, "skip", jobs)) == [
        "Off: The job has no next run.",
        "1 job will skip its next run: A.",
    ]


def test_many_names_are_shortened(client: Client):
    jobs = make_jobs(*(f"J{number:02}" for number in range(25)))
    (said,) = messages_after(act(client, "skip", jobs))
    assert said.startswith("25 jobs will skip their next run: J00, J01,")
    assert said.endswith("J19, ….")


def test_many_refusals_are_summed_up(client: Client):
    jobs = make_jobs(*(f"J{number:02}" for number in range(25)))
    said = messages_after(act(client, "resume", jobs))
    assert len(said) == 21
    assert said[-1] == "5 more jobs could not either."


def test_an_action_keeps_the_filters(client: Client):
    address = f"{LIST}?q=A&source=admin"
    assert act(client, "skip", make_jobs("A"), address).url == address


def test_deleting_leaves_what_code_defines(client: Client):
    declare(Every(minutes=10), name="Digest")(send_report)
    sync("default")
    jobs = [*Job.objects.all(), *make_jobs("A")]
    asked = act(client, "delete", jobs)
    assert "Are you sure you want to delete the selected job?" in asked.rendered_content
    response = act(client, "delete", jobs, post="yes")
    assert messages_after(response)[0].startswith("Digest is defined in code and would come back.")
    assert list(Job.objects.values_list("name", flat=True)) == ["Digest"]


def test_deleting_only_what_code_defines_asks_nothing(client: Client):
    declare(Every(minutes=10), name="Digest")(send_report)
    sync("default")
    response = act(client, "delete", list(Job.objects.all()))
    assert response.status_code == 302
    assert Job.objects.exists()
