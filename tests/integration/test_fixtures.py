"""Jobs that come by ``loaddata`` and go by ``dumpdata``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.fields import Unreadable
from django_gocron.schedules import Every
from tests.integration.planned import (
    DAILY,
    DAY,
    HOUR,
    NOON,
    claim,
    execute_sql,
    make_job,
    next_tick,
    now,
    record,
    runs_of,
    state_of,
)

pytestmark = pytest.mark.django_db

NATURAL: dict[str, Any] = {"use_natural_foreign_keys": True, "use_natural_primary_keys": True}


def dump(file: Path, *labels: str, **options: Any) -> Path:
    call_command("dumpdata", *(labels or ("gocron",)), output=str(file), verbosity=0, **options)
    return file


def load(file: Path) -> None:
    call_command("loaddata", str(file), verbosity=0)


def fixture(directory: Path, *jobs: dict[str, Any]) -> Path:
    """A fixture as one writes it by hand."""
    file = directory / "jobs.json"
    rows = [{"model": "gocron.job", "fields": {"task": "shop.tasks.sync", **fields}} for fields in jobs]
    file.write_text(json.dumps(rows))
    return file


def test_a_loaded_job_is_planned_at_once(tmp_path: Path):
    load(fixture(tmp_path, {"name": "job", "schedule": DAILY.to_dict()}, {"name": "by hand"}))
    job = Job.objects.get(name="job")
    assert (job.schedule, next_tick(job), state_of(job).next_run_at) == (DAILY, NOON, NOON)
    assert state_of(Job.objects.get(name="by hand")).next_run_at is None


def test_what_a_fixture_leaves_open_has_its_default(tmp_path: Path):
    load(fixture(tmp_path, {"name": "job"}))
    job = Job.objects.get()
    assert (job.enabled, job.args, job.kwargs, job.tags, job.misfire) == (True, [], {}, [], "run_once")


def test_loading_a_fixture_again_changes_nothing(tmp_path: Path):
    file = fixture(tmp_path, {"name": "job", "schedule": Every(600).to_dict()})
    load(file)
    job = Job.objects.get()
    run = claim(job, next_tick(job))
    before = state_of(job)
    load(dump(tmp_path / "again.json", "gocron.job"))
    assert (state_of(job).version, runs_of(job)) == (before.version, [run])


def test_loading_another_schedule_is_an_edit(tmp_path: Path):
    job = make_job(schedule=Every(600))
    file = dump(tmp_path / "jobs.json", "gocron.job")
    file.write_text(file.read_text().replace('"seconds": 600', '"seconds": 900'))
    run = claim(job, next_tick(job))
    load(file)
    assert Job.objects.get().schedule == Every(900)
    assert not Run.objects.filter(pk=run.pk).exists()


def test_by_their_natural_keys_jobs_are_found_again_by_name(tmp_path: Path):
    make_job(schedule=DAILY)
    file = dump(tmp_path / "jobs.json", "gocron.job", **NATURAL)
    Job.objects.all().delete()
    make_job("another, which takes the next key")
    load(file)
    load(file)
    assert sorted(Job.objects.values_list("name", flat=True)) == ["another, which takes the next key", "job"]
    assert next_tick(Job.objects.get(name="job")) == NOON


@pytest.mark.parametrize("options", [{}, NATURAL], ids=["by key", "by natural key"])
@pytest.mark.parametrize("language", ["json", "jsonl", "xml"])
def test_the_whole_scheduler_can_be_dumped_and_loaded(language: str, options: dict[str, Any], tmp_path: Path):
    one, other = make_job("one", schedule=DAILY), make_job("other", schedule=Every(600), args=[1])
    JobState.objects.filter(pk=one.pk).update(run_count=7, outcomes=[["succeeded", 1.5]])
    record(one, now() - DAY, status=Status.SUCCEEDED, result={"rows": 5}, output="hello")
    record(other, now() - HOUR, status=Status.FAILED, error_type="ValueError", traceback="Traceback...")
    before = next_tick(other)
    file = dump(tmp_path / f"all.{language}", format=language, **options)
    Run.objects.all().delete()
    Job.objects.all().delete()
    load(file)
    one, other = Job.objects.get(name="one"), Job.objects.get(name="other")
    assert (state_of(one).run_count, state_of(one).outcomes) == (7, [["succeeded", 1.5]])
    assert (runs_of(one)[0].result, runs_of(other)[0].error_type) == ({"rows": 5}, "ValueError")
    assert (next_tick(one), other.args) == (NOON, [1])
    assert abs(next_tick(other) - before) < HOUR


def test_an_unreadable_schedule_can_be_loaded_and_says_why_it_does_not_run(tmp_path: Path):
    load(
        fixture(
            tmp_path,
            {"name": "job", "schedule": {"kind": "lunar"}},
            {"name": "good", "schedule": DAILY.to_dict()},
        )
    )
    broken = Job.objects.get(name="job")
    assert isinstance(broken.schedule, Unreadable)
    assert state_of(broken).broken_code == "unknown_kind"
    assert next_tick(Job.objects.get(name="good")) == NOON


@pytest.mark.parametrize("language", ["json", "xml"])
def test_arguments_that_cannot_be_read_are_dumped_and_loaded(language: str, tmp_path: Path):
    job = make_job()
    text = '{"n": ' + "1" * 5000 + "}"
    execute_sql("UPDATE gocron_job SET kwargs = %s", text)
    file = dump(tmp_path / f"jobs.{language}", "gocron.job", format=language)
    job.delete()
    load(file)
    kwargs = Job.objects.get().kwargs
    assert isinstance(kwargs, Unreadable)
    assert "".join(kwargs.text.split()) == "".join(text.split())
