"""Rows, however they come to be and are edited: each job has its state, planned, with no scheduler running."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.template import Context, Template
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from django_gocron.models import Instance, Job, JobState, Lease, Run
from django_gocron.models.choices import LIVE, Status
from django_gocron.schedules import Cron, Every
from tests.integration.planned import (
    DAILY,
    HOUR,
    LATER,
    MINUTE,
    NOON,
    claim,
    do_nothing,
    execute_sql,
    make_job,
    next_tick,
    now,
    record,
    run_coroutine,
    runs_of,
    state_of,
    sweep,
)

pytestmark = pytest.mark.django_db

TASK = f"{do_nothing.__module__}.do_nothing"


def unsaved(name: str = "job", **values: Any) -> Job:
    return Job(name=name, task=TASK, schedule=values.pop("schedule", DAILY), **values)


def is_planned(name: str = "job") -> bool:
    state = JobState.objects.get(job__name=name)
    return (state.next_tick_at, state.next_run_at) == (NOON, NOON)


# How jobs come to be


def save(job: Job) -> None:
    job.save()


def create(job: Job) -> None:
    Job.objects.create(name=job.name, task=job.task, schedule=job.schedule)


def bulk_create(job: Job) -> None:
    Job.objects.bulk_create([job, unsaved("other")])


def bulk_create_ignoring_conflicts(job: Job) -> None:
    Job.objects.bulk_create([job, unsaved("other")], ignore_conflicts=True)


def get_or_create(job: Job) -> None:
    Job.objects.get_or_create(name=job.name, defaults={"task": job.task, "schedule": job.schedule})


def update_or_create(job: Job) -> None:
    Job.objects.update_or_create(name=job.name, defaults={"task": job.task, "schedule": job.schedule})


def create_asynchronously(job: Job) -> None:
    run_coroutine(Job.objects.acreate(name=job.name, task=job.task, schedule=job.schedule))


@pytest.mark.parametrize(
    "way", [save, create, bulk_create, bulk_create_ignoring_conflicts, get_or_create, update_or_create]
)
def test_a_new_job_is_planned_at_once(way: Callable[[Job], None]):
    way(unsaved())
    assert is_planned()


@pytest.mark.django_db(transaction=True)
def test_a_job_made_asynchronously_is_planned_at_once():
    create_asynchronously(unsaved())
    assert is_planned()


def test_a_job_that_sql_inserts_is_planned_by_the_sweep():
    make_job("template", schedule=DAILY)
    others = {field.name for field in Job._meta.local_fields} - {"id", "name", "identifier"}
    columns = ", ".join(connection.ops.quote_name(name) for name in sorted(others))
    execute_sql(
        f"INSERT INTO gocron_job (name, identifier, {columns}) SELECT 'job', %s, {columns} FROM gocron_job",
        uuid4() if connection.features.has_native_uuid_field else uuid4().hex,
    )
    assert not JobState.objects.filter(job__name="job").exists()
    sweep()
    assert is_planned()


def test_jobs_that_an_upsert_makes_and_changes_are_planned_at_once():
    make_job(schedule=Every(60))
    jobs = [unsaved("job"), unsaved("new")]
    existing = Job.objects.get(name="job")
    jobs[0].pk, jobs[0].identifier = existing.pk, existing.identifier
    unique_fields = ["id"] if connection.features.supports_update_conflicts_with_target else None
    jobs[1].pk = existing.pk + 1000
    Job.objects.bulk_create(
        jobs, update_conflicts=True, update_fields=["schedule"], unique_fields=unique_fields
    )
    assert is_planned("job")
    assert is_planned("new")


def test_an_upsert_can_be_repeated():
    identifier = uuid4()
    for schedule in (Every(60), Every(90), DAILY):
        job = unsaved(schedule=schedule, pk=5)
        job.identifier = identifier
        unique_fields = ["id"] if connection.features.supports_update_conflicts_with_target else None
        Job.objects.bulk_create(
            [job], update_conflicts=True, update_fields=["schedule"], unique_fields=unique_fields
        )
    assert is_planned()


def test_a_job_that_cannot_be_created_leaves_nothing_behind():
    make_job()
    with pytest.raises(IntegrityError), transaction.atomic():
        make_job()
    assert Job.objects.count() == JobState.objects.count() == 1


def test_a_job_without_a_schedule_has_a_state_and_no_next_run():
    state = state_of(make_job(schedule=None))
    assert (state.next_tick_at, state.next_run_at, state.finished_at) == (None, None, None)


@pytest.mark.parametrize("values", [{"enabled": False}, {"paused_at": NOON}])
def test_a_job_that_begins_disabled_or_paused_has_no_next_run(values: dict[str, Any]):
    assert state_of(make_job(schedule=DAILY, **values)).next_run_at is None


def test_a_copy_of_a_job_is_a_job():
    job = make_job(schedule=DAILY)
    job.description = "edited, so that its version is not known here"
    job.save()
    job.pk, job.name, job.identifier = None, "copy", unsaved().identifier
    job._state.adding = True
    job.save()
    assert is_planned("copy")
    assert Job.objects.count() == 2


# How jobs are edited


def edit_by_save(job: Job) -> None:
    job.schedule = DAILY
    job.save()


def edit_by_save_of_one_field(job: Job) -> None:
    job.schedule = DAILY
    job.save(update_fields=["schedule"])


def edit_by_update(job: Job) -> None:
    assert Job.objects.filter(pk=job.pk).update(schedule=DAILY) == 1


def edit_by_update_that_changes_what_it_filters_by(_job: Job) -> None:
    assert Job.objects.filter(schedule=Every(60)).update(schedule=DAILY) == 1


def edit_by_bulk_update(job: Job) -> None:
    job.schedule = DAILY
    assert Job.objects.bulk_update([job], ["schedule"]) == 1


def edit_by_update_or_create(job: Job) -> None:
    Job.objects.update_or_create(pk=job.pk, defaults={"schedule": DAILY})


def edit_by_sql(job: Job) -> None:
    other = make_job("other", schedule=DAILY)
    execute_sql("UPDATE gocron_job SET schedule = %s WHERE id = %s", stored_schedule(other), job.pk)
    sweep()


def edit_by_base_manager(job: Job) -> None:
    Job._base_manager.filter(pk=job.pk).update(schedule=DAILY)
    sweep()


def stored_schedule(job: Job) -> str:
    cast = "CAST(schedule AS CHAR)" if connection.vendor == "mysql" else "CAST(schedule AS text)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {cast} FROM gocron_job WHERE id = %s", [job.pk])
        text: str = cursor.fetchone()[0]
    return text


@pytest.mark.parametrize(
    "way",
    [
        edit_by_save,
        edit_by_save_of_one_field,
        edit_by_update,
        edit_by_update_that_changes_what_it_filters_by,
        edit_by_bulk_update,
        edit_by_update_or_create,
        edit_by_sql,
        edit_by_base_manager,
    ],
)
def test_an_edited_job_is_planned_anew(way: Callable[[Job], None]):
    way(make_job(schedule=Every(60)))
    assert is_planned()


def edit_by_aupdate(job: Job) -> None:
    run_coroutine(Job.objects.filter(pk=job.pk).aupdate(schedule=DAILY))


def edit_by_asave(job: Job) -> None:
    job.schedule = DAILY
    run_coroutine(job.asave())


def edit_by_abulk_update(job: Job) -> None:
    job.schedule = DAILY
    run_coroutine(Job.objects.abulk_update([job], ["schedule"]))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", [edit_by_aupdate, edit_by_asave, edit_by_abulk_update])
def test_a_job_that_is_edited_asynchronously_is_planned_anew(way: Callable[[Job], None]):
    way(make_job(schedule=Every(60)))
    assert is_planned()


@pytest.mark.parametrize(
    "values",
    [
        {"name": "renamed"},
        {"description": "d"},
        {"tags": ["a"]},
        {"owner": "o"},
        {"keep_days": 3},
        {"keep_runs": 3},
        {"pause_reason": "r"},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["save", "update", "bulk_update"])
def test_an_edit_that_matters_to_no_run_leaves_the_plan_alone(way: str, values: dict[str, Any]):
    job = make_job(schedule=Every(600))
    run = claim(job, tick := next_tick(job), following=tick + 10 * MINUTE)
    before = state_of(job)
    for name, value in values.items():
        setattr(job, name, value)
    ways: dict[str, Callable[[], object]] = {
        "save": job.save,
        "update": lambda: Job.objects.update(**values),
        "bulk_update": lambda: Job.objects.bulk_update([job], list(values) or ["name"]),
    }
    ways[way]()
    after = state_of(job)
    assert (after.version, after.next_tick_at, after.planned_hash) == (
        before.version,
        before.next_tick_at,
        before.planned_hash,
    )
    assert runs_of(job) == [run]


def test_every_edit_counts_and_is_seen():
    job = make_job()
    versions = [Job.objects.get().plan_version]
    job.description = "edited"
    job.save()
    versions.append(Job.objects.get().plan_version)
    Job.objects.update(owner="somebody")
    versions.append(Job.objects.get().plan_version)
    Job.objects.bulk_update([job], ["description"])
    versions.append(Job.objects.get().plan_version)
    assert versions == sorted(set(versions))
    assert state_of(job).planned_version == versions[-1]


def test_the_version_is_known_after_an_edit():
    job = make_job()
    job.save()
    assert job.plan_version == Job.objects.get().plan_version
    job.save()
    assert job.plan_version == Job.objects.get().plan_version


def test_a_job_can_be_saved_again_after_a_save_that_failed():
    make_job("taken")
    job = make_job("job", schedule=Every(60))
    job.name = "taken"
    with pytest.raises(IntegrityError), transaction.atomic():
        job.save()
    job.name, job.schedule = "job", DAILY
    job.save()
    assert is_planned()


def test_an_edit_that_is_rolled_back_changes_no_plan():
    job = make_job(schedule=Every(600))
    before = state_of(job).next_tick_at
    with transaction.atomic():
        Job.objects.update(schedule=DAILY)
        assert is_planned()
        transaction.set_rollback(True)
    assert state_of(job).next_tick_at == before


def test_two_stale_copies_of_a_row_do_not_undo_each_others_count():
    make_job(schedule=Every(60))
    one, other = Job.objects.get(), Job.objects.get()
    one.description = "one"
    one.save()
    other.schedule = DAILY
    other.save()
    assert is_planned()
    assert Job.objects.get().plan_version == 3


def test_planning_many_jobs_takes_as_many_queries_as_planning_one():
    def queries_for(number: int) -> int:
        Job.objects.bulk_create(
            [unsaved(f"{number} {n}", schedule=Every(60), tags=[str(number)]) for n in range(number)]
        )
        with CaptureQueriesContext(connection) as queries:
            Job.objects.tagged(str(number)).update(schedule=DAILY)
        assert JobState.objects.filter(job__tags=[str(number)], next_tick_at=NOON).count() == number
        return len(queries)

    assert queries_for(1) == queries_for(20)


def test_more_jobs_than_a_batch_are_all_planned():
    Job.objects.bulk_create([unsaved(f"job {n}") for n in range(1010)])
    assert JobState.objects.filter(next_tick_at=NOON).count() == 1010


# How jobs go


def test_a_deleted_job_takes_its_state_along_and_leaves_its_history():
    job = make_job()
    run = record(job, now(), status=Status.SUCCEEDED)
    job.delete()
    assert not JobState.objects.exists()
    run.refresh_from_db()
    assert (run.job, run.job_name, run.status) == (None, "job", "succeeded")


@pytest.mark.parametrize("way", ["delete", "queryset"])
def test_the_runs_that_wait_end_when_their_job_is_deleted(way: str):
    job = make_job()
    queued = record(job, now() - MINUTE, status=Status.QUEUED, reason="given_back")
    manual = record(job, now(), status=Status.QUEUED, origin="manual", scope="m:1")
    late = record(job, now() - HOUR, status=Status.CLAIMED)
    running = record(job, now() - 2 * HOUR, status=Status.RUNNING)
    job.delete() if way == "delete" else Job.objects.filter(pk=job.pk).delete()
    for run in (queued, manual, late):
        run.refresh_from_db()
        assert (run.status, run.reason) == ("skipped", "paused")
        assert run.finished_at
    running.refresh_from_db()
    assert running.status == "running"


def test_a_tick_to_come_of_a_deleted_job_leaves_no_trace():
    job = make_job(schedule=Every(600))
    run = claim(job, next_tick(job))
    job.delete()
    assert not Run.objects.filter(pk=run.pk).exists()


def test_b13_deleting_a_job_leaves_an_equal_one_alone():
    """B13"""
    one, other = make_job("one", schedule=DAILY), make_job("other", schedule=DAILY)
    kept = record(other, now(), status=Status.SUCCEEDED)
    queued = record(other, now() - MINUTE, status=Status.QUEUED)
    one.delete()
    assert is_planned("other")
    assert set(Run.objects.filter(job=other)) == {kept, queued}


# Runs


def test_live_runs_are_those_that_have_not_ended():
    job = make_job()
    for number, status in enumerate(Status):
        record(job, now() + number * MINUTE, status=status)
    assert set(Run.objects.live().values_list("status", flat=True)) == set(LIVE)
    assert set(LIVE) == {"queued", "claimed", "running", "handed_over"}


def test_one_tick_cannot_have_two_runs():
    job = make_job()
    record(job, NOON, status=Status.SUCCEEDED)
    with pytest.raises(IntegrityError), transaction.atomic():
        record(job, NOON, status=Status.CLAIMED)


@pytest.mark.parametrize("other", [{"attempt": 2}, {"scope": "m:1"}])
def test_retries_and_runs_by_hand_are_no_second_run_of_a_tick(other: dict[str, Any]):
    job = make_job()
    record(job, NOON, status=Status.SUCCEEDED)
    record(job, NOON, status=Status.SUCCEEDED, **other)
    assert len(runs_of(job)) == 2


def test_a_lock_has_one_holder():
    record(make_job("one"), NOON, status=Status.RUNNING, held_lock="1")
    with pytest.raises(IntegrityError), transaction.atomic():
        record(make_job("other"), NOON, status=Status.RUNNING, held_lock="1")


@pytest.mark.parametrize("values", [{"count": 0}, {"attempt": 0}])
def test_a_run_counts_something(values: dict[str, Any]):
    with pytest.raises(IntegrityError), transaction.atomic():
        record(make_job(), NOON, status=Status.SUCCEEDED, **values)


def test_a_run_knows_how_late_it_began_and_how_long_it_took():
    job = make_job()
    run = record(
        job,
        NOON,
        status=Status.SUCCEEDED,
        available_at=NOON + MINUTE,
        started_at=NOON + 2 * MINUTE,
        finished_at=NOON + 5 * MINUTE,
    )
    assert (run.lag, run.took) == (MINUTE, 3 * MINUTE)


def test_a_run_that_has_not_begun_has_no_lag_and_took_nothing():
    run = record(make_job(), NOON, status=Status.QUEUED)
    assert (run.lag, run.took) == (None, None)


# States


def test_a_state_keeps_the_latest_outcomes():
    state = JobState()
    for number in range(40):
        state.add_outcome("succeeded", number / 3)
    state.add_outcome("skipped", None)
    assert len(state.outcomes) == 30
    assert state.outcomes[-2:] == [["succeeded", 13.0], ["skipped", None]]


def test_an_unreadable_ring_of_outcomes_is_begun_anew():
    job = make_job()
    execute_sql("UPDATE gocron_jobstate SET outcomes = %s", "[" + "1" * 5000 + "]")
    state = state_of(job)
    state.add_outcome("failed", 1.2345)
    assert state.outcomes == [["failed", 1.234]]


# What people see


def test_rows_say_what_they_are():
    job = make_job("Sync orders")
    run = record(job, NOON, status=Status.QUEUED)
    assert [str(row) for row in (job, job.state, run)] == [
        "Sync orders",
        f"state of job {job.pk}",
        f"run {run.pk} of Sync orders",
    ]
    assert str(Instance(name="web-1")) == "web-1"
    assert str(Lease(name="leader")) == "leader"


def test_a_template_cannot_run_pause_resume_or_skip_a_job():
    job = make_job(schedule=DAILY)
    text = (
        "{{ job.run_now }}{{ job.pause }}{{ job.skip_next }}{{ job.save }}{{ job.arun_now }}{{ job.resume }}"
    )
    assert Template(text).render(Context({"job": job})) == ""
    assert runs_of(job) == []
    job.refresh_from_db()
    assert (job.paused_at, job.skip_until) == (None, None)


def test_a_job_is_known_by_its_name_across_databases():
    job = make_job("Sync")
    assert job.natural_key() == ("Sync",)
    assert Job.objects.get_by_natural_key("Sync") == job


@pytest.mark.parametrize(
    ("until", "moment", "is_paused"),
    [(None, NOON, True), (LATER, NOON, True), (NOON, NOON, False), (NOON, LATER, False)],
)
def test_a_pause_holds_until_its_end(until: Any, moment: Any, is_paused: bool):
    assert Job(paused_at=NOON - HOUR, paused_until=until).is_paused_at(moment) is is_paused


def test_a_job_that_is_not_paused_is_not_paused():
    assert not Job().is_paused_at(NOON)
    assert not Job(paused_until=LATER).is_paused_at(NOON)


# Migrations


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"DEFAULT_AUTO_FIELD": "django.db.models.AutoField"},
        {"TIME_ZONE": "Asia/Tokyo", "USE_TZ": False},
        {"GOCRON": {"TIME_ZONE": "America/New_York", "JOB_DEFAULTS": {"misfire": "skip"}}},
    ],
    ids=str,
)
@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_b68_no_migration_is_missing_whatever_the_project_says(options: dict[str, Any], language: str):
    """B68"""
    with override_settings(LANGUAGE_CODE=language, **options), translation.override(language):
        call_command("makemigrations", "gocron", check=True, dry_run=True, verbosity=0)


def test_state_rows_have_no_unique_key_but_their_jobs():
    """An upsert of states would else update another row on MySQL."""
    unique = [field.name for field in JobState._meta.local_fields if field.unique]
    assert (unique, list(JobState._meta.total_unique_constraints)) == (["job"], [])
    assert "id" not in {field.name for field in JobState._meta.get_fields()}


def test_every_column_of_a_state_row_has_a_default():
    assert [field.name for field in JobState._meta.local_fields if not field.has_default()] == ["job"]


def test_schedules_are_looked_up_by_nobody_when_a_job_is_made():
    """B26"""
    for number in range(3):
        make_job(f"job {number}", schedule=Cron("0 4 * * *"))
    with CaptureQueriesContext(connection) as queries:
        make_job("job", schedule=Cron("0 4 * * *"))
    conditions = [query["sql"].partition(" WHERE ")[2] for query in queries]
    assert not [text for text in conditions if '"schedule"' in text or "`schedule`" in text]
