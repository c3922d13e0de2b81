"""Every page of the admin: no complaint of the browser, none of axe, no sideways scrolling."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import django
import pytest
from axe_playwright_python.sync_playwright import Axe

from django_gocron import Cron, Every
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import Reason, Status
from tests.browser.conftest import Visit
from tests.integration.admin_support import TASK, make_run, start_instance, url

LOOKS: dict[str, dict[str, Any]] = {
    f"{scheme}-{width}": {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for width in (1280, 390)
    for scheme in ("light", "dark")
}

UPSTREAM = {("link-in-text-block", ".breadcrumbs")} if django.VERSION < (6, 1) else set()
"""What axe finds in Django's own markup: the rule, and a part of the selector."""

PAGES = [
    "jobs",
    "add job",
    "job",
    "broken job",
    "quarantined job",
    "history of job",
    "refused button",
    "runs",
    "run",
    "retry",
    "instances",
    "instance",
]


def make_rows() -> dict[str, str]:
    """A bit of everything; answers the address of each page."""
    now = datetime.now(UTC)
    instance = start_instance(versions={"django-gocron": "1.0"}, declares=["shop.report"])
    job = Job.objects.create(
        name="Nightly report with a rather long name",
        task=TASK,
        schedule=Cron("30 2 * * *"),
        timezone="Europe/Berlin",
        tags="reports, mail",
        key="shop.report",
    )
    Job.objects.create(name="Orphan", task=TASK, schedule=Every(hours=1), key="shop.gone")
    quarantined = make_quarantined(now)
    retry = make_retry(quarantined, now)
    broken = Job.objects.create(name="Broken", task=TASK, schedule=Every(hours=1), timezone="Berlin")
    Job.objects.create(name="Paused", task=TASK, schedule=Every(hours=1)).pause(
        reason="maintenance", by="anna"
    )
    run = make_failed(job, instance, now)
    outcomes = [
        ["succeeded", 0.5],
        ["failed", 4.5],
        ["missed", None],
        ["skipped", None],
        ["timed_out", 60],
    ] * 4
    JobState.objects.filter(pk=job.pk).update(
        outcomes=outcomes,
        failures_in_row=1,
        last_status="failed",
        last_run=run.pk,
        last_failure=run.pk,
        last_started_at=run.started_at,
        last_finished_at=run.finished_at,
    )
    return {
        "jobs": url("changelist"),
        "add job": url("add"),
        "job": url("change", job.pk),
        "broken job": url("change", broken.pk),
        "quarantined job": url("change", quarantined.pk),
        "history of job": url("history", job.pk),
        "refused button": url("run", job.pk),
        "runs": url("changelist", model="run"),
        "run": url("change", run.pk, model="run"),
        "retry": url("change", retry.pk, model="run"),
        "instances": url("changelist", model="instance"),
        "instance": url("change", instance.pk, model="instance"),
    }


def make_failed(job: Job, instance: Instance, now: datetime) -> Run:
    return make_run(
        job,
        Status.FAILED,
        instance=instance,
        scheduled_for=now,
        started_at=now,
        finished_at=now + timedelta(seconds=4.5),
        error_type="ConnectionError",
        error_message="timed out " * 30,
        traceback="Traceback (most recent call last):\n" + "  File somewhere, line 1, in a function\n" * 20,
        output="fetching " * 200,
        result={"pages": 1},
    )


def make_quarantined(now: datetime) -> Job:
    """With ticks in its queue."""
    job = Job.objects.create(
        name="Quarantined", task=TASK, schedule=Every(hours=1), overlap="queue", max_queued=5, retries=3
    )
    JobState.objects.filter(pk=job.pk).update(
        quarantined_at=now, crashes_in_row=3, last_status="lost", next_tick_at=None, next_run_at=None
    )
    for minutes in range(2):
        make_run(job, Status.QUEUED, reason=Reason.OVERLAP, scheduled_for=now - timedelta(minutes=minutes))
    return job


def make_retry(job: Job, now: datetime) -> Run:
    before = make_run(job, Status.FAILED, reason=Reason.EXCEPTION)
    due_at = now + timedelta(minutes=5)
    return make_run(job, Status.QUEUED, reason=Reason.RETRY, attempt=2, parent=before, available_at=due_at)


def faults(visit: Visit) -> list[Any]:
    """What axe has against the page, Django's own part left out."""
    found = Axe().run(visit.page).response["violations"]
    return [
        (violation["id"], node["target"], node["html"][:200])
        for violation in found
        for node in violation["nodes"]
        if not any(violation["id"] == rule and part in str(node["target"]) for rule, part in UPSTREAM)
    ]


def width_of(visit: Visit) -> int:
    return int(visit.page.evaluate("document.documentElement.scrollWidth"))


@pytest.mark.parametrize("visit", LOOKS.values(), indirect=True, ids=LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean(visit: Visit, name: str):
    """One visit for three questions: each costs a rendering. Axe comes last, since it brings a script of its own."""
    page = visit.go(make_rows()[name])
    expected = ["405 (Method Not Allowed)"] if name == "refused button" else []
    assert [text for text in visit.complaints if not any(part in text for part in expected)] == []
    assert width_of(visit) <= page.evaluate("innerWidth")
    assert faults(visit) == []


def test_from_right_to_left_nothing_sticks_out(visit: Visit):
    page = visit.go(make_rows()["jobs"])
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert width_of(visit) <= page.evaluate("innerWidth")
