"""Starting: the write that comes before user code, and what it does when others write too."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.db import OperationalError

from django_gocron import Every, events
from django_gocron.context import current_run
from django_gocron.engine import starts
from django_gocron.engine.database import engine_thread
from django_gocron.engine.locks import held_keys
from django_gocron.engine.refusals import Refusals
from django_gocron.engine.starts import Starts
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from tests.elsewhere import open_transaction
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

TEN_SECONDS = Every(seconds=10)
MILLISECOND = timedelta(milliseconds=1)
WITH_ROW_LOCKS = pytest.mark.only_on("postgresql", "mariadb")

seen_by_task: list[str] = []


def look_at_own_row() -> None:
    run = current_run()
    assert run is not None
    seen_by_task.append(Run.objects.get(pk=run.run_id).status)


def claimed(*jobs: Job, **options: int) -> HandDriven:
    """An instance that has claimed the next tick of the jobs, at the instant of the last of them."""
    engine = HandDriven(**options).go_to(max(next_tick(job) for job in jobs))
    assert len(engine.claim()) == len(jobs)
    return engine


def test_the_row_says_running_before_user_code_begins():
    seen_by_task.clear()
    engine = claimed(make_job(task=look_at_own_row, schedule=TEN_SECONDS))
    engine.start()
    engine.execute()
    assert seen_by_task == ["running"]


def test_a_start_is_written_just_ahead_and_user_code_held_until_the_instant():
    job = make_job(schedule=TEN_SECONDS)
    tick = next_tick(job)
    engine = claimed(job).go_to(tick - 4 * MILLISECOND)
    [work] = engine.start()
    [run] = runs_of(job)
    assert (run.status, run.started_at, work.due_at) == ("running", tick, tick)
    with Heard(events.RunStarted) as heard:
        engine.execute()
    assert engine.executor.began_at == [tick]
    assert [event.lag for event in heard] == [timedelta(0)]


def test_nothing_starts_further_ahead_than_the_lead():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    engine.go_to(next_tick(job) - 10 * timedelta(seconds=1) - 6 * MILLISECOND)
    assert engine.start() == []
    assert statuses(job) == ["claimed"]


def test_ticks_close_together_share_one_write():
    now = database_now(DATABASE)
    jobs = [make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(3)]
    for number, job in enumerate(jobs):
        plan_at(job, now + timedelta(seconds=5) + number * 2 * MILLISECOND)
    engine = HandDriven().go_to(now + timedelta(seconds=4.5))
    engine.claim()
    engine.go_to(now + timedelta(seconds=5))
    with patch.object(Starts, "_update", autospec=True, side_effect=Starts._update) as update:
        engine.start()
    assert update.call_count == 1
    assert Run.objects.filter(status=Status.RUNNING).count() == 3


def test_no_more_start_than_there_are_slots_and_the_next_when_one_is_free():
    engine = claimed(*[make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(3)], workers=2)
    assert len(engine.start()) == 2
    assert len(engine.start()) == 2
    engine.execute()
    engine.finish()
    assert len(engine.start()) == 1


def test_of_two_that_are_due_the_one_with_the_higher_priority_starts_first():
    tick = database_now(DATABASE) + timedelta(seconds=5)
    plain, urgent = (
        make_job("plain", schedule=TEN_SECONDS),
        make_job("urgent", schedule=TEN_SECONDS, priority=1),
    )
    for job in (plain, urgent):
        plan_at(job, tick)
    engine = HandDriven(workers=1).go_to(tick)
    engine.claim()
    [work] = engine.start()
    assert work.context.job_id == urgent.pk


def test_a_start_takes_the_lock_of_the_job():
    job = make_job(schedule=TEN_SECONDS)
    claimed(job).start()
    assert runs_of(job)[0].held_lock == str(job.pk)


def test_of_two_ticks_of_a_job_one_starts():
    job = make_job(schedule=Every(seconds=0.8))
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.clock.advance(0.8)
    assert len(engine.start()) == 1
    assert sorted(run.status for run in runs_of(job)) == ["claimed", "running"]


def test_runs_that_may_overlap_start_side_by_side():
    job = make_job(schedule=Every(seconds=0.8), overlap="allow")
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    engine.clock.advance(0.8)
    assert len(engine.start()) == 2
    assert {run.held_lock for run in runs_of(job)} == {None}


def test_a_run_that_an_edit_has_withdrawn_is_dropped():
    job = make_job(schedule=TEN_SECONDS)
    tick = next_tick(job)
    engine = HandDriven().go_to(tick - timedelta(seconds=0.5))
    engine.claim()
    Job.objects.filter(pk=job.pk).update(enabled=False)
    assert engine.go_to(tick).start() == []
    assert engine.memory.count() == 0


def test_a_run_that_was_recovered_by_another_instance_is_dropped():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    engine.expire()
    assert HandDriven(name="reaper").recovery.reap() == 1
    assert engine.start() == []
    assert engine.memory.count() == 0
    assert statuses(job) == ["queued(recovered)"]


def test_nothing_starts_while_the_lease_is_over_in_the_database():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    engine.expire()
    assert engine.start() == []
    assert statuses(job) == ["claimed"]
    engine.parts.heartbeat.beat()
    assert len(engine.start()) == 1


def test_nothing_that_an_earlier_identity_has_claimed_starts_under_a_later_one():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    engine.lease.register()
    assert engine.start() == []
    assert (statuses(job), engine.memory.count()) == (["claimed"], 0)


def test_user_code_does_not_begin_past_the_trust_in_the_lease_but_after_a_renewal():
    engine = claimed(make_job(schedule=TEN_SECONDS))
    [work] = engine.start()
    engine.lease.distrust()
    assert work.begin() is None
    engine.parts.heartbeat.beat()
    assert work.begin() is True


def test_user_code_does_not_begin_once_the_run_has_been_taken_away():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    [work] = engine.start()
    engine.expire()
    HandDriven(name="reaper").recovery.reap()
    engine.parts.heartbeat.beat()
    assert work.begin() is False
    assert statuses(job) == ["lost(instance_gone)"]


# --- races for a lock ------------------------------------------------------------------------------


def hold_lock_of(job: Job) -> Run:
    """As if another instance were running the job."""
    now = database_now(DATABASE)
    return Run.objects.create(
        job=job,
        scheduled_for=now - timedelta(minutes=1),
        status=Status.RUNNING,
        lock_key=str(job.pk),
        held_lock=str(job.pk),
    )


def blind(times: int):
    """As if others took their locks just after we looked, ``times`` times."""
    looks = iter(range(times))

    def look(using, entries):
        return set() if next(looks, None) is not None else held_keys(using, entries)

    return patch.object(starts, "held_keys", look)


@pytest.mark.parametrize(
    "times", [1, 2, 4], ids=["seen at the first try", "at the second", "by the guarded way"]
)
def test_a_lock_that_somebody_takes_meanwhile_stops_its_own_run_alone(times):
    free, busy = make_job("free", schedule=TEN_SECONDS), make_job("busy", schedule=TEN_SECONDS)
    engine = claimed(free, busy)
    engine.go_to(next_tick(free) - timedelta(seconds=10, milliseconds=2))
    hold_lock_of(busy)
    with blind(times):
        [work] = engine.start()
    assert work.context.job_id == free.pk
    assert [entry.job_id for entry in engine.held] == [busy.pk]


def test_where_locks_are_taken_all_the_time_runs_are_looked_at_again():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    holder = hold_lock_of(job)
    with blind(100):
        assert engine.start() == []
    assert statuses(job) == ["running", "claimed"]
    holder.delete()
    assert len(engine.start()) == 1


@WITH_ROW_LOCKS
def test_the_guarded_way_passes_over_what_somebody_else_has_locked():
    free, edited = make_job("free", schedule=TEN_SECONDS), make_job("edited", schedule=TEN_SECONDS)
    busy = make_job("busy", schedule=TEN_SECONDS)
    engine = claimed(free, edited, busy)
    engine.go_to(next_tick(busy) - timedelta(seconds=10, milliseconds=2))
    hold_lock_of(busy)
    with (
        open_transaction(lambda: JobState.objects.select_for_update().get(pk=edited.pk)),
        blind(4),
    ):
        [work] = engine.start()
    assert work.context.job_id == free.pk
    assert {entry.job_id for entry in engine.held} == {edited.pk, busy.pk}
    assert len(engine.start()) == 2


@WITH_ROW_LOCKS
def test_an_edit_that_stays_open_is_waited_for_once_and_other_runs_start():
    jobs = [make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(3)]
    edited = make_job("edited", schedule=TEN_SECONDS)
    tick = database_now(DATABASE) + timedelta(minutes=1)
    engine = HandDriven(workers=2).go_to(tick)
    for number, job in enumerate((edited, *jobs)):
        plan_at(job, tick + number * timedelta(milliseconds=1))
    engine.claim()
    waits = 0
    update = Starts._update

    def count_waits(self, entries):
        nonlocal waits
        try:
            return update(self, entries)
        except OperationalError:
            waits += 1
            raise

    with (
        engine_thread(DATABASE),
        open_transaction(edited.delete),
        patch.object(Starts, "_update", count_waits),
    ):
        for _ in range(4):
            engine.start()
            engine.execute()
            engine.finish()
        assert [statuses(job) for job in jobs] == [["succeeded"]] * 3
        assert 1 <= waits <= 2
    engine.start()
    assert engine.memory.count() == 0


# --- answers that get lost -------------------------------------------------------------------------


def losing_answer_of(write: str) -> Any:
    """The database does what it is asked, and the connection breaks before it says so."""
    real = getattr(starts, write)

    def lose(using, work, **options):
        real(using, work, **options)
        raise OperationalError("server closed the connection unexpectedly")

    return patch.object(starts, write, lose)


def test_a_start_whose_answer_is_lost_is_found_to_have_worked():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    with losing_answer_of("statement"), pytest.raises(OperationalError):
        engine.start()
    assert (statuses(job), len(engine.held)) == (["running"], 1)
    assert len(engine.start()) == 1
    assert (engine.execute(), engine.finish(), statuses(job)) == (1, 1, ["succeeded"])


def test_while_the_database_is_away_everything_stays_held():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    with (
        patch.object(Starts, "_update", side_effect=OperationalError("gone")),
        pytest.raises(OperationalError),
    ):
        engine.start()
    assert (len(engine.held), engine.executor.submitted) == (1, [])
    assert len(engine.start()) == 1


def test_a_refusal_that_fails_keeps_no_other_run_from_its_executor():
    free, busy = make_job("free", schedule=TEN_SECONDS), make_job("busy", schedule=TEN_SECONDS)
    engine = claimed(free, busy)
    hold_lock_of(busy)
    with (
        patch.object(Refusals, "_end", side_effect=OperationalError("gone")),
        pytest.raises(OperationalError),
    ):
        engine.start()
    assert [work.context.job_id for work in engine.executor.submitted] == [free.pk]


# --- limits of runs --------------------------------------------------------------------------------


def test_a_start_counts_against_the_limit_of_runs():
    job = make_job(schedule=TEN_SECONDS, max_runs=5)
    claimed(job).start()
    assert state_of(job).run_count == 1


def test_a_run_beyond_the_limit_is_skipped():
    job = make_job(schedule=TEN_SECONDS, max_runs=5)
    engine = claimed(job)
    JobState.objects.filter(pk=job.pk).update(run_count=5)
    with Heard(events.RunSkipped) as heard:
        assert engine.start() == []
    assert statuses(job) == ["skipped(limit)"]
    assert [event.reason for event in heard] == ["limit"]
    assert engine.memory.count() == 0


def test_two_that_start_at_once_share_what_the_limit_leaves():
    job = make_job(schedule=Every(seconds=0.5), max_runs=9, overlap="allow")
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    JobState.objects.filter(pk=job.pk).update(run_count=8)
    engine.clock.advance(0.5)
    assert len(engine.start()) == 1
    assert statuses(job)[:2] == ["running", "skipped(limit)"]


def test_a_counted_start_whose_answer_is_lost_is_counted_once():
    job = make_job(schedule=TEN_SECONDS, max_runs=1)
    engine = claimed(job)
    with losing_answer_of("unit"), pytest.raises(OperationalError):
        engine.start()
    assert statuses(job) == ["running"]
    assert len(engine.start()) == 1
    assert state_of(job).run_count == 1
    assert (engine.execute(), engine.finish(), statuses(job)) == (1, 1, ["succeeded"])


@WITH_ROW_LOCKS
def test_a_job_that_somebody_is_editing_does_not_hold_up_the_counted_starts_of_others():
    job, edited = (
        make_job("job", schedule=TEN_SECONDS, max_runs=2),
        make_job("b", schedule=TEN_SECONDS, max_runs=2),
    )
    engine = claimed(job, edited)
    with open_transaction(lambda: JobState.objects.select_for_update().get(pk=edited.pk)):
        [work] = engine.start()
    assert work.context.job_id == job.pk
    assert len(engine.start()) == 2


@pytest.mark.parametrize("change", [{"status": "cancelled"}, {"claim_id": UUID(int=7)}])
def test_a_run_that_is_not_claimed_any_more_or_was_claimed_again_is_not_started(change: dict):
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    Run.objects.update(**change)
    assert engine.start() == []
    [run] = runs_of(job)
    assert run.status == change.get("status", "claimed")
    assert engine.memory.count() == 0


def test_a_run_claimed_under_a_lease_that_was_lost_is_not_started_under_the_next():
    job = make_job(schedule=TEN_SECONDS)
    engine = claimed(job)
    engine.expire()
    Instance.objects.update(reaped_at=database_now(DATABASE))
    with patch.object(Starts, "_is_of_another_life", return_value=False):
        engine.lease.register()
        assert engine.start() == []
    assert statuses(job) == ["claimed"]
