"""The pages that show coordination: jobs of every instance, the leader, and the locks that are held."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings
from playwright.sync_api import expect

from django_gocron import Cron, Every
from django_gocron.models import Job, Lease
from django_gocron.models.choices import Reason, Status
from tests.browser.conftest import Visit
from tests.browser.test_admin_pages import LOOKS, faults, width_of
from tests.integration.admin_support import TASK, make_run, start_instance, url

LOCKER = {"BACKEND": "django_gocron.lockers.database.DatabaseLocker"}

COORDINATION: dict[str, Any] = {
    "LOCKERS": {"default": LOCKER, "reports": LOCKER},
    "ELECTOR": {"BACKEND": "django_gocron.electors.database.DatabaseElector"},
}

PAGES = ["jobs", "job", "locked job", "instances", "instance", "runs", "run", "refused run"]

WITHOUT_SCRIPT = [{"java_script_enabled": False}]


@pytest.fixture(autouse=True)
def _coordination() -> Iterator[None]:
    with override_settings(GOCRON=COORDINATION):
        yield


def make_lease(name: str, holder: str, **values: Any) -> Lease:
    now = datetime.now(UTC)
    times = {"acquired_at": now - timedelta(minutes=5), "expires_at": now + timedelta(minutes=1)}
    return Lease.objects.create(name=name, holder=holder, token="secret", **times, **values)


def make_rows() -> dict[str, str]:
    """Two instances, of which one leads, and what they do; answers the address of each page."""
    now = datetime.now(UTC)
    leader = start_instance(name="web-1", term=7, heartbeat_at=now - timedelta(seconds=3))
    follower = start_instance(name="web-2")
    everywhere = Job.objects.create(
        name="Tidy the disk", task=TASK, schedule=Every(minutes=10), coordination="node_local"
    )
    locked = Job.objects.create(
        name="Nightly report",
        task=TASK,
        schedule=Cron("30 2 * * *"),
        locker="reports",
        tags="reports",
    )
    make_lease("leader", leader.name, term=7)
    make_lease("lock:Nightly_report#5f2b", "web-2, run 17")
    running = make_run(
        everywhere,
        Status.RUNNING,
        instance=follower,
        scope=str(follower.pk),
        held_lock=f"{everywhere.pk}@{follower.pk}",
        started_at=now - timedelta(seconds=75),
    )
    refused = make_run(
        locked,
        Status.SKIPPED,
        reason=Reason.LOCK_BUSY,
        instance=leader,
        finished_at=now,
        error_message="The lock is held by web-2, run 17.",
    )
    return {
        "jobs": url("changelist"),
        "job": url("change", everywhere.pk),
        "locked job": url("change", locked.pk),
        "instances": url("changelist", model="instance"),
        "instance": url("change", leader.pk, model="instance"),
        "runs": url("changelist", model="run"),
        "run": url("change", running.pk, model="run"),
        "refused run": url("change", refused.pk, model="run"),
    }


@pytest.mark.parametrize("visit", LOOKS.values(), indirect=True, ids=LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_coordination_is_clean(visit: Visit, name: str):
    page = visit.go(make_rows()[name])
    assert visit.complaints == []
    assert width_of(visit) <= page.evaluate("innerWidth")
    assert faults(visit) == []


@pytest.mark.parametrize(
    "visit", [*LOOKS.values(), *WITHOUT_SCRIPT], indirect=True, ids=[*LOOKS, "no script"]
)
def test_a_lock_is_released_after_its_warning(visit: Visit):
    page = visit.go(make_rows()["instances"])
    page.get_by_role("button", name="Release: lock:Nightly_report#5f2b").click()
    expect(page.locator("#content")).to_contain_text("Only release it if web-2 is really stopped")
    assert width_of(visit) <= page.evaluate("innerWidth")
    page.get_by_role("button", name="Release", exact=True).click()
    expect(page.locator(".messagelist .success")).to_contain_text("Released lock:Nightly_report#5f2b")
    assert Lease.objects.get(name="lock:Nightly_report#5f2b").token == ""
    assert visit.complaints == []
