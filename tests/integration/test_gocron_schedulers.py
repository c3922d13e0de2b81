"""What users of gocron expect of several schedulers of one project, of restarts, and of clocks that jump."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_gocron import Every, events, operations, registry
from django_gocron.backends import Backend
from django_gocron.models import JobState, Run
from django_gocron.models.now import database_now
from django_gocron.scheduler import Scheduler
from django_gocron.testing import FakeClock, HandDrivenScheduler
from tests import lockers
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    do_nothing,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    statuses,
)
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
TEN_SECONDS = Every(seconds=10)
DICT = "tests.lockers.DictLocker"
ELECTOR = "django_gocron.electors.database.DatabaseElector"


@pytest.fixture(autouse=True)
def _own_registry():
    with registry.isolated(inherit=True):
        yield


# --- three of them ---------------------------------------------------------------------------------


@pytest.fixture
def three(settings: Any):
    """Makes three instances that claim in turn; ends the threads of their lockers."""
    made: list[HandDriven] = []

    def make(**options: Any) -> list[HandDriven]:
        made.extend(HandDriven(name=f"web-{number}", ahead=timedelta(0), **options) for number in range(3))
        return made

    yield make
    for engine in made:
        engine.parts.locks.stop(PATIENCE)


def one_tick(engines: list[HandDriven], tick: datetime) -> list[int]:
    """How many runs each of them has at the tick."""
    for engine in engines:
        engine.claim()
    return [engine.go_to(tick).step() for engine in engines]


def test_of_three_the_elected_one_runs_the_tick(three, settings):
    settings.GOCRON = {"ELECTOR": {"BACKEND": ELECTOR}}
    engines = three(elector=Backend(setting="GOCRON['ELECTOR']", path=ELECTOR, options={"ttl": 15}))
    for engine in reversed(engines):
        engine.parts.leadership.campaign()
    job = make_job(schedule=TEN_SECONDS)
    assert one_tick(engines, next_tick(job)) == [0, 0, 1]


@pytest.mark.parametrize(("alias", "of_job"), [("default", ""), ("own", "own")], ids=["of all", "its own"])
def test_of_three_one_has_the_lock_and_runs_the_tick(three, settings, alias, of_job):
    server = lockers.new_server()
    settings.GOCRON = {"LOCKERS": {alias: {"BACKEND": DICT}}}
    engines = three(lockers={alias: Backend(setting="GOCRON['LOCKERS']", path=DICT)})
    job = make_job(schedule=TEN_SECONDS, locker=of_job)
    assert sorted(one_tick(engines, next_tick(job))) == [0, 0, 1]
    assert server.calls == [("acquire", 1), ("release", 1)]


def test_of_three_each_runs_a_tick_that_no_lock_guards(three, settings):
    server = lockers.new_server()
    settings.GOCRON = {"LOCKERS": {"default": {"BACKEND": DICT}}}
    engines = three(lockers={"default": Backend(setting="GOCRON['LOCKERS']", path=DICT)})
    job = make_job(schedule=TEN_SECONDS, coordination="unlocked")
    assert one_tick(engines, operations.next_runs(job)[0]) == [1, 1, 1]
    assert server.calls == []


def test_whoever_did_not_run_a_tick_reports_the_same_next_run_to_come():
    clock = FakeClock(NOON)
    with HandDrivenScheduler(clock=clock, name="one") as one, HandDrivenScheduler(clock=clock) as other:
        job = one.add(TEN_SECONDS, do_nothing)
        one.advance(10)
        assert other.run_due() == []
        assert one.get_job("Do nothing").next_run() == other.get_job(job).next_run() == NOON + 20 * SECOND


def test_a_thousand_locked_runs_leave_no_thread_and_no_lock_behind(three, settings):
    server = lockers.new_server()
    settings.GOCRON = {"LOCKERS": {"default": {"BACKEND": DICT}}}
    engine = three(workers=100, lockers={"default": Backend(setting="GOCRON['LOCKERS']", path=DICT)})[0]
    jobs = [make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(100)]
    lockers.SERVER.boottime = engine.clock.boottime
    threads: set[int] = set()
    for _ in range(10):
        ahead = max(map(next_tick, jobs))
        while engine.go_to(ahead).step():
            pass
        engine.lease.renew()
        threads.add(threading.active_count())
    assert Run.objects.filter(status="succeeded").count() == 1000
    assert len(threads) == 1
    assert server.keys() == set()


# --- restarts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"misfire": "skip", "misfire_grace": 10 * SECOND}, ["missed(grace)"]),
        ({"misfire": "run_once"}, ["coalesced", "succeeded"]),
        ({"misfire": "run_all", "max_catchup": 3}, ["missed(cap)"] + ["succeeded"] * 3),
    ],
    ids=["skip", "once", "all, capped"],
)
@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_an_hour_of_ticks_that_a_stall_or_a_restart_missed_follows_the_policy_of_the_row(
    restarts, options, expected
):
    job = make_job(schedule=Every(minutes=1), **options)
    first = database_now(DATABASE) - 60.5 * MINUTE
    plan_at(job, first)
    engine = HandDriven(ahead=timedelta(0)).go_to(first)
    engine.step()
    engine.go_to(first + 60.5 * MINUTE)
    for _ in range(restarts):
        engine.expire()
        engine = HandDriven(ahead=timedelta(0)).go_to(first + 60.5 * MINUTE)
        engine.parts.sweep.step()
        while engine.step():
            pass
    while engine.step():
        pass
    assert statuses(job) == ["succeeded", *expected]
    assert sum(run.count for run in runs_of(job)) == 61
    assert next_tick(job) == first + 61 * MINUTE


def test_definitions_counters_and_history_are_there_after_a_restart():
    clock = FakeClock(NOON)
    with HandDrivenScheduler(clock=clock) as scheduler:
        scheduler.add(Every(minutes=1), do_nothing, name="kept", max_runs=3, tags=["x"])
        scheduler.advance(minutes=2)
    with HandDrivenScheduler(clock=clock) as scheduler:
        job = scheduler.get_job("kept")
        assert (job.schedule, job.tags, job.next_run()) == (Every(minutes=1), ["x"], NOON + 3 * MINUTE)
        scheduler.advance(minutes=10)
    assert statuses(job) == ["succeeded"] * 3
    assert JobState.objects.get(pk=job.pk).run_count == 3


@pytest.mark.parametrize(
    ("next_tick_at", "next_run_at"),
    [(None, None), (datetime(1, 1, 2, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC))],
    ids=["empty", "of the year 1"],
)
def test_a_next_run_that_was_emptied_or_is_of_the_year_1_is_planned_from_now(next_tick_at, next_run_at):
    job = make_job(schedule=Every(seconds=1))
    JobState.objects.filter(pk=job.pk).update(next_tick_at=next_tick_at, next_run_at=next_run_at)
    engine = HandDriven(ahead=timedelta(0))
    engine.parts.sweep.step()
    engine.step()
    assert next_tick(job) >= database_now(DATABASE) - 5 * SECOND
    assert len(runs_of(job)) <= 2


# --- clocks that jump ------------------------------------------------------------------------------


def test_a_clock_that_goes_back_an_hour_runs_no_tick_again():
    job = make_job(schedule=Every(minutes=10))
    tick = database_now(DATABASE)
    plan_at(job, tick)
    engine = HandDriven(ahead=timedelta(0))
    for moment in (
        tick,
        tick + 10 * MINUTE,
        tick - 50 * MINUTE,
        tick,
        tick + 10 * MINUTE,
        tick + 20 * MINUTE,
    ):
        engine.go_to(moment).step()
    assert [run.scheduled_for - tick for run in runs_of(job)] == [number * 10 * MINUTE for number in range(3)]


def test_a_scheduler_with_nothing_to_do_waits_until_something_is_due():
    """By its own account of when to look again, which is what the loop waits for."""
    make_job(schedule=Every(hours=1))
    engine = HandDriven()
    engine.claim()
    due = engine.parts.loop.next_due_at
    assert due is not None
    assert due - engine.now > 50 * MINUTE


def test_start_may_be_called_three_times_and_is_once():
    job = make_job(schedule=Every(seconds=0.1))
    scheduler = Scheduler()
    with Heard(events.SchedulerStarted, events.RunSucceeded) as heard:
        for _ in range(3):
            scheduler.start()
        heard.wait_for(5, where=lambda event: isinstance(event, events.RunSucceeded))
        scheduler.shutdown()
    assert sum(isinstance(event, events.SchedulerStarted) for event in heard) == 1
    ticks = [run.scheduled_for for run in runs_of(job)]
    assert len(ticks) == len(set(ticks))
