"""Jobs that are not run although they are enabled: orphans and those in quarantine, and what is done about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from django_gocron import Every
from django_gocron.admin import situation
from django_gocron.models import Job, JobState, Run
from tests.integration.admin_support import (
    TASK,
    TIDY,
    get_text,
    history_of,
    messages_after,
    sign_in,
    start_instance,
    url,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

LIST = "/admin/gocron/job/"
NOBODY_DECLARES_IT = "Orphaned No running scheduler declares it, so it is not run."


@pytest.fixture
def client() -> Client:
    return sign_in("view_job", "view_run", "run_job", "pause_job")


@pytest.fixture
def orphan() -> Job:
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1), key="shop.digest")


@pytest.fixture
def quarantined() -> Job:
    job = Job.objects.create(name="Import", task=TASK, schedule=Every(hours=1))
    JobState.objects.filter(pk=job.pk).update(
        quarantined_at=datetime.now(UTC),
        crashes_in_row=3,
        last_status="lost",
        next_tick_at=None,
        next_run_at=None,
    )
    return job


def heard_ago(**elapsed: float) -> dict[str, datetime]:
    """Of an instance that has stopped, or died, so long ago."""
    moment = datetime.now(UTC) - timedelta(**elapsed)
    return {"heartbeat_at": moment, "lease_expires_at": moment}


def press(client: Client, button: str, job: Job) -> Any:
    return client.post(url(button, job.pk))


def found(client: Client, standing: str) -> list[str]:
    response = client.get(LIST, {"standing": standing})
    return [job.name for job in response.context["cl"].result_list]


# Orphans


def test_a_declared_job_that_no_running_scheduler_declares_is_orphaned(client: Client, orphan: Job):
    start_instance(declares=["shop.other"])
    assert NOBODY_DECLARES_IT in get_text(client, LIST)
    assert f"{NOBODY_DECLARES_IT} Declare it again, or delete it." in get_text(
        client, url("change", orphan.pk)
    )


def test_one_scheduler_that_declares_it_is_enough(client: Client, orphan: Job):
    start_instance(declares=[])
    start_instance(declares=["shop.digest"], name="web-2")
    assert found(client, "orphaned") == []


@pytest.mark.parametrize(("minutes", "orphans"), [(14, []), (16, ["Digest"])])
def test_what_was_declared_counts_for_a_quarter_of_an_hour(
    client: Client, orphan: Job, minutes: int, orphans: list[str]
):
    start_instance(declares=["shop.digest"], name="old", **heard_ago(minutes=minutes))
    start_instance(declares=[], name="new")
    assert found(client, "orphaned") == orphans


def test_a_stopped_scheduler_still_counts_for_a_while(client: Client, orphan: Job):
    """A deploy stops the old scheduler before the new one has come up."""
    start_instance(declares=["shop.digest"], name="old", stopped_at=datetime.now(UTC), **heard_ago(minutes=1))
    start_instance(declares=[], name="new")
    assert found(client, "orphaned") == []


def test_while_nobody_was_heard_of_no_job_is_called_an_orphan(client: Client, orphan: Job):
    start_instance(declares=[], **heard_ago(minutes=16))
    assert found(client, "orphaned") == []


def test_a_job_of_the_staff_is_never_an_orphan(client: Client):
    start_instance(declares=[])
    Job.objects.create(name="Ours", task=TASK, schedule=Every(hours=1))
    assert found(client, "orphaned") == []


def test_declarations_of_another_shape_do_not_break_the_list(client: Client, orphan: Job):
    start_instance(declares={"shop": 1})
    start_instance(declares=[1, None, "shop.digest"], name="web-2")
    assert found(client, "orphaned") == []


def test_that_a_job_is_an_orphan_says_more_than_that_its_task_is_gone(client: Client, orphan: Job):
    start_instance(TIDY, declares=[])
    said = get_text(client, LIST)
    assert NOBODY_DECLARES_IT in said
    assert "knows the task" not in said


def test_an_orphan_is_not_late_and_has_no_next_run(client: Client, orphan: Job):
    start_instance(declares=[])
    JobState.objects.update(next_run_at=datetime.now(UTC) - timedelta(minutes=4))
    assert "late by" not in get_text(client, LIST)
    said = get_text(client, url("change", orphan.pk))
    assert "late by" not in said
    assert "No runs are planned." in said


def test_an_orphan_is_not_run_by_hand_since_it_would_wait_for_ever(client: Client, orphan: Job):
    start_instance(declares=[])
    assert messages_after(press(client, "run", orphan)) == [
        "Digest: No running scheduler declares it, so none would run it."
    ]
    assert not Run.objects.exists()


def test_many_instances_that_come_and_go_hide_no_live_one(client: Client, orphan: Job):
    start_instance(declares=["shop.digest"])
    for number in range(situation.RECENT):
        start_instance(declares=[], name=f"gone-{number}", **heard_ago(minutes=1))
    assert found(client, "orphaned") == []


# Quarantine


def test_a_job_in_quarantine_says_why(client: Client, quarantined: Job):
    start_instance()
    reason = "Quarantined 3 runs in a row were lost with their instances"
    assert reason in get_text(client, LIST)
    assert reason in get_text(client, url("change", quarantined.pk))


def test_quarantine_says_more_than_that_the_job_fails(client: Client, quarantined: Job):
    start_instance()
    JobState.objects.update(failures_in_row=3)
    assert found(client, "failing") == []
    assert found(client, "quarantined") == ["Import"]


def test_a_pause_of_a_job_in_quarantine_is_told_too(client: Client, quarantined: Job):
    start_instance()
    quarantined.pause(by="anna", reason="maintenance")
    said = get_text(client, LIST)
    assert "Quarantined 3 runs in a row were lost with their instances Paused by anna: maintenance" in said


def test_whatever_else_is_wrong_quarantine_is_told_too(client: Client, quarantined: Job):
    start_instance(TIDY)
    assert "Quarantined: 3 runs in a row were lost with their instances" in get_text(client, LIST)


def test_release_lets_the_job_have_ticks_from_now_on(client: Client, quarantined: Job):
    response = press(client, "release", quarantined)
    state = JobState.objects.get(pk=quarantined.pk)
    assert (state.quarantined_at, state.crashes_in_row) == (None, 0)
    assert state.next_run_at
    sentence = "Released Import from quarantine. Its crashes are counted anew."
    assert messages_after(response) == history_of(quarantined) == [sentence]


def test_release_leaves_a_pause_alone_and_says_so(client: Client, quarantined: Job):
    quarantined.pause()
    (said,) = messages_after(press(client, "release", quarantined))
    assert said.endswith("It is still paused.")
    quarantined.refresh_from_db()
    assert quarantined.paused_at


def test_there_is_nothing_to_release_of_a_job_that_is_in_no_quarantine(client: Client, orphan: Job):
    assert messages_after(press(client, "release", orphan)) == ["Digest: It is not in quarantine."]
    assert history_of(orphan) == []


def test_resume_ends_a_quarantine_too(client: Client, quarantined: Job):
    press(client, "resume", quarantined)
    assert JobState.objects.get(pk=quarantined.pk).quarantined_at is None


def test_a_selection_is_resumed_out_of_quarantine(client: Client, quarantined: Job):
    data = {"action": "resume_selected", "_selected_action": [str(quarantined.pk)]}
    assert messages_after(client.post(LIST, data)) == ["1 job is resumed: Import."]
    assert JobState.objects.get(pk=quarantined.pk).quarantined_at is None


def test_a_run_by_hand_works_and_releases_nothing(client: Client, quarantined: Job):
    start_instance()
    (said,) = messages_after(press(client, "run", quarantined))
    assert "It is in quarantine; a run by hand does not release it." in said
    assert JobState.objects.get(pk=quarantined.pk).quarantined_at


@pytest.mark.parametrize("page", ["changelist", "change"])
def test_the_button_is_there_for_jobs_in_quarantine_alone(
    client: Client, quarantined: Job, orphan: Job, page: str
):
    text = "".join(
        client.get(url(page, *([job.pk] if page == "change" else []))).content.decode()
        for job in (quarantined, orphan)
    )
    assert url("release", quarantined.pk) in text
    assert url("release", orphan.pk) not in text


def test_who_may_not_pause_sees_no_button_and_is_refused(quarantined: Job):
    viewer = sign_in("view_job", name="viewer")
    assert url("release", quarantined.pk) not in viewer.get(url("change", quarantined.pk)).content.decode()
    assert press(viewer, "release", quarantined).status_code == 403


def test_the_address_answers_only_when_its_button_is_pressed(client: Client, quarantined: Job):
    assert client.get(url("release", quarantined.pk)).status_code == 405
    assert JobState.objects.get(pk=quarantined.pk).quarantined_at
