"""Pruning the history: by age and by number, a little at a time, and never what is not over."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import patch

import pytest

from django_gocron.engine import retention
from django_gocron.engine.retention import PERIOD, Retention
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import LIVE, Status
from django_gocron.models.now import database_now
from django_gocron.testing import FakeClock
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, make_job

pytestmark = REAL_TRANSACTIONS

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _few(settings):
    settings.GOCRON = {"KEEP_DAYS": 30, "KEEP_RUNS": 5}


def add_runs(job: Job | None, number: int, *, age: timedelta = DAY, **values: object) -> None:
    ended = database_now(DATABASE) - age
    fields = {"status": Status.SUCCEEDED, "finished_at": ended, **values}
    Run.objects.bulk_create(
        Run(job=job, job_name="job", scheduled_for=ended - timedelta(seconds=n), **fields)
        for n in range(number)
    )


def prune() -> int:
    return Retention(DATABASE, FakeClock()).prune(database_now(DATABASE))


def test_runs_older_than_the_settings_keep_are_deleted():
    job = make_job()
    add_runs(job, 2, age=29 * DAY)
    add_runs(job, 3, age=31 * DAY)
    assert (prune(), Run.objects.count()) == (3, 2)


def test_a_job_may_keep_its_runs_for_longer_or_not_so_long():
    longer, shorter = make_job("longer", keep_days=60), make_job("shorter", keep_days=1)
    add_runs(longer, 2, age=31 * DAY)
    add_runs(shorter, 2, age=2 * DAY)
    prune()
    assert set(Run.objects.values_list("job_id", flat=True)) == {longer.pk}


def test_of_too_many_runs_of_a_job_the_latest_are_kept():
    job = make_job()
    add_runs(job, 8)
    newest = set(Run.objects.order_by("-pk").values_list("pk", flat=True)[:5])
    assert prune() == 3
    assert set(Run.objects.values_list("pk", flat=True)) == newest


def test_each_job_keeps_as_many_runs_as_it_says():
    more, fewer = make_job("more", keep_runs=7), make_job("fewer", keep_runs=0)
    add_runs(more, 8)
    add_runs(fewer, 8)
    prune()
    assert set(Run.objects.values_list("job_id", flat=True)) == {more.pk}
    assert Run.objects.count() == 7


def test_the_history_of_a_deleted_job_goes_by_age_alone():
    add_runs(None, 8, age=29 * DAY)
    add_runs(None, 2, age=31 * DAY)
    assert (prune(), Run.objects.count()) == (2, 8)


@pytest.mark.parametrize("status", LIVE)
def test_a_run_that_is_not_over_is_kept_however_old(status):
    job = make_job(keep_runs=0, keep_days=0)
    add_runs(job, 1, age=100 * DAY, status=status)
    assert prune() == 0


def test_a_run_that_holds_a_lock_is_kept():
    job = make_job(keep_runs=0, keep_days=0)
    add_runs(job, 1, age=100 * DAY, status=Status.TIMED_OUT, held_lock=str(job.pk))
    assert prune() == 0


def test_many_are_deleted_a_batch_at_a_time():
    job = make_job()
    add_runs(job, 7, age=31 * DAY)
    with patch.object(retention, "BATCH", 3):
        assert [prune() for _ in range(4)] == [3, 3, 1, 0]


def test_many_jobs_are_looked_at_in_turn():
    for number in range(5):
        add_runs(make_job(f"job {number}", keep_runs=0), 1)
    pruning = Retention(DATABASE, FakeClock())
    with patch.object(retention, "JOBS", 2):
        assert [pruning.prune(database_now(DATABASE)) for _ in range(4)] == [2, 2, 1, 0]


def test_it_is_done_once_a_minute():
    job = make_job()
    clock = FakeClock()
    pruning = Retention(DATABASE, clock)
    for _ in range(2):
        add_runs(job, 1, age=31 * DAY)
        pruning.step()
        assert Run.objects.count() == 1
        clock.advance(PERIOD)
        clock.set(database_now(DATABASE))
        pruning.step()
        assert Run.objects.count() == 0


@pytest.mark.parametrize("gone", ["stopped_at", "reaped_at"])
def test_an_instance_that_has_been_gone_for_longer_than_its_runs_are_kept_is_pruned(gone: str):
    now = database_now(DATABASE)
    for name, days in (("long gone", 32), ("gone", 30)):
        at = now - timedelta(days=days)
        Instance.objects.create(name=name, started_at=at, heartbeat_at=at, lease_expires_at=at, **{gone: at})
    Retention(DATABASE, FakeClock(now)).prune(now)
    assert [instance.name for instance in Instance.objects.all()] == ["gone"]


def test_an_instance_is_kept_as_long_as_any_job_keeps_its_runs():
    now = database_now(DATABASE)
    make_job(keep_days=90)
    at = now - timedelta(days=80)
    Instance.objects.create(name="gone", started_at=at, heartbeat_at=at, lease_expires_at=at, stopped_at=at)
    Retention(DATABASE, FakeClock(now)).prune(now)
    assert Instance.objects.count() == 1


def test_an_instance_that_is_neither_stopped_nor_reaped_is_kept():
    now = database_now(DATABASE)
    at = now - timedelta(days=800)
    Instance.objects.create(name="expired", started_at=at, heartbeat_at=at, lease_expires_at=at)
    Retention(DATABASE, FakeClock(now)).prune(now)
    assert Instance.objects.count() == 1


def test_the_state_of_a_job_that_was_deleted_by_sql_goes_too():
    kept, gone = make_job("kept"), make_job("gone")
    Job.objects.filter(pk=gone.pk)._raw_delete("default")
    prune()
    assert list(JobState.objects.values_list("pk", flat=True)) == [kept.pk]
