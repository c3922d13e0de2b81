"""The form of a job, with the script and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from django_gocron import Daily, Every
from django_gocron.models import Job
from tests.browser.conftest import Visit
from tests.integration.admin_support import TASK, TIDY, url

WITHOUT_SCRIPT = [{"java_script_enabled": False}]

KINDS = {
    "every": "every_interval",
    "every_random": "every_random_min",
    "daily": "daily_at",
    "weekly": "weekly_at",
    "monthly": "monthly_on",
    "cron": "cron_expression",
    "one_time": "one_time_at",
}


@pytest.fixture
def job(server: str) -> Job:
    return Job.objects.create(name="Digest", task=TASK, schedule=Every(hours=1))


def choose(page: Page, kind: str) -> None:
    page.check(f"input[name=kind][value={kind}]")


@pytest.mark.parametrize("kind", [*KINDS, "manual"])
def test_only_the_fields_of_the_chosen_kind_are_shown(visit: Visit, kind: str):
    page = visit.go(url("add"))
    choose(page, kind)
    shown = {name for name, field in KINDS.items() if page.locator(f"[name={field}]").is_visible()}
    assert shown == {kind} & KINDS.keys()


@pytest.mark.parametrize("visit", WITHOUT_SCRIPT, indirect=True)
def test_without_the_script_all_fields_are_shown_under_headings(visit: Visit):
    page = visit.go(url("add"))
    for field in KINDS.values():
        expect(page.locator(f"[name={field}]")).to_be_visible()
    for heading in ("Every …", "Daily", "Weekly", "Monthly", "Cron", "Once"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()


@pytest.mark.parametrize("visit", [{}, *WITHOUT_SCRIPT], indirect=True)
def test_a_job_is_added(visit: Visit):
    page = visit.go(url("add"))
    page.fill("[name=name]", "Digest")
    page.select_option("[name=task]", TASK)
    choose(page, "daily")
    page.fill("[name=daily_at]", "09:00, 17:30")
    page.fill("[name=kwargs]", '{"region": "us"}')
    page.click("[name=_save]")
    expect(page.locator(".messagelist .success")).to_contain_text("was added successfully")
    job = Job.objects.get()
    assert (job.schedule, job.kwargs) == (Daily(at=["09:00", "17:30"]), {"region": "us"})


def test_the_next_runs_are_shown_as_one_types(visit: Visit):
    page = visit.go(url("add"))
    choose(page, "daily")
    page.fill("[name=daily_at]", "09:00")
    preview = page.locator(".gocron-preview-body")
    expect(preview).to_contain_text("At 09:00 every day")
    expect(preview.locator("li time")).to_have_count(5)
    page.fill("[name=daily_at]", "25:00")
    expect(preview).to_contain_text("Hour must be from 0 to 23")
    assert visit.complaints == []


def test_arguments_never_leave_the_form_for_a_preview(visit: Visit, job: Job):
    asked: list[str] = []
    page = visit.go(url("change", job.pk))
    page.on("request", lambda request: asked.append(request.url))
    page.fill("[name=kwargs]", '{"password": "hunter2"}')
    with page.expect_response(lambda response: "/preview/" in response.url):
        page.fill("[name=every_interval]", "7 h")
    (address,) = asked
    assert "every_interval=7+h" in address
    assert "hunter2" not in address
    assert "csrf" not in address


@pytest.mark.parametrize("visit", WITHOUT_SCRIPT, indirect=True)
def test_without_the_script_a_button_opens_the_next_runs(visit: Visit, job: Job):
    page = visit.go(url("change", job.pk))
    choose(page, "daily")
    page.fill("[name=daily_at]", "09:00")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Preview next runs").click()
    expect(opened.value.locator("#content")).to_contain_text("At 09:00 every day")
    job.refresh_from_db()
    assert job.schedule == Every(hours=1)


def test_with_the_script_the_preview_needs_no_button(visit: Visit, job: Job):
    page = visit.go(url("change", job.pk))
    expect(page.get_by_role("button", name="Preview next runs")).to_be_hidden()


def test_another_task_shows_what_it_takes(visit: Visit, job: Job):
    page = visit.go(url("change", job.pk))
    signature = page.locator("code.gocron-signature")
    expect(signature).to_have_text("region: str = 'eu', limit: int = 100")
    page.select_option("[name=task]", TIDY)
    expect(signature).to_have_text("nothing")


@pytest.mark.parametrize("field", ["name", "tags", "owner", "every_interval", "timezone"])
def test_enter_in_a_field_saves(visit: Visit, job: Job, field: str):
    page = visit.go(url("change", job.pk))
    page.fill("[name=tags]", "edited")
    page.press(f"[name={field}]", "Enter")
    expect(page.locator(".messagelist .success")).to_contain_text("was changed successfully")
    job.refresh_from_db()
    assert job.tags == ["edited"]
    assert job.paused_at is None


def test_a_fault_in_a_part_that_is_folded_away_is_unfolded(visit: Visit, job: Job):
    page = visit.go(url("change", job.pk))
    page.get_by_text("Behaviour").click()
    page.fill("[name=misfire_grace]", "soon")
    page.click("[name=_save]")
    expect(page.get_by_text("Enter a duration such as 90 s")).to_be_visible()
