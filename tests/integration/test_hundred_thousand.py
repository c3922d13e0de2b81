"""A thousand jobs, ten times a second, for a second; nightly for ten: every tick is accounted for."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Count

from django_gocron import Every, registry
from django_gocron.models import Job, JobState, Run
from django_gocron.testing import HandDrivenScheduler
from tests.handdriven import do_nothing

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEP = timedelta(milliseconds=100)
JOBS = 1000

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600)]


@pytest.mark.parametrize("ticks", [10, pytest.param(100, marks=pytest.mark.nightly)])
def test_every_tick_of_a_thousand_jobs_has_one_run_and_no_other(ticks):
    task = registry.register(do_nothing).name
    with HandDrivenScheduler(now=NOON) as scheduler:
        Job.objects.bulk_create(
            [Job(name=f"job {number}", task=task, schedule=Every(seconds=0.1)) for number in range(JOBS)]
        )
        ended = sum(len(scheduler.advance(STEP)) for _ in range(ticks))
    assert ended == Run.objects.count() == JOBS * ticks
    assert set(Run.objects.values_list("status", "count").distinct()) == {("succeeded", 1)}
    per_instant = Counter(Run.objects.values_list("scheduled_for", flat=True))
    assert per_instant == {NOON + number * STEP: JOBS for number in range(1, ticks + 1)}
    assert len(set(Run.objects.values_list("job", "scheduled_for"))) == JOBS * ticks
    assert set(Run.objects.values_list("job").annotate(n=Count("pk")).values_list("n", flat=True)) == {ticks}
    assert set(JobState.objects.values_list("run_count", "next_tick_at")) == {
        (ticks, NOON + (ticks + 1) * STEP)
    }
