"""The form of a job: what it shows, what it stores, what it refuses and on which field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings

from django_gocron import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly, registry
from django_gocron.admin.job_form import OFFERED
from django_gocron.declarations import sync
from django_gocron.models import Job
from django_gocron.models.fields import Unreadable
from django_gocron.models.validation import AVAILABLE
from django_gocron.registry import job as declare
from tests.integration.admin_support import (
    TASK,
    TIDY,
    field_errors,
    get_text,
    history_of,
    messages_after,
    read_form,
    send_report,
    sign_in,
    sign_in_superuser,
    tidy,
    url,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _tasks() -> Iterator[None]:
    with registry.isolated():
        registry.register(send_report)
        registry.register(tidy)
        yield


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def make_job(**values: Any) -> Job:
    return Job.objects.create(**{"name": "Digest", "task": TASK, "schedule": Every(hours=1), **values})


EMPTY: dict[str, Any] = {}
"""The empty form, which is the same for every test."""


def add(client: Client, **values: Any) -> Any:
    """Fill in the empty form and save it."""
    if not EMPTY:
        EMPTY.update(read_form(client, url("add")))
    return client.post(url("add"), {**EMPTY, "name": "Digest", "task": TASK, **values})


def edit(client: Client, job: Job, **values: Any) -> Any:
    """Open the form of a job, change these fields, and save it."""
    return client.post(url("change", job.pk), {**read_form(client, url("change", job.pk)), **values})


def store_schedule(job: Job, text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_job SET schedule = %s WHERE id = %s", [text, job.pk])


def stored_schedule(job: Job) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT schedule FROM gocron_job WHERE id = %s", [job.pk])
        return str(cursor.fetchone()[0])


# Schedules


KINDS = [
    ({"kind": "every", "every_interval": "1 h 30 min"}, Every(minutes=90)),
    ({"kind": "every_random", "every_random_min": "30 s", "every_random_max": "90"}, EveryRandom(30, 90)),
    ({"kind": "daily", "daily_at": "09:00, 17:30"}, Daily(at=["09:00", "17:30"])),
    ({"kind": "daily", "daily_at": "9:00", "daily_every": "3"}, Daily(at="09:00", every=3)),
    (
        {"kind": "weekly", "weekly_on": ["mon", "thu"], "weekly_at": "07:30", "weekly_week_start": "mon"},
        Weekly(on=["mon", "thu"], at="07:30", week_start="mon"),
    ),
    (
        {"kind": "monthly", "monthly_on": "1, 15, last day, first Monday", "monthly_at": "00:00:30"},
        Monthly(on=[1, 15, -1, "first mon"], at="00:00:30"),
    ),
    ({"kind": "cron", "cron_expression": "*/15 * * * *"}, Cron("*/15 * * * *")),
    (
        {
            "kind": "one_time",
            "one_time_at": "2090-01-01 08:00\n2090-07-01 08:00",
            "timezone": "Europe/Berlin",
        },
        OneTime([datetime(2090, 1, 1, 7, tzinfo=UTC), datetime(2090, 7, 1, 6, tzinfo=UTC)]),
    ),
    ({"kind": "manual"}, None),
]


@pytest.mark.parametrize(("fields", "schedule"), KINDS)
def test_each_kind_of_schedule_is_made_from_its_fields(client: Client, fields: Any, schedule: Any):
    response = add(client, **fields)
    assert response.status_code == 302, field_errors(response)
    assert Job.objects.get().schedule == schedule


@pytest.mark.parametrize("schedule", [schedule for _fields, schedule in KINDS])
def test_each_kind_of_schedule_is_shown_so_that_saving_it_changes_nothing(client: Client, schedule: Any):
    job = make_job(schedule=schedule, timezone="Europe/Berlin")
    version = job.plan_version
    assert edit(client, job, description="Edited").status_code == 302
    job.refresh_from_db()
    assert job.schedule == schedule
    assert job.description == "Edited"
    assert job.plan_version == version + 1


FAULTS = [
    ({"kind": "every", "every_interval": "0"}, "every_interval", "Interval must be more than 0."),
    ({"kind": "every", "every_interval": ""}, "every_interval", "This field is required."),
    (
        {"kind": "every", "every_interval": "soon"},
        "every_interval",
        "Enter a duration such as 90 s, 5 min, 1 h 30 min or 1:30:00.",
    ),
    (
        {"kind": "every_random", "every_random_min": "90", "every_random_max": "30"},
        "every_random_min",
        "The shortest interval must be less than the longest.",
    ),
    ({"kind": "every_random", "every_random_min": "90"}, "every_random_max", "This field is required."),
    ({"kind": "daily", "daily_at": ""}, "daily_at", "Enter at least one time such as 07:30."),
    ({"kind": "daily", "daily_at": "25:00"}, "daily_at", "Hour must be from 0 to 23 in '25:00'."),
    (
        {"kind": "daily", "daily_at": "09:00", "daily_every": "0"},
        "daily_every",
        "Interval must be more than 0.",
    ),
    ({"kind": "daily", "daily_at": "09:00", "daily_every": "x"}, "daily_every", "Enter a whole number."),
    ({"kind": "weekly", "weekly_at": "09:00"}, "weekly_on", "Choose at least one weekday."),
    ({"kind": "monthly", "monthly_at": "09:00"}, "monthly_on", "Choose at least one day."),
    (
        {"kind": "monthly", "monthly_on": "32", "monthly_at": "09:00"},
        "monthly_on",
        "Day must be from 1 to 31, or from -1 (the last) to -31; 32 is not.",
    ),
    (
        {"kind": "one_time", "one_time_at": "tomorrow"},
        "one_time_at",
        "“tomorrow” is not a date and time. Write one a line, such as 2026-12-24 18:00.",
    ),
    ({"kind": "one_time", "one_time_at": ""}, "one_time_at", "Enter at least one date and time."),
    (
        {"kind": "one_time", "one_time_at": "2027-03-28 02:30", "timezone": "Europe/Berlin"},
        "one_time_at",
        "In Europe/Berlin clocks never read 2027-03-28 02:30: it falls into a change to summer time.",
    ),
]


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(("fields", "field", "message"), FAULTS)
def test_a_fault_of_a_schedule_is_told_on_its_field(client: Client, fields: Any, field: str, message: str):
    response = add(client, **fields)
    assert response.status_code == 200
    assert field_errors(response) == {field: [message]}
    assert not Job.objects.exists()


def test_only_the_fields_of_the_chosen_kind_count(client: Client):
    response = add(
        client, kind="cron", cron_expression="0 3 * * *", every_interval="nonsense", daily_at="99:99"
    )
    assert response.status_code == 302, field_errors(response)
    assert Job.objects.get().schedule == Cron("0 3 * * *")
    assert "nonsense" not in str(history_of(Job.objects.get()))


def test_an_expression_keeps_its_own_zone(client: Client):
    job = make_job(schedule=Cron("0 3 * * *", timezone="Asia/Tokyo"))
    form = read_form(client, url("change", job.pk))
    assert form["cron_expression"] == "CRON_TZ=Asia/Tokyo 0 3 * * *"
    edit(client, job, cron_expression="CRON_TZ=Asia/Tokyo 0 4 * * *")
    job.refresh_from_db()
    after = datetime(2026, 1, 1, tzinfo=UTC)
    (tick,) = job.schedule.preview(1, after=after, anchor=after, zone=UTC)
    assert tick == datetime(2026, 1, 1, 19, tzinfo=UTC)


def test_the_second_of_two_equal_times_stays_the_second(client: Client):
    """02:30 comes twice on that day: at 00:30 and at 01:30 UTC."""
    instants = [datetime(2090, 10, 29, 0, 30, tzinfo=UTC), datetime(2090, 10, 29, 1, 30, tzinfo=UTC)]
    job = make_job(schedule=OneTime(instants), timezone="Europe/Berlin")
    edit(
        client,
        job,
        one_time_at=read_form(client, url("change", job.pk))["one_time_at"] + "\n2091-01-01 00:00",
    )
    job.refresh_from_db()
    assert job.schedule.at[:2] == tuple(instants)


@dataclass(frozen=True, slots=True)
class Lunar(Schedule, kind="lunar_of_a_test"):
    phase: str

    def next_after(self, moment: datetime, **terms: Any) -> datetime:
        return moment + timedelta(days=29)


def test_a_kind_of_the_projects_own_is_kept_and_can_be_edited_as_json(client: Client):
    job = make_job(schedule=Lunar("full"))
    edit(client, job, description="Edited")
    job.refresh_from_db()
    assert job.schedule == Lunar("full")
    edit(client, job, json_data='{"kind": "lunar_of_a_test", "version": 1, "phase": "new"}')
    job.refresh_from_db()
    assert job.schedule == Lunar("new")


def test_an_unreadable_schedule_shows_its_reason_and_its_text(client: Client):
    job = make_job()
    store_schedule(job, '{"kind": "cron", "version": 1, "expression": "99 * * * *"}')
    said = get_text(client, url("change", job.pk))
    assert "Minute must be from 0 to 59. '99' is too high. It stays as it is until you change it" in said
    assert read_form(client, url("change", job.pk))["json_data"].startswith('{"kind": "cron"')


@pytest.mark.parametrize(
    "text", ['{"kind": "cron", "version": 1, "expression": "99 * * * *"}', '"@daily"', "[1, 2]"]
)
def test_a_job_with_an_unreadable_schedule_can_be_disabled_and_its_text_stays(client: Client, text: str):
    job = make_job()
    store_schedule(job, text)
    before = stored_schedule(job)
    form = read_form(client, url("change", job.pk))
    del form["enabled"]
    response = client.post(url("change", job.pk), form)
    assert response.status_code == 302, field_errors(response)
    job.refresh_from_db()
    assert not job.enabled
    assert isinstance(job.schedule, Unreadable)
    assert stored_schedule(job) == before


def test_an_unreadable_schedule_can_be_replaced(client: Client):
    job = make_job()
    store_schedule(job, '"@daily"')
    edit(client, job, kind="cron", cron_expression="@daily")
    job.refresh_from_db()
    assert job.schedule == Cron("@daily")


def test_an_unreadable_schedule_that_is_edited_is_checked(client: Client):
    job = make_job()
    store_schedule(job, '{"kind": "cron", "version": 1, "expression": "99 * * * *"}')
    response = edit(client, job, json_data='{"kind": "cron", "version": 1, "expression": "98 * * * *"}')
    assert field_errors(response) == {"json_data": ["Minute must be from 0 to 59. '98' is too high."]}


def test_a_fault_elsewhere_does_not_make_an_unreadable_schedule_look_edited(client: Client):
    job = make_job()
    store_schedule(job, '{"kind": "cron", "version": 1, "expression": "99 * * * *"}')
    form = {**read_form(client, url("change", job.pk)), "name": ""}
    response = client.post(url("change", job.pk), form)
    assert list(field_errors(response)) == ["name"]
    shown = response.context["adminform"].form["json_data"].value()
    assert shown == '{"kind": "cron", "version": 1, "expression": "99 * * * *"}'


def test_arguments_that_cannot_be_read_stay_as_they_are_stored(client: Client):
    """A number that JSON allows and Python refuses to read."""
    job, digits = make_job(), "9" * 5000
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_job SET args = %s WHERE id = %s", [f"[{digits}]", job.pk])
    form = read_form(client, url("change", job.pk))
    assert form["args"] == f"[{digits}]"
    del form["enabled"]
    assert client.post(url("change", job.pk), form).status_code == 302
    job.refresh_from_db()
    assert not job.enabled
    assert isinstance(job.args, Unreadable)
    assert job.args.text == f"[{digits}]"


# Time zones and windows


def test_an_unknown_zone_is_refused_with_a_suggestion(client: Client):
    response = add(client, every_interval="1 h", timezone="Berlin")
    assert field_errors(response) == {
        "timezone": ["'Berlin' is not a known time zone. Did you mean Europe/Berlin?"]
    }


@pytest.mark.parametrize("use_tz", [True, False])
def test_the_window_is_read_and_shown_on_the_jobs_clock(client: Client, use_tz: bool):
    with override_settings(USE_TZ=use_tz):
        add(client, every_interval="1 h", timezone="Asia/Tokyo", starts_at="2090-01-01T09:00")
        job = Job.objects.get()
        assert job.starts_at == datetime(2090, 1, 1, 0, 0, tzinfo=UTC)
        assert read_form(client, url("change", job.pk))["starts_at"] == "2090-01-01T09:00:00"


@override_settings(TIME_ZONE="America/New_York")
def test_without_a_zone_the_window_is_on_the_projects_clock(client: Client):
    add(client, every_interval="1 h", starts_at="2090-01-01T09:00")
    assert Job.objects.get().starts_at == datetime(2090, 1, 1, 14, 0, tzinfo=UTC)


def test_a_start_that_nobody_touched_keeps_its_fraction_of_a_second(client: Client):
    start = datetime(2090, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    job = make_job(starts_at=start)
    edit(client, job, description="Edited")
    job.refresh_from_db()
    assert job.starts_at == start


def test_another_zone_moves_the_start_to_that_clock(client: Client):
    job = make_job(starts_at=datetime(2090, 1, 1, 9, 0, tzinfo=UTC), timezone="UTC")
    edit(client, job, timezone="Asia/Tokyo")
    job.refresh_from_db()
    assert job.starts_at == datetime(2090, 1, 1, 0, 0, tzinfo=UTC)


def test_an_end_before_the_start_is_refused_on_the_end(client: Client):
    response = add(client, every_interval="1 h", starts_at="2090-01-02T00:00", ends_at="2090-01-01T00:00")
    assert "The end must be after the start." in field_errors(response)["ends_at"]


def test_a_start_in_a_gap_is_refused(client: Client):
    response = add(client, every_interval="1 h", timezone="Europe/Berlin", starts_at="2027-03-28T02:30")
    assert list(field_errors(response)) == ["starts_at"]


# Tasks and arguments


def test_tasks_are_offered_by_app_with_their_docstrings(client: Client):
    page = client.get(url("add")).content.decode()
    assert '<optgroup label="tests">' in page
    assert "send_report: Send the report of a region." in page
    assert 'data-signature="region: str = &#x27;eu&#x27;, limit: int = 100"' in page


def test_the_signature_of_the_task_is_shown(client: Client):
    said = get_text(client, url("change", make_job().pk))
    assert "The task takes: region: str = 'eu', limit: int = 100" in said


def test_arguments_that_do_not_fit_are_refused_on_their_field(client: Client):
    response = add(client, every_interval="1 h", kwargs='{"regoin": "us"}')
    assert field_errors(response) == {
        "kwargs": [f"{TASK} takes no argument 'regoin'. Did you mean 'region'?"]
    }


def test_text_that_is_no_json_is_refused_with_its_place(client: Client):
    response = add(client, every_interval="1 h", kwargs='{"region":\n "eu" "us"}')
    (message,) = field_errors(response)["kwargs"]
    assert message.startswith("Not valid JSON (line 2, column 7: ")


def test_empty_arguments_are_no_arguments(client: Client):
    assert add(client, every_interval="1 h", kwargs="", args="").status_code == 302
    job = Job.objects.get()
    assert (job.args, job.kwargs) == ([], {})


def test_a_job_whose_task_is_gone_can_be_disabled(client: Client):
    job = make_job(task="shop.gone", kwargs={"any": 1})
    assert '<option value="shop.gone"' in client.get(url("change", job.pk)).content.decode()
    form = read_form(client, url("change", job.pk))
    del form["enabled"]
    assert client.post(url("change", job.pk), form).status_code == 302
    job.refresh_from_db()
    assert (job.enabled, job.task) == (False, "shop.gone")


def test_new_arguments_for_a_task_that_is_gone_are_refused(client: Client):
    job = make_job(task="shop.gone")
    assert "task" in field_errors(edit(client, job, kwargs='{"a": 1}'))


def test_a_task_that_nobody_has_cannot_be_chosen(client: Client):
    response = add(client, every_interval="1 h", task="shop.gone")
    assert list(field_errors(response)) == ["task"]


def test_a_value_that_json_cannot_tell_from_another_is_still_an_edit(client: Client):
    job = make_job(kwargs={"limit": 1})
    edit(client, job, kwargs='{"limit": true}')
    job.refresh_from_db()
    assert job.kwargs["limit"] is True


# Options


def test_only_fields_that_have_a_choice_are_offered():
    single = {name for name, values in AVAILABLE.items() if len(values) == 1}
    assert not single & set(OFFERED)
    assert {"overlap", "misfire", "label", "priority", "jitter", "keep_days"} <= set(OFFERED)


def test_fields_of_later_releases_are_not_offered(client: Client):
    page = client.get(url("add")).content.decode()
    assert 'name="executor"' not in page
    assert 'name="overlap"' in page


FAILURES = {
    "retries": "3",
    "retry_delay": "5 min",
    "retry_backoff": "1.5",
    "retry_max_delay": "2 h",
    "retry_jitter": "0.25",
    "on_lost": "retry",
    "max_crashes": "5",
    "overlap": "queue_latest",
    "max_queued": "2",
}


def test_what_happens_after_a_failure_is_read_and_shown_again(client: Client):
    response = add(client, every_interval="1 h", **FAILURES)
    assert response.status_code == 302, field_errors(response)
    job = Job.objects.get()
    assert (job.retry_delay, job.retry_max_delay) == (timedelta(minutes=5), timedelta(hours=2))
    assert (job.retries, job.retry_backoff, job.retry_jitter) == (3, 1.5, 0.25)
    assert (job.on_lost, job.max_crashes, job.overlap, job.max_queued) == ("retry", 5, "queue_latest", 2)
    shown = read_form(client, url("change", job.pk))
    assert {name: shown[name] for name in FAILURES} == FAILURES


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_queued", "0", "Enter a number from 1 to 10000."),
        ("retries", "1001", "Enter a number from 0 to 1000."),
        ("retry_backoff", "0.5", "Enter a number from 1 to 100."),
        ("retry_jitter", "1.5", "Enter a number from 0 to 1."),
        ("max_crashes", "0", "Enter a number from 1 to 1000."),
        ("retry_delay", "soon", "Enter a duration such as 90 s, 5 min, 1 h 30 min or 1:30:00."),
        ("retry_max_delay", "", "This field is required."),
        ("retry_delay", "40000 d", "Enter a duration of at most 36525 days."),
    ],
)
def test_what_cannot_be_after_a_failure_is_told_on_its_field(
    client: Client, field: str, value: str, message: str
):
    response = edit(client, make_job(), **{field: value})
    assert field_errors(response) == {field: [message]}


@pytest.mark.parametrize("field", ["max_queued", *(name for name in FAILURES if name != "overlap")])
def test_each_of_these_fields_says_what_to_enter(client: Client, field: str):
    assert f'id="id_{field}_helptext"' in client.get(url("add")).content.decode()


def test_who_may_only_look_sees_what_happens_after_a_failure():
    job = make_job(retries=3, retry_delay=timedelta(minutes=5))
    said = get_text(sign_in("view_job", name="viewer"), url("change", job.pk))
    assert "When a run fails or is lost" in said
    assert re.search(r"Retries: (How many more times .*? not at all\. )?3 ", said), said


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90 s", 90), ("5 min", 300), ("1 h 30 min", 5400), ("1:30:00", 5400), ("2 days", 172_800)],
)
def test_durations_are_read_as_people_write_them(client: Client, text: str, seconds: int):
    response = add(client, every_interval="1 h", jitter=text)
    assert response.status_code == 302, field_errors(response)
    assert Job.objects.get().jitter == timedelta(seconds=seconds)


def test_an_empty_jitter_is_none(client: Client):
    assert add(client, every_interval="1 h", jitter="").status_code == 302
    assert Job.objects.get().jitter == timedelta(0)


def test_a_name_that_is_taken_is_refused(client: Client):
    make_job()
    response = add(client, every_interval="1 h")
    assert field_errors(response) == {"name": ["A job named like this already exists."]}


# Two people


def test_an_edit_of_a_job_that_changed_meanwhile_is_refused_once(client: Client):
    job = make_job()
    form = read_form(client, url("change", job.pk))
    Job.objects.filter(pk=job.pk).update(description="theirs")
    response = client.post(url("change", job.pk), {**form, "description": "mine"})
    assert "Somebody changed this job while you were editing it" in str(field_errors(response)["__all__"])
    job.refresh_from_db()
    assert job.description == "theirs"
    again = response.context["adminform"].form["seen_version"].value()
    client.post(url("change", job.pk), {**form, "description": "mine", "seen_version": again})
    job.refresh_from_db()
    assert job.description == "mine"


def test_saving_writes_only_what_was_edited(client: Client, monkeypatch: pytest.MonkeyPatch):
    job = make_job()
    written: list[Any] = []
    save = Job.save

    def noting_save(job: Job, **kwargs: Any) -> None:
        written.append(kwargs)
        save(job, **kwargs)

    monkeypatch.setattr(Job, "save", noting_save)
    edit(client, job, description="Edited")
    assert written == [{"update_fields": ["description"]}]


def test_saving_without_a_change_writes_nothing(client: Client):
    job = make_job()
    version = job.plan_version
    assert edit(client, job).status_code == 302
    job.refresh_from_db()
    assert job.plan_version == version


# Previews


def test_the_page_shows_the_next_five_runs_on_two_clocks(client: Client):
    job = make_job(
        schedule=Daily(at="09:00"), timezone="Asia/Tokyo", starts_at=datetime(2090, 1, 1, tzinfo=UTC)
    )
    said = get_text(client, url("change", job.pk))
    assert "At 09:00 every day (Asia/Tokyo)" in said
    for day in range(1, 6):
        assert f"{day} Jan 2090 09:00 JST · 00:00:00 UTC"[:24] in said


def preview(client: Client, **fields: Any) -> str:
    return get_text(client, url("preview"), **fields)


def test_a_preview_needs_the_fields_of_the_schedule_alone(client: Client):
    said = preview(
        client, kind="daily", daily_at="09:00", timezone="Asia/Tokyo", starts_at="2090-01-01T00:00"
    )
    assert "At 09:00 every day (Asia/Tokyo)" in said
    assert "Sun 1 Jan 2090 09:00 JST · 00:00 UTC" in said


def test_a_preview_says_what_happens_when_clocks_change(client: Client):
    said = preview(client, kind="daily", daily_at="02:30", timezone="Europe/Berlin")
    assert "02:30 does not exist" in said
    assert "02:30 occurs twice" in said


def test_a_preview_tells_faults_by_the_names_of_their_fields(client: Client):
    assert "Expression: Minute must be from 0 to 59." in preview(
        client, kind="cron", cron_expression="61 * * * *"
    )


def test_a_preview_of_a_job_keeps_its_anchor(client: Client):
    job = make_job(schedule=Every(hours=5), starts_at=datetime(2090, 1, 1, 3, tzinfo=UTC))
    said = preview(client, job=str(job.pk), kind="every", every_interval="7 h", starts_at="2090-01-01T03:00")
    assert "Sun 1 Jan 2090 10:00 UTC" in said


def test_a_preview_saves_nothing(client: Client):
    job = make_job()
    preview(client, job=str(job.pk), kind="every", every_interval="7 h")
    job.refresh_from_db()
    assert job.schedule == Every(hours=1)


def test_without_a_script_the_preview_is_a_page(client: Client):
    form = {**read_form(client, url("add")), "kind": "daily", "daily_at": "09:00"}
    response = client.post(url("preview"), form)
    assert response.status_code == 200
    assert "<h1>Next runs</h1>" in response.content.decode()
    assert not Job.objects.exists()


# Declared jobs


@pytest.fixture
def declared() -> Job:
    declare(Every(minutes=10), name="Digest", tags=["mail"])(send_report)
    sync("default")
    return Job.objects.get()


def test_a_declared_job_says_where(client: Client, declared: Job):
    assert "declared in integration/admin_support.py" in get_text(client, url("change", declared.pk)).replace(
        "tests/integration", "integration"
    )


def test_an_overridden_field_says_what_the_code_says(client: Client, declared: Job):
    edit(client, declared, kind="cron", cron_expression="0 3 * * *", tags="urgent")
    said = get_text(client, url("change", declared.pk))
    assert "Overridden: the code says “Every 10 minutes”." in said
    assert "Overridden: the code says mail." in said


def test_a_job_that_follows_the_code_has_no_button_to_reset_it(client: Client, declared: Job):
    assert "Reset to code" not in get_text(client, url("change", declared.pk))


def test_reset_to_code_lets_the_job_follow_it_again(client: Client, declared: Job):
    edit(client, declared, kind="cron", cron_expression="0 3 * * *")
    assert "Reset to code" in get_text(client, url("change", declared.pk))
    response = client.post(url("reset", declared.pk))
    declared.refresh_from_db()
    assert declared.schedule == Every(minutes=10)
    assert messages_after(response) == ["Digest follows the code again in: schedule."]
    assert history_of(declared)[-1] == "Digest follows the code again in: schedule."


STAYS = "Digest is defined in code and would come back. Pause it, or remove it from "


def test_a_declared_job_cannot_be_deleted(client: Client, declared: Job):
    for response in (
        client.get(url("delete", declared.pk)),
        client.post(url("delete", declared.pk), {"post": "yes"}),
    ):
        assert messages_after(response)[-1].startswith(STAYS)
    assert Job.objects.exists()


def test_a_job_that_no_code_declares_any_more_can_be_deleted(client: Client, declared: Job):
    with registry.isolated():
        client.post(url("delete", declared.pk), {"post": "yes"})
    assert not Job.objects.exists()


def test_a_job_of_the_admins_can_be_deleted(client: Client):
    job = make_job(task=TIDY)
    assert "Are you sure" in get_text(client, url("delete", job.pk))
    client.post(url("delete", job.pk), {"post": "yes"})
    assert not Job.objects.exists()
