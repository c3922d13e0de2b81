"""The buttons, pressed in a browser, with the script and without."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from django_gocron import Every
from django_gocron.models import Job, Run
from tests.browser.conftest import Visit
from tests.integration.admin_support import TASK, start_instance, url

BOTH_WAYS = pytest.mark.parametrize("visit", [{}, {"java_script_enabled": False}], indirect=True)


@pytest.fixture
def job(server: str) -> Job:
    start_instance()
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))


def row_button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=f"{name}: Digest")


@BOTH_WAYS
def test_run_now_in_a_row_queues_a_run_and_keeps_the_filters(visit: Visit, job: Job):
    page = visit.go(f"{url('changelist')}?q=Dig")
    row_button(page, "Run now").click()
    expect(page.locator(".messagelist .success")).to_contain_text("Digest will start within 2 seconds.")
    assert page.url.endswith("?q=Dig")
    assert Run.objects.get().job == job


@BOTH_WAYS
def test_pause_and_resume_in_a_row(visit: Visit, job: Job):
    page = visit.go(url("changelist"))
    row_button(page, "Pause").click()
    expect(page.locator(".field-status")).to_contain_text("Paused")
    row_button(page, "Resume").click()
    expect(page.locator(".field-status")).not_to_contain_text("Paused")
    job.refresh_from_db()
    assert job.paused_at is None


@BOTH_WAYS
def test_pause_on_the_page_asks_why(visit: Visit, job: Job):
    page = visit.go(url("change", job.pk))
    page.get_by_role("button", name="Pause…").click()
    page.fill("[name=reason]", "maintenance")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".gocron-panel").first).to_contain_text("Paused by anna: maintenance")
    job.refresh_from_db()
    assert job.pause_reason == "maintenance"


@BOTH_WAYS
def test_skip_on_the_page(visit: Visit, job: Job):
    page = visit.go(url("change", job.pk))
    page.get_by_role("button", name="Skip next run").click()
    expect(page.locator(".messagelist .success")).to_contain_text("Digest will skip its run of")


@BOTH_WAYS
@pytest.mark.usefixtures("job")
def test_a_selection_is_run_after_a_question(visit: Visit):
    page = visit.go(url("changelist"))
    page.check("input.action-select")
    page.select_option("select[name=action]", "run_selected")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#content")).to_contain_text("This job will run now")
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".messagelist .success")).to_contain_text("1 job is queued: Digest.")


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("fold", ["click elsewhere", "Escape", "another visit"])
def test_an_open_filter_does_not_stay_in_the_way(visit: Visit, fold: str):
    page = visit.go(url("changelist"))
    page.locator("summary", has_text="Status").click()
    link = page.get_by_role("link", name="Failing")
    expect(link).to_be_visible()
    match fold:
        case "click elsewhere":
            page.locator("h1", has_text="Select job").click()
        case "Escape":
            page.keyboard.press("Escape")
        case _:
            visit.go(url("changelist"))
    expect(link).to_be_hidden()


@pytest.mark.usefixtures("job")
def test_a_filter_unfolds_and_one_at_a_time(visit: Visit):
    page = visit.go(url("changelist"))
    page.locator("summary", has_text="Status").click()
    expect(page.get_by_role("link", name="Failing")).to_be_visible()
    page.locator("summary", has_text="Schedule").click()
    expect(page.get_by_role("link", name="Failing")).to_be_hidden()
    page.get_by_role("link", name="Cron").click()
    expect(page.locator(".gocron-empty")).to_contain_text("No jobs match these filters.")
