"""What users of gocron expect of cron engines of their own, and of a definition that several jobs share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from django_gocron import Cron, registry
from django_gocron.models import Job
from django_gocron.schedules import register_cron_implementation
from django_gocron.testing import HandDrivenScheduler
from tests.handdriven import REAL_TRANSACTIONS, do_nothing, runs_of, state_of

pytestmark = REAL_TRANSACTIONS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def scheduler():
    with registry.isolated(inherit=True), HandDrivenScheduler(now=NOON) as scheduler:
        yield scheduler


def ticks(job: Job) -> list[timedelta]:
    """When its runs were due, counted from noon."""
    return [run.scheduled_for - NOON for run in runs_of(job)]


@dataclass
class Twice:
    """Fires at 12:01 and 12:02 of the day, and never again; ``stuck``: answers 12:02 for ever from then on."""

    stuck: bool = False
    wildcard: bool = False
    asked: int = 0

    def parse(self, _expression: str) -> Twice:
        return self

    def next(self, wall: datetime) -> datetime | None:
        self.asked += 1
        later = [at for at in self.times if at > wall]
        return later[0] if later else self.times[-1] if self.stuck else None

    def previous(self, wall: datetime) -> datetime | None:
        return max((at for at in self.times if at <= wall), default=None)

    @property
    def times(self) -> list[datetime]:
        return [NOON.replace(tzinfo=None) + number * MINUTE for number in (1, 2)]


@pytest.mark.parametrize("stuck", [False, True], ids=["answers nothing", "does not advance"])
def test_a_cron_engine_that_comes_to_no_further_tick_finishes_the_job_and_nothing_spins(scheduler, stuck):
    twice = Twice(stuck=stuck)
    register_cron_implementation(f"twice {stuck}", twice)
    job = scheduler.add(Cron("x", implementation=f"twice {stuck}"), do_nothing, timezone="UTC")
    scheduler.advance(minutes=2)
    assert ticks(job) == [MINUTE, 2 * MINUTE]
    assert (job.next_run(), state_of(job).finished_at) == (None, NOON + 2 * MINUTE)
    asked = twice.asked
    scheduler.advance(days=1)
    assert twice.asked - asked < 10


def test_one_definition_serves_several_jobs_and_neither_moves_the_other(scheduler):
    schedule = Cron("*/5 * * * *")
    first = scheduler.add(schedule, do_nothing, name="first", timezone="UTC")
    scheduler.advance(minutes=12)
    second = scheduler.add(schedule, do_nothing, name="second", timezone="Asia/Kathmandu")
    scheduler.update(second, schedule=Cron("0 0 1 1 *"))
    scheduler.advance(minutes=10)
    assert (ticks(first), ticks(second)) == ([number * 5 * MINUTE for number in range(1, 5)], [])
    assert first.schedule == schedule == Cron("*/5 * * * *")
