"""The scheduler that projects drive by hand in their tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import TestCase
from django.test.utils import override_settings

from django_gocron import Daily, Every, OneTime, current_run, events, job, operations, registry
from django_gocron.exceptions import OperationError
from django_gocron.models import Instance, Job, Run
from django_gocron.models.now import DatabaseNow, database_now
from django_gocron.testing import FakeClock, HandDrivenScheduler
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, do_nothing, make_job, runs_of, state_of, statuses
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

seen: list[Any] = []


@pytest.fixture(autouse=True)
def _own_registry():
    seen.clear()
    with registry.isolated(inherit=True):
        yield


def note() -> None:
    run = current_run()
    assert run is not None
    seen.append((run.job_name, database_now(DATABASE)))


async def note_later() -> int:
    seen.append(await Job.objects.acount())
    return 3


def fail() -> None:
    raise ValueError("no")


def on(moment: datetime, **options: Any) -> HandDrivenScheduler:
    return HandDrivenScheduler(now=moment, **options)


# --- advancing -------------------------------------------------------------------------------------


def test_each_run_begins_at_its_own_instant_in_the_order_of_time():
    with on(NOON) as scheduler:
        scheduler.add(Every(minutes=3), note, name="three")
        scheduler.add(Every(minutes=2), note, name="two")
        runs = scheduler.advance(minutes=6)
    expected = [("two", 2), ("three", 3), ("two", 4), ("three", 6), ("two", 6)]
    assert sorted(seen) == sorted((name, NOON + n * MINUTE) for name, n in expected)
    assert [at for _name, at in seen] == sorted(at for _name, at in seen)
    assert [(run.status, run.scheduled_for) for run in runs] == [("succeeded", at) for _name, at in seen]
    assert all(run.started_at == run.finished_at == run.scheduled_for for run in runs)


@pytest.mark.parametrize("by", [(90,), (timedelta(seconds=90),)], ids=["seconds", "a duration"])
def test_time_passes_in_seconds_or_durations(by):
    with on(NOON) as scheduler:
        scheduler.advance(*by)
        assert scheduler.now == scheduler.clock.now() == NOON + 90 * SECOND


def test_nothing_runs_before_its_instant_nor_a_second_time():
    with on(NOON) as scheduler:
        scheduler.add(OneTime(NOON + HOUR), note)
        assert scheduler.advance(hours=1, microseconds=-1) == []
        assert len(scheduler.advance(microseconds=1)) == 1
        assert scheduler.advance(days=1) == scheduler.run_due() == []


def test_what_is_due_now_runs_without_moving_the_clock():
    with on(NOON) as scheduler:
        added = scheduler.add(None, note)
        added.run_now()
        [run] = scheduler.run_due()
        assert (run.status, run.finished_at, scheduler.now) == ("succeeded", NOON, NOON)


@pytest.mark.parametrize(
    "moment", [datetime(1990, 1, 1, tzinfo=UTC), NOON, datetime(2090, 1, 1, tzinfo=UTC)], ids=str
)
def test_any_time_will_do(moment):
    with on(moment) as scheduler:
        scheduler.add(Daily(at="09:00"), note, timezone="UTC")
        runs = scheduler.advance(days=3)
    assert [run.scheduled_for for run in runs] == [
        moment.replace(hour=9) + (moment.hour > 9) * DAY + n * DAY for n in range(3)
    ]


def test_years_pass_and_the_lease_lasts():
    with on(NOON) as scheduler:
        scheduler.add(Daily(every=100, at="09:00"), note, timezone="UTC")
        runs = scheduler.advance(days=3650)
        assert len(runs) == 36
        assert {run.instance.name for run in runs} == {"by hand"}


# --- what happens to ticks -------------------------------------------------------------------------


def test_a_task_that_takes_its_time_makes_later_ticks_wait_for_their_misfire_policy():
    with on(NOON) as scheduler:

        def work() -> None:
            scheduler.clock.advance(25)

        added = scheduler.add(Every(seconds=10), named(work), name="slow")
        runs = scheduler.advance(seconds=10)
        assert scheduler.now == NOON + 35 * SECOND
        assert [(run.status, run.took) for run in runs][:1] == [("succeeded", 25 * SECOND)]
        scheduler.run_due()
        assert statuses(added)[:2] == ["succeeded", "coalesced"]


def named(function: Any) -> Any:
    function.__qualname__ = function.__name__
    return function


def test_a_task_that_outlasts_the_lease_loses_no_other_run(scheduler_at_noon):
    scheduler = scheduler_at_noon

    def take_an_hour() -> None:
        scheduler.clock.advance(3600)

    scheduler.add(OneTime(NOON + MINUTE), named(take_an_hour), name="a", priority=1)
    other = scheduler.add(OneTime(NOON + MINUTE), note, name="b")
    scheduler.advance(minutes=1)
    scheduler.run_due()
    assert statuses(other) == ["succeeded"]


@pytest.fixture
def scheduler_at_noon():
    with on(NOON) as scheduler:
        yield scheduler


def test_a_block_that_cannot_begin_leaves_the_databases_clock_alone(monkeypatch):
    monkeypatch.setattr("django_gocron.testing.scheduler.replan", lambda *args, **kwargs: 1 / 0)
    before = len(events._receivers)
    with pytest.raises(ZeroDivisionError), on(NOON, listeners={}):
        pass
    assert database_now(DATABASE) != NOON
    assert len(events._receivers) == before


def test_errors_are_recorded_and_do_not_escape():
    with on(NOON) as scheduler:
        scheduler.add(Every(minutes=1), fail)
        [run] = scheduler.advance(minutes=1)
    assert (run.status, run.error_type, run.error_message) == ("failed", "ValueError", "no")


def test_an_attempt_comes_again_when_it_is_due():
    with on(NOON) as scheduler:
        scheduler.add(OneTime(NOON + MINUTE), fail, retries=2, retry_delay=60, retry_jitter=0)
        runs = scheduler.advance(minutes=10)
    assert [(run.attempt, run.started_at - NOON) for run in runs] == [
        (1, MINUTE),
        (2, 2 * MINUTE),
        (3, 4 * MINUTE),
    ]


def test_an_interval_counts_from_completion():
    with on(NOON) as scheduler:

        def work() -> None:
            scheduler.clock.advance(30)

        added = scheduler.add(Every(minutes=1), named(work), interval_from_completion=True)
        scheduler.advance(minutes=5)
    starts = [run.scheduled_for - NOON for run in runs_of(added)]
    assert starts == [MINUTE + n * 90 * SECOND for n in range(3)]


def test_a_job_is_finished_after_its_last_run():
    with on(NOON) as scheduler:
        added = scheduler.add(Every(minutes=1), note, max_runs=2)
        assert len(scheduler.advance(hours=1)) == 2
        assert state_of(added).finished_at is not None


def test_a_coroutine_runs_with_the_database_of_the_test():
    with on(NOON) as scheduler:
        scheduler.add(Every(minutes=1), note_later)
        [run] = scheduler.advance(minutes=1)
    assert (run.status, run.result, seen) == ("succeeded", 3, [1])


@pytest.mark.parametrize("coordination", ["node_local", "unlocked"])
def test_what_every_instance_runs_each_of_two_runs(coordination):
    clock = FakeClock(NOON)
    with (
        HandDrivenScheduler(clock=clock, name="one") as one,
        HandDrivenScheduler(clock=clock, name="two") as two,
    ):
        added = one.add(Every(minutes=1), note, coordination=coordination)
        one.run_due()
        two.run_due()
        assert len(one.advance(minutes=1)) == len(two.run_due()) == 1
    assert [(run.scheduled_for, run.status) for run in runs_of(added)] == [(NOON + MINUTE, "succeeded")] * 2


def test_of_two_on_one_clock_one_has_each_tick():
    clock = FakeClock(NOON)
    with (
        HandDrivenScheduler(clock=clock, name="one") as one,
        HandDrivenScheduler(clock=clock, name="two") as two,
    ):
        added = one.add(Every(minutes=1), note)
        for _ in range(3):
            clock.advance(60)
            two.run_due()
            one.run_due()
    assert statuses(added) == ["succeeded"] * 3


@pytest.mark.parametrize(("limit_mode", "expected"), [("wait", 5), ("reschedule", 2)])
def test_a_limit_is_kept(limit_mode, expected):
    with on(NOON, limit=2, limit_mode=limit_mode) as scheduler:
        for number in range(5):
            scheduler.add(OneTime(NOON + MINUTE), note, name=f"job {number}")
        runs = scheduler.advance(minutes=1)
    assert sum(run.status == "succeeded" for run in runs) == expected
    assert sum(run.reason == "limit" for run in runs) == 5 - expected


def test_a_task_that_starts_itself_for_ever_is_noticed(monkeypatch):
    def again() -> None:
        run = current_run()
        assert run is not None
        operations.get_job(run.job_name).run_now()

    with on(NOON) as scheduler:
        scheduler.add(Every(minutes=1), named(again))
        monkeypatch.setattr("django_gocron.testing.scheduler.MOST_PASSES", 5)
        with pytest.raises(OperationError) as caught:
            scheduler.advance(minutes=1)
    assert caught.value.code == "no_end"


# --- the clock of everything -----------------------------------------------------------------------


def test_all_of_the_package_goes_by_its_clock():
    with on(NOON) as scheduler:
        added = scheduler.add(Every(hours=1), note)
        assert database_now(DATABASE) == NOON
        assert added.next_runs(2) == [NOON + HOUR, NOON + 2 * HOUR]
        added.pause(until=NOON + 90 * MINUTE)
        assert [run.scheduled_for for run in scheduler.advance(hours=3)] == [NOON + 2 * HOUR, NOON + 3 * HOUR]
        assert Instance.objects.filter(lease_expires_at__gt=DatabaseNow(), name="by hand").exists()


def test_afterwards_the_database_has_its_own_clock_again():
    before = database_now(DATABASE)
    with on(NOON), on(NOON + DAY):
        pass
    assert database_now(DATABASE) >= before
    assert not Instance.objects.filter(stopped_at__isnull=True).exists()


def test_jobs_that_were_there_before_are_planned_as_if_they_were_new():
    added = make_job(schedule=Every(minutes=7), task=note)
    with on(NOON) as scheduler:
        scheduler.advance(minutes=15)
    assert [run.scheduled_for for run in runs_of(added)] == [NOON + 7 * MINUTE, NOON + 14 * MINUTE]


def test_without_an_instant_it_begins_in_the_present():
    before = database_now(DATABASE)
    with HandDrivenScheduler() as scheduler:
        assert before - SECOND <= scheduler.now <= before + MINUTE


# --- around it -------------------------------------------------------------------------------------


def test_declared_jobs_are_there_when_that_is_asked_for():
    job(Every(minutes=1), name="Declared")(do_nothing)
    with on(NOON, sync=True) as scheduler:
        assert "succeeded" in {
            run.status for run in scheduler.advance(minutes=1) if run.job_name == "Declared"
        }


def test_without_that_they_are_not():
    job(Every(minutes=1), name="Declared")(do_nothing)
    with on(NOON) as scheduler:
        assert scheduler.jobs() == []


def test_its_start_and_its_end_are_told():
    with Heard(events.SchedulerStarted, events.SchedulerStopped, events.SchedulerShutdown) as heard, on(NOON):
        pass
    assert [type(event) for event in heard] == [
        events.SchedulerStarted,
        events.SchedulerStopped,
        events.SchedulerShutdown,
    ]
    assert {event.at for event in heard} == {NOON}


def test_listeners_are_called_in_the_test_s_own_thread():
    with on(NOON, listeners={"after_run": lambda run: seen.append(run.scheduled_for)}) as scheduler:
        scheduler.add(Every(minutes=1), do_nothing)
        scheduler.advance(minutes=2)
    assert seen == [NOON + MINUTE, NOON + 2 * MINUTE]


def test_outside_of_its_block_it_refuses():
    with pytest.raises(OperationError) as caught:
        HandDrivenScheduler().run_due()
    assert caught.value.code == "not_started"


@pytest.mark.parametrize("use_tz", [True, False])
def test_it_does_not_matter_whether_the_project_uses_time_zones(use_tz):
    with override_settings(USE_TZ=use_tz), on(NOON) as scheduler:
        scheduler.add(Every(minutes=1), note)
        assert [run.scheduled_for for run in scheduler.advance(minutes=1)] == [NOON + MINUTE]


class InATestCase(TestCase):
    """Within its transaction: nothing of it stays."""

    def test_runs_and_what_they_write_are_seen(self) -> None:
        with on(NOON) as scheduler, registry.isolated(inherit=True):
            scheduler.add(Daily(at="09:00"), note, timezone="UTC")
            scheduler.add(Every(hours=6), note_later)
            scheduler.add(Every(hours=12), fail)
            runs = scheduler.advance(days=1)
        assert [run.status for run in runs if run.task.endswith(".note")] == ["succeeded"]
        assert [run.status for run in runs if run.task.endswith(".note_later")] == ["succeeded"] * 4
        assert [run.status for run in runs if run.task.endswith(".fail")] == ["failed"] * 2

    def test_a_second_test_finds_nothing_of_the_first(self) -> None:
        assert not Run.objects.exists()
        assert not Job.objects.exists()
        self.test_runs_and_what_they_write_are_seen()
