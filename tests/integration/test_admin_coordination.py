"""Coordination in the admin: lockers, jobs of every instance, who leads, and the locks that are held."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from django_gocron import Every, OneTime, operations
from django_gocron.admin import locks
from django_gocron.admin.everywhere import next_instant
from django_gocron.electors.database import DatabaseElector
from django_gocron.engine.replanning import replan
from django_gocron.lockers.base import Lock
from django_gocron.lockers.database import DatabaseLocker
from django_gocron.models import Job, JobState, Lease, Run
from django_gocron.models.choices import Reason, Status
from django_gocron.models.now import database_now
from tests.integration.admin_support import (
    START,
    TASK,
    field_errors,
    get_text,
    make_run,
    messages_after,
    read_form,
    sign_in,
    sign_in_superuser,
    start_instance,
    url,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

JOBS = "/admin/gocron/job/"
RUNS = "/admin/gocron/run/"
INSTANCES = "/admin/gocron/instance/"

LOCKER = {"BACKEND": "django_gocron.lockers.database.DatabaseLocker"}
with_lockers = override_settings(GOCRON={"LOCKERS": {"default": LOCKER, "reports": LOCKER}})
with_elector = override_settings(
    GOCRON={"ELECTOR": {"BACKEND": "django_gocron.electors.database.DatabaseElector"}}
)

WHAT_IT_MEANS = "Every instance runs it: each has every tick for itself, without a lock."


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def make_job(name: str = "Digest", **values: Any) -> Job:
    return Job.objects.create(**{"name": name, "task": TASK, "schedule": Every(hours=1), **values})


def local_job(**values: Any) -> Job:
    return make_job(coordination="node_local", **values)


def edit(client: Client, job: Job, **values: Any) -> Any:
    address = url("change", job.pk)
    return client.post(address, {**read_form(client, address), **values})


def choices_of(client: Client, job: Job, field: str) -> dict[str, str]:
    form = client.get(url("change", job.pk)).context["adminform"].form
    return {str(value): str(label) for value, label in form.fields[field].choices}


def found(client: Client, **query: str) -> list[str]:
    return [job.name for job in client.get(JOBS, query).context["cl"].result_list]


def now() -> datetime:
    return database_now("default")


# The form


@with_lockers
def test_coordination_is_edited(client: Client):
    job = make_job()
    edit(client, job, locker="reports", on_lock_error="run")
    job.refresh_from_db()
    assert (job.coordination, job.locker, job.on_lock_error) == ("locked", "reports", "run")
    edit(client, job, coordination="node_local", locker="")
    job.refresh_from_db()
    assert (job.coordination, job.locker) == ("node_local", "")


@with_lockers
def test_the_lockers_of_the_settings_are_offered(client: Client):
    assert choices_of(client, make_job(), "locker") == {"": "the default locker", "reports": "reports"}


@override_settings(GOCRON={"LOCKERS": {"reports": LOCKER}})
def test_without_a_default_locker_the_ledgers_own_lock_is_the_default(client: Client):
    assert choices_of(client, make_job(), "locker")[""] == "the ledger's own lock alone"


def test_without_lockers_the_form_says_where_they_are_configured(client: Client):
    job = make_job()
    assert choices_of(client, job, "locker") == {"": "the ledger's own lock alone"}
    assert "The setting GOCRON['LOCKERS'] names those" in get_text(client, url("change", job.pk))


def test_a_locker_that_the_settings_do_not_name_stays_as_it_is(client: Client):
    job = make_job(locker="gone")
    assert read_form(client, url("change", job.pk))["locker"] == "gone"
    assert edit(client, job, owner="anna").status_code == 302
    job.refresh_from_db()
    assert (job.owner, job.locker) == ("anna", "gone")


@with_lockers
def test_a_locker_that_is_not_offered_is_refused_on_its_field(client: Client):
    assert list(field_errors(edit(client, make_job(), locker="elsewhere"))) == ["locker"]


@with_lockers
@pytest.mark.parametrize(
    ("before", "edits", "code"),
    [
        ({"locker": "reports"}, {"coordination": "unlocked"}, "locker_without_lock"),
        ({"coordination": "unlocked"}, {"locker": "reports"}, "locker_without_lock"),
        ({"locker": "gone", "coordination": "unlocked"}, {"coordination": "locked"}, "locker_unknown"),
    ],
)
def test_a_locker_that_does_not_fit_the_coordination_is_refused_on_its_field(
    client: Client, before: Any, edits: Any, code: str
):
    response = edit(client, make_job(**before), **edits)
    errors = response.context["adminform"].form.errors.as_data()
    assert {name: [error.code for error in found] for name, found in errors.items()} == {"locker": [code]}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "Otherwise every instance runs it for itself: there is no elector."),
        (
            {"ELECTOR": {"BACKEND": "django_gocron.electors.database.DatabaseElector"}},
            "The leader runs it, under a lock or without one.",
        ),
        (
            {"LOCKERS": {"default": LOCKER}, "COORDINATION": "off"},
            "Coordination is off in the settings, so no locker is asked.",
        ),
    ],
)
def test_the_form_says_what_coordination_means_under_the_settings(client: Client, settings: Any, words: str):
    with override_settings(GOCRON=settings):
        assert words in get_text(client, url("add"))


def test_who_may_only_look_reads_the_coordination():
    job = local_job()
    assert "Coordination: every instance" in get_text(sign_in("view_job"), url("change", job.pk))


# Jobs of every instance


def test_the_list_marks_a_job_of_every_instance_and_tells_its_next_run(client: Client):
    start_instance()
    local_job(schedule=Every(hours=3))
    said = get_text(client, JOBS)
    assert "Digest every instance Every 3 hours" in said
    assert "Not run yet" in said
    assert "in 2 hours" in said


@pytest.mark.parametrize("elector", [False, True])
def test_a_job_without_a_lock_is_the_leaders_where_one_is_elected(client: Client, elector: bool):
    with with_elector if elector else override_settings():
        job = make_job(coordination="unlocked")
        replan("default", [job.pk], force=True)
        assert ("Digest every instance" in get_text(client, JOBS)) is not elector
        assert (WHAT_IT_MEANS in get_text(client, url("change", job.pk))) is not elector


def test_the_page_says_what_it_means_and_lists_the_runs_to_come(client: Client):
    start_instance()
    start_instance(name="web-2")
    start_instance(name="web-3", stopped_at=now())
    start_instance("shop.other", name="web-4")
    job = local_job()
    said = get_text(client, url("change", job.pk))
    assert f"{WHAT_IT_MEANS} A run by hand is executed by one. 2 instances can run it now." in said
    assert client.get(url("change", job.pk)).context["panel"].coming
    assert "No runs are planned." not in said


def test_the_page_counts_the_instances_that_serve_the_jobs_label(client: Client):
    start_instance()
    start_instance(name="web-2", labels=["reports"])
    said = get_text(client, url("change", local_job(label="reports").pk))
    assert "Every instance that serves the label “reports” runs it" in said
    assert "1 instance can run it now." in said


def test_the_list_tells_the_run_that_the_page_tells(client: Client):
    job = local_job()
    moment = now()
    assert next_instant(job, job.state, moment) == operations.next_runs(job, 1, now=moment)[0]


def test_while_it_is_paused_for_a_time_its_next_run_is_after_that(client: Client):
    job = local_job(schedule=Every(minutes=1))
    until = now() + timedelta(hours=2)
    job.pause(until=until)
    job = Job.objects.select_related("state").get()
    instant = next_instant(job, job.state, now())
    assert instant is not None
    assert until <= instant <= until + timedelta(minutes=1)


@pytest.mark.parametrize(
    "values",
    [
        {"enabled": False},
        {"schedule": None},
        {"timezone": "Berlin"},
        {"schedule": OneTime(at=START)},
    ],
)
def test_what_has_no_ticks_has_no_next_run(client: Client, values: Any):
    job = local_job(**values)
    assert next_instant(job, job.state, now()) is None
    assert found(client, next="never") == ["Digest"]
    assert client.get(url("change", job.pk)).status_code == 200


@pytest.mark.parametrize("state", [{}, {"last_status": "succeeded"}])
def test_having_no_next_run_in_its_state_is_no_fault(client: Client, state: Any):
    start_instance()
    local_job()
    JobState.objects.update(**state)
    assert JobState.objects.get().next_run_at is None
    bad = ("broken", "orphaned", "failing", "late", "finished")
    assert [found(client, standing=standing) for standing in bad] == [[]] * len(bad)
    assert found(client, standing="ok" if state else "new") == ["Digest"]


@pytest.mark.parametrize(
    ("schedule", "choices"),
    [
        (Every(minutes=30), ["hour", "day", "week"]),
        (Every(hours=2), ["day", "week"]),
        (Every(days=2), ["week"]),
        (Every(days=20), ["later"]),
    ],
)
def test_it_is_found_by_its_next_run(client: Client, schedule: Any, choices: list[str]):
    local_job(schedule=schedule)
    assert [span for span in ("hour", "day", "week", "later", "never") if found(client, next=span)] == choices


def test_the_filter_of_next_runs_still_finds_the_others(client: Client):
    local_job()
    make_job("Locked")
    make_job("By hand", schedule=None)
    assert sorted(found(client, next="day")) == ["Digest", "Locked"]
    assert found(client, next="never") == ["By hand"]


def test_jobs_are_found_by_their_coordination(client: Client):
    local_job()
    make_job("Locked")
    assert found(client, coordination="node_local") == ["Digest"]
    assert found(client, coordination="locked") == ["Locked"]


@pytest.mark.parametrize("order", ["", "5", "-5"])
def test_the_list_is_sorted_with_them_in_it(client: Client, order: str):
    local_job()
    make_job("Locked")
    assert sorted(found(client, **({"o": order} if order else {}))) == ["Digest", "Locked"]


def test_its_next_run_can_be_skipped(client: Client):
    job = local_job()
    assert "Skip next run" in get_text(client, url("change", job.pk))
    before = operations.next_runs(job, 2)
    client.post(url("skip", job.pk))
    assert operations.next_runs(Job.objects.get(), 1) == before[1:]


@pytest.mark.parametrize(
    ("busy", "words"),
    [(["web-1"], "will start within 2 seconds"), (["web-1", "web-2"], "the new one waits for its end")],
)
def test_a_run_by_hand_waits_only_where_no_instance_is_free(client: Client, busy: list[str], words: str):
    job = local_job()
    instances = {name: start_instance(name=name) for name in ("web-1", "web-2")}
    for name in busy:
        instance = instances[name]
        make_run(job, Status.RUNNING, instance=instance, scope=str(instance.pk), started_at=now())
    (said,) = messages_after(client.post(url("run", job.pk)))
    assert words in said


def test_the_list_takes_as_many_queries_for_any_number_of_them(client: Client):
    start_instance()
    client.get(JOBS)
    counts = []
    for number in (1, 20):
        Job.objects.all().delete()
        for place in range(number):
            local_job(name=f"Job {place}")
        with CaptureQueriesContext(connection) as captured:
            client.get(JOBS, {"next": "day"})
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 9  # one more than other filters: the jobs of every instance


# Runs


@pytest.mark.parametrize(
    ("reason", "message", "sentence"),
    [
        (Reason.LOCK_BUSY, "The lock is held by web-2, run 17.", "Somebody else held the job's lock"),
        (
            Reason.LOCK_ERROR,
            "The locker could not answer. ConnectionError",
            "The job's locker could not answer when it was due, and the job is not to run without a lock.",
        ),
    ],
)
def test_a_run_without_its_lock_says_why_in_words(
    client: Client, reason: Reason, message: str, sentence: str
):
    run = make_run(make_job(), Status.SKIPPED, reason=reason, error_message=message)
    said = get_text(client, url("change", run.pk, model="run"))
    assert sentence in said
    assert f"Details{message}" in said.replace("Details ", "Details")
    assert message in get_text(client, RUNS)


def test_a_run_of_one_instance_says_whose_it_is(client: Client):
    instance = start_instance()
    run = make_run(local_job(), instance=instance, scope=str(instance.pk))
    for address in (RUNS, url("change", run.pk, model="run")):
        assert "schedule, of instance web-1 alone" in get_text(client, address)


def test_a_run_that_waits_for_its_instance_names_it_too(client: Client):
    instance = start_instance()
    make_run(local_job(), Status.QUEUED, scope=str(instance.pk))
    assert "of instance web-1 alone" in get_text(client, RUNS)


def test_a_run_of_an_instance_that_is_forgotten_is_still_one_instances(client: Client):
    make_run(local_job(), scope="6f9619ff-8b86-d011-b42d-00cf4fc964ff")
    assert "schedule, of one instance alone" in get_text(client, RUNS)


@pytest.mark.parametrize("scope", ["", "m:6f9619ff-8b86-d011-b42d-00cf4fc964ff"])
def test_a_run_that_any_instance_may_have_says_nothing_of_that(client: Client, scope: str):
    make_run(make_job(), scope=scope)
    assert "alone" not in get_text(client, RUNS)


# Roles


def test_the_greatest_term_of_a_live_instance_leads(client: Client):
    start_instance(name="old", term=6)
    start_instance(name="new", term=7)
    start_instance(name="dead", term=8, lease_expires_at=now() - timedelta(seconds=1))
    said = get_text(client, INSTANCES)
    assert "new OK Leader (term 7)" in said
    assert "old OK Follower" in said
    assert "dead Dead -" in said


def test_where_nobody_elects_there_are_no_roles(client: Client):
    instance = start_instance()
    for address in (INSTANCES, url("change", instance.pk, model="instance")):
        said = get_text(client, address)
        assert "Role" not in said
        assert "Follower" not in said


@with_elector
def test_where_an_elector_is_configured_there_are_roles_before_anybody_leads(client: Client):
    instance = start_instance()
    assert "web-1 OK Follower" in get_text(client, INSTANCES)
    assert "Follower" in get_text(client, url("change", instance.pk, model="instance"))


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ([], ""),
        ([None], "1 instance running. "),
        ([7, None], "2 instances running. Leader: web-0 (heartbeat 3 seconds ago)."),
    ],
)
def test_the_list_begins_with_who_runs_and_who_leads(client: Client, terms: list[int | None], words: str):
    for place, term in enumerate(terms):
        start_instance(name=f"web-{place}", term=term, heartbeat_at=now() - timedelta(seconds=3.2))
    said = get_text(client, INSTANCES)
    assert words in said
    assert ("running." in said.replace("No scheduler is running.", "")) is bool(terms)


@with_elector
def test_that_nobody_leads_is_said(client: Client):
    start_instance()
    assert "None of them leads now: jobs wait until one does" in get_text(client, INSTANCES)


# Locks


def hold(key: str = "digest", holder: str = "web-2, run 17") -> Lease:
    """Through the locker itself."""
    assert DatabaseLocker().acquire_many([Lock(key=key, holder=holder, token=f"token of {key}")]) == [None]
    return Lease.objects.get(name=f"lock:{key}")


def shown_locks(client: Client) -> list[str]:
    return [line.name for line in client.get(INSTANCES).context["locks"]]


def test_a_lock_of_a_locker_is_listed_with_its_holder(client: Client):
    lease = hold()
    Lease.objects.update(
        acquired_at=now() - timedelta(minutes=5.1), expires_at=now() + timedelta(minutes=9.5)
    )
    assert f"{lease.name} lock web-2, run 17 5 minutes ago in 9 minutes" in get_text(client, INSTANCES)


def test_leadership_is_listed_with_its_term(client: Client):
    DatabaseElector().campaign("candidate", name="web-1")
    assert "leader leadership, term 1 web-1 just now in 14 seconds" in get_text(client, INSTANCES)


@pytest.mark.parametrize("values", [{"token": ""}, {"expires_at": None}, {"expires_at": "over"}])
def test_what_nobody_holds_is_not_listed(client: Client, values: Any):
    hold()
    if values.get("expires_at") == "over":
        values = {"expires_at": now() - timedelta(seconds=1)}
    Lease.objects.update(**values)
    assert shown_locks(client) == []
    assert "No lock is held." in get_text(client, INSTANCES)


def test_the_ledgers_own_locks_are_listed_with_their_runs(client: Client):
    job = make_job()
    started_at = now() - timedelta(seconds=75)
    run = make_run(
        job, Status.RUNNING, held_lock=str(job.pk), instance=start_instance(), started_at=started_at
    )
    make_run(job, Status.SUCCEEDED, attempt=2)
    assert shown_locks(client) == ["Digest"]
    assert "Digest the ledger's own lock web-1 1 minute ago when its run ends" in get_text(client, INSTANCES)
    assert url("change", run.pk, model="run") in client.get(INSTANCES).content.decode()


def test_a_run_is_not_linked_for_those_who_may_not_see_it():
    job = make_job()
    run = make_run(job, Status.RUNNING, held_lock=str(job.pk))
    page = sign_in("view_instance").get(INSTANCES).content.decode()
    assert "Digest" in page
    assert url("change", run.pk, model="run") not in page


def test_at_most_fifty_are_listed_in_as_many_queries(client: Client, monkeypatch: pytest.MonkeyPatch):
    start_instance()
    client.get(INSTANCES)
    job, counts = make_job(), []
    for number in (1, locks.MOST - 1, 10):
        before = Run.objects.count()
        Run.objects.bulk_create(
            Run(
                job=job,
                job_name=job.name,
                scheduled_for=now(),
                scope=f"{before + place}",
                held_lock=f"{before + place}",
            )
            for place in range(number)
        )
        with CaptureQueriesContext(connection) as captured:
            page = client.get(INSTANCES)
        counts.append(len(captured))
        held = before + number
        assert len(page.context["locks"]) == min(held, locks.MOST)
        assert ("There are more than are shown." in page.content.decode()) is (held > locks.MOST)
    assert len(set(counts)) == 1


def release_data(lease: Lease, **data: str) -> dict[str, str]:
    return {"lock": lease.name, "version": locks.version_of(lease), **data}


def press(client: Client, lease: Lease, **data: str) -> Any:
    return client.post(url("release_lock", model="instance"), release_data(lease, **{"sure": "1", **data}))


def test_releasing_asks_first_with_a_warning(client: Client):
    lease = hold()
    page = client.post(url("release_lock", model="instance"), release_data(lease))
    assert (
        "Only release it if web-2 is really stopped; otherwise a job may run twice." in page.content.decode()
    )
    assert shown_locks(client) == [lease.name]


def test_releasing_leadership_warns_of_what_it_does(client: Client):
    DatabaseElector().campaign("candidate", name="web-1")
    page = client.post(url("release_lock", model="instance"), release_data(Lease.objects.get()))
    text = page.content.decode()
    assert "If web-1 is not really stopped, both do for a moment; no tick runs twice." in text
    assert "may run twice" not in text


def test_a_lock_that_was_released_can_be_taken_by_another(client: Client):
    lease = hold()
    response = press(client, lease)
    assert messages_after(response) == ["Released lock:digest, which web-2, run 17 held."]
    assert response.url == INSTANCES
    assert shown_locks(client) == []
    assert DatabaseLocker().acquire_many([Lock(key="digest", holder="web-1", token="new")]) == [None]


def test_its_holder_can_extend_it_no_more(client: Client):
    press(client, hold())
    mine = Lock(key="digest", holder="web-2, run 17", token="token of digest")
    assert DatabaseLocker().extend_many([mine]) == [False]


def test_the_next_leader_has_a_greater_term_than_one_who_was_released(client: Client):
    DatabaseElector().campaign("first", name="web-1")
    press(client, Lease.objects.get())
    assert DatabaseElector().campaign("second", name="web-2") == 2


def test_a_release_is_noted(client: Client):
    press(client, hold())
    (entry,) = LogEntry.objects.all()
    assert entry.object_id == "lock:digest"
    assert entry.get_change_message() == "Released lock:digest, which web-2, run 17 held."
    assert client.get("/admin/").status_code == 200


def test_a_lock_that_has_changed_hands_is_left_alone(client: Client):
    shown = hold()
    Lease.objects.all().delete()
    hold(holder="web-3, run 18")
    assert messages_after(press(client, shown)) == ["It is free already, or somebody else has it by now."]
    assert Lease.objects.get().holder == "web-3, run 18"
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("version", ["", "nonsense"])
def test_only_the_holding_that_was_shown_is_released(client: Client, version: str):
    lease = hold()
    press(client, lease, version=version)
    assert shown_locks(client) == [lease.name]


def test_it_goes_back_to_where_it_was_pressed(client: Client):
    assert press(client, hold(), next=f"{INSTANCES}?q=web").url == f"{INSTANCES}?q=web"
    assert press(client, hold("other"), next="https://elsewhere.example/").url == INSTANCES


def test_who_may_not_change_jobs_sees_no_button_and_is_refused():
    viewer, lease = sign_in("view_instance", "view_job", "pause_job"), hold()
    assert "Release" not in get_text(viewer, INSTANCES)
    response = press(viewer, lease)
    assert response.status_code == 403
    assert "Ask an administrator for the permission “Can change job”." in response.content.decode()
    assert Lease.objects.get().token


def test_who_may_change_jobs_and_see_instances_may_release():
    editor, lease = sign_in("view_instance", "change_job"), hold()
    assert "Release…" in get_text(editor, INSTANCES)
    press(editor, lease)
    assert Lease.objects.get().token == ""


def test_the_address_answers_only_when_its_button_is_pressed(client: Client):
    lease = hold()
    response = client.get(url("release_lock", model="instance"), release_data(lease, sure="1"))
    assert (response.status_code, response["Allow"]) == (405, "POST")
    assert Lease.objects.get().token


def test_no_button_is_drawn_for_the_ledgers_own_locks(client: Client):
    job = make_job()
    make_run(job, Status.RUNNING, held_lock=str(job.pk))
    assert "Release…" not in get_text(client, INSTANCES)


def test_the_token_of_a_lock_is_not_shown(client: Client):
    hold()
    assert "token of digest" not in client.get(INSTANCES).content.decode()


@pytest.mark.parametrize("has_lockers", [True, False])
def test_that_locks_elsewhere_are_not_listed_is_said_where_there_are_lockers(
    client: Client, has_lockers: bool
):
    with with_lockers if has_lockers else override_settings():
        assert ("are not listed" in get_text(client, INSTANCES)) is has_lockers


def test_a_run_that_lost_its_lock_says_so(client: Client):
    run = make_run(make_job(), Status.SUCCEEDED, lock_lost=True)
    text = get_text(client, f"{RUNS}{run.pk}/change/")
    assert "Its locker's lock ran out, or was taken away, while it executed." in text
