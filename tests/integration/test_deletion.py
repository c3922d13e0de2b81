"""A job that is deleted while runs of it are in the hands of an instance."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.signals import post_save, pre_delete

from django_gocron import Every
from django_gocron.engine.audit import Audit
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Reason, Status
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, make_job, next_tick

pytestmark = REAL_TRANSACTIONS


@pytest.mark.parametrize("signal", [post_save, pre_delete])
def test_other_models_of_the_project_have_no_receiver_of_ours(signal):
    assert not any("gocron" in str(key) for key, *_rest in signal.receivers if key[1] == id(User))
    assert not any(key[1] == id(None) and "gocron" in str(key[0]) for key, *_rest in signal.receivers)


def test_a_late_run_of_a_deleted_job_is_forgotten():
    job = make_job(schedule=Every(seconds=1), starting_deadline=timedelta(seconds=1))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    job.delete()
    engine.clock.advance(10)
    engine.start()
    assert engine.memory.entries() == []


def test_the_result_of_a_run_whose_job_was_deleted_by_sql_is_written():
    job = make_job(schedule=Every(seconds=1))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM gocron_jobstate WHERE job_id = %s", [job.pk])
        cursor.execute("DELETE FROM gocron_job WHERE id = %s", [job.pk])
    engine.execute()
    assert engine.finish() == 1
    assert Run.objects.filter(status=Status.SUCCEEDED).exists()


def test_a_run_that_goes_back_to_the_queue_ends_where_its_job_was_paused_meanwhile():
    job = make_job(schedule=Every(seconds=1))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.start()
    Job.objects.filter(pk=job.pk).update(enabled=False)
    engine.memory.forget(engine.memory.entries())
    Audit(DATABASE, engine.clock, engine.lease, engine.memory, every=timedelta(seconds=10)).requeue_unknown()
    assert set(Run.objects.filter(job=job).values_list("status", "reason")) == {
        (Status.SKIPPED, Reason.PAUSED)
    }


def test_a_row_that_was_deleted_elsewhere_can_be_saved_again():
    job = make_job(schedule=Every(hours=1))
    Job.objects.filter(pk=job.pk).delete()
    job.save()
    assert JobState.objects.get(pk=job.pk).next_run_at is not None
