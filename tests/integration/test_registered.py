"""That a job was made, or deleted, is told: once, where it was done, and when it is committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from django_gocron import Every, events, registry
from django_gocron.exceptions import GocronError
from django_gocron.models import Job
from tests.handdriven import REAL_TRANSACTIONS, do_nothing, make_job
from tests.heard import Heard
from tests.integration.planned import sweep

pytestmark = REAL_TRANSACTIONS

HOURLY = Every(hours=1)


class Told(Heard):
    """What is told of jobs that come and go: the kind, and the job's name."""

    def __init__(self) -> None:
        super().__init__(events.JobRegistered, events.JobUnregistered)

    @property
    def registered(self) -> list[str]:
        return [event.job_name for event in self if isinstance(event, events.JobRegistered)]

    @property
    def unregistered(self) -> list[str]:
        return [event.job_name for event in self if isinstance(event, events.JobUnregistered)]


def new(name: str, **values: Any) -> Job:
    return Job(name=name, task=registry.register(do_nothing).name, **{"schedule": HOURLY, **values})


def load(directory: Path, *names: str) -> None:
    file = directory / "jobs.json"
    fields = [{"name": name, "task": "shop.tasks.sync", "tags": "shop"} for name in names]
    file.write_text(json.dumps([{"model": "gocron.job", "fields": one} for one in fields]))
    call_command("loaddata", str(file), verbosity=0)


# Made


def test_a_job_that_is_saved_is_told_with_its_tags():
    with Told() as told:
        made = make_job("job", schedule=HOURLY, tags=["Shop", "nightly"])
    [event] = told
    assert (event.job_id, event.job_name, event.tags) == (made.pk, "job", ("shop", "nightly"))


@pytest.mark.parametrize(
    "values",
    [{"schedule": None}, {"enabled": False}, {"timezone": "Mars/X"}],
    ids=lambda values: next(iter(values)),
)
def test_one_that_has_no_tick_is_told_too(values: dict[str, Any]):
    with Told() as told:
        new("job", **values).save()
    assert told.registered == ["job"]


def test_an_edit_is_no_new_job():
    made = make_job("job")
    with Told() as told:
        made.schedule = Every(minutes=5)
        made.save()
        Job.objects.update(priority=3)
        made.pause()
        made.resume()
    assert list(told) == []


def test_jobs_that_are_made_in_bulk_are_told_each():
    with Told() as told:
        Job.objects.bulk_create([new("a"), new("b", tags=["shop"])])
    assert sorted(told.registered) == ["a", "b"]
    assert {event.job_name: event.tags for event in told} == {"a": (), "b": ("shop",)}


def test_of_an_upsert_only_what_is_new_is_told():
    make_job("a")
    unique = {} if connection.vendor == "mysql" else {"unique_fields": ["name"]}
    with Told() as told:
        Job.objects.bulk_create(
            [new("a"), new("b")], update_conflicts=True, update_fields=["priority"], **unique
        )
    assert told.registered == ["b"]


def test_of_an_insert_that_passes_over_what_is_there_only_what_is_new_is_told():
    make_job("a")
    with Told() as told:
        Job.objects.bulk_create([new("a"), new("b")], ignore_conflicts=True)
    assert told.registered == ["b"]


def test_jobs_of_a_fixture_are_told_the_first_time(tmp_path: Path):
    with Told() as told:
        load(tmp_path, "a", "b")
    assert sorted(told.registered) == ["a", "b"]
    assert {event.tags for event in told} == {("shop",)}


def test_a_fixture_that_is_loaded_over_its_own_jobs_makes_none(tmp_path: Path):
    make_job("a")
    dumped = tmp_path / "dumped.json"
    call_command("dumpdata", "gocron", output=str(dumped), verbosity=0)
    with Told() as told:
        call_command("loaddata", str(dumped), verbosity=0)
    assert list(told) == []


def test_a_job_that_came_by_sql_is_told_by_the_scheduler_that_finds_it():
    make_job("job")
    with Told() as told:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM gocron_jobstate")  # as if it had been inserted by SQL just now
        sweep()
        sweep()
    assert told.registered == ["job"]


def test_nothing_is_told_before_it_is_committed():
    with Told() as told:
        with transaction.atomic():
            made = make_job("job")
            made.priority = 5
            made.save()
            assert list(told) == []
        assert told.registered == ["job"]


def test_what_is_rolled_back_is_not_told():
    with Told() as told, transaction.atomic():
        make_job("job")
        transaction.set_rollback(True)
    assert list(told) == []


def test_a_part_that_is_rolled_back_is_not_told():
    with Told() as told, transaction.atomic():
        make_job("kept")
        with transaction.atomic():
            make_job("dropped")
            transaction.set_rollback(True)
    assert told.registered == ["kept"]


# Deleted


def test_a_job_that_is_deleted_is_told_with_its_tags():
    made = make_job("job", tags=["shop"])
    key = made.pk
    with Told() as told:
        made.delete()
    [event] = told
    assert (event.job_id, event.job_name, event.tags) == (key, "job", ("shop",))
    assert isinstance(event, events.JobUnregistered)


def test_tags_that_were_given_as_a_text_are_told_as_tags():
    made = new("job", tags="Shop, nightly")
    made.save()
    with Told() as told:
        made.delete()
    assert [event.tags for event in told] == [("shop", "nightly")]


def test_jobs_that_are_deleted_in_bulk_are_told_each():
    for name in ("a", "b", "c"):
        make_job(name)
    with Told() as told:
        Job.objects.exclude(name="c").delete()
    assert sorted(told.unregistered) == ["a", "b"]


def test_a_deletion_that_is_rolled_back_is_not_told():
    made = make_job("job")
    with Told() as told, transaction.atomic():
        made.delete()
        transaction.set_rollback(True)
    assert list(told) == []


def test_a_job_that_is_made_again_under_its_name_is_another():
    make_job("job").delete()
    with Told() as told:
        make_job("job")
    assert told.registered == ["job"]


def test_a_job_that_comes_and_goes_in_one_transaction_is_told_as_both():
    with Told() as told, transaction.atomic():
        make_job("job").delete()
    assert [type(event) for event in told] == [events.JobRegistered, events.JobUnregistered]


def test_a_receiver_that_fails_keeps_no_job_from_being_made():
    def refuse(event: events.Event) -> None:
        raise GocronError("no", code="no")

    events.subscribe(refuse)
    try:
        make_job("job")
    finally:
        events.unsubscribe(refuse)
    assert Job.objects.filter(name="job").exists()
