"""Ticks that every instance has for itself, and people who edit, pause, skip and run their jobs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from django_gocron import Every, OneTime, events, operations
from django_gocron.engine.local_courses import Courses
from django_gocron.models import Job, JobState, Run
from django_gocron.models.now import database_now
from tests.elsewhere import open_transaction
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    make_job,
    next_tick,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard
from tests.integration.everywhere_support import (
    SECOND,
    TEN_SECONDS,
    end,
    local_job,
    meet,
    of,
    scope,
    started,
    tick_of,
    two_instances,
    with_elector,
)
from tests.integration.planned import record

pytestmark = REAL_TRANSACTIONS


# --- edits -----------------------------------------------------------------------------------------


def claimed_by_two(job: Job) -> tuple[HandDriven, HandDriven]:
    one, other = two_instances()
    tick = tick_of(job)
    for engine in (one, other):
        engine.go_to(tick).claim()
    assert statuses(job) == ["claimed", "claimed"]
    return one, other


def test_a_pause_withdraws_the_claimed_ticks_of_all_instances():
    job = local_job()
    instances = claimed_by_two(job)
    operations.pause(job)
    assert statuses(job) == []
    for engine in instances:
        assert engine.start() == []
        assert engine.held == []
        engine.clock.advance(10)
        assert engine.step() == 0
    assert statuses(job) == []


def test_a_resumed_job_goes_on_from_then_and_does_not_run_at_once():
    job = local_job(first_run="immediately")
    engine = started()
    engine.start()
    end(engine)
    operations.pause(job)
    engine.claim()
    operations.resume(job)
    assert engine.step() == 0
    assert engine.go_to(tick_of(job)).step() == 1
    assert statuses(job) == ["succeeded", "succeeded"]


def test_a_pause_with_an_end_ends_by_itself():
    job = local_job()
    engine = started()
    until = database_now(DATABASE) + 25 * SECOND
    operations.pause(job, until=until)
    for seconds in (0, 10, 20):
        engine.go_to(until - (25 - seconds) * SECOND)
        assert engine.step() == 0
    tick = tick_of(job)
    assert tick >= until
    assert engine.go_to(tick).step() == 1
    assert [run.scheduled_for for run in runs_of(job)] == [tick]


def test_an_immediate_first_run_waits_for_the_end_of_a_pause():
    job = local_job(first_run="immediately")
    until = database_now(DATABASE) + 5 * SECOND
    operations.pause(job, until=until)
    engine = HandDriven()
    assert engine.step() == 0
    assert engine.go_to(until).step() == 1
    assert [run.scheduled_for for run in runs_of(job)] == [until]


@pytest.mark.parametrize("values", [{"enabled": False}, {"schedule": None}])
def test_a_job_that_is_disabled_or_without_schedule_has_no_ticks(values: dict[str, Any]):
    job = local_job()
    instances = claimed_by_two(job)
    Job.objects.filter(pk=job.pk).update(**values)
    for engine in instances:
        engine.clock.advance(10)
        assert engine.step() == 0
    assert statuses(job) == []


def test_a_deleted_job_has_no_ticks():
    job = local_job()
    instances = claimed_by_two(job)
    job.delete()
    for engine in instances:
        engine.clock.advance(10)
        assert engine.step() == 0
    assert not Run.objects.filter(status__in=("claimed", "running", "succeeded")).exists()


def test_an_edit_of_the_arguments_alone_loses_no_tick_that_was_claimed():
    job = local_job(kwargs={"n": 1})
    one, other = claimed_by_two(job)
    tick = tick_of(job)
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    assert statuses(job) == []
    for engine in (one, other):
        engine.go_to(tick + SECOND / 2).claim()
        engine.start()  # what was withdrawn is dropped
        assert engine.step() == 1
    assert [(run.scheduled_for, run.kwargs) for run in runs_of(job)] == [(tick, {"n": 2})] * 2


def test_an_edit_of_the_arguments_runs_nothing_a_second_time():
    job = local_job()
    engine = started()
    tick = tick_of(job)
    assert engine.go_to(tick).step() == 1
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    assert engine.step() == 0
    assert engine.go_to(tick + 10 * SECOND).step() == 1


def test_a_new_schedule_counts_from_now():
    job = local_job()
    one, other = claimed_by_two(job)
    Job.objects.filter(pk=job.pk).update(schedule=Every(seconds=4))
    tick = tick_of(job)
    for engine in (one, other):
        engine.go_to(tick - 2 * SECOND).claim()
        assert engine.go_to(tick).step() == 1
    assert {run.scheduled_for for run in runs_of(job)} == {tick}


@pytest.mark.only_on("postgresql", "mariadb")
def test_while_an_edit_is_open_nothing_is_claimed_and_then_the_edit_counts():
    job = local_job()
    engine = started()
    engine.go_to(tick_of(job))
    with open_transaction(lambda: Job.objects.filter(pk=job.pk).update(enabled=False)):
        assert engine.claim() == []
    assert engine.step() == 0
    assert statuses(job) == []


def test_a_plan_that_is_old_by_the_time_the_state_is_locked_claims_nothing():
    job = local_job()
    engine = started()
    engine.go_to(tick_of(job))
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    engine.parts.loop._local_claims._courses.follow = lambda *_args: None  # it has looked just before
    assert engine.claim() == []
    assert runs_of(job) == []


def test_what_the_schedule_of_one_job_raises_breaks_that_job_alone():
    broken, sound = local_job(name="broken"), local_job(name="sound")
    engine = HandDriven()
    with_faulty_schedule(broken)
    with Heard(events.JobBroken) as heard:
        engine.claim()
    assert [event.job_id for event in heard] == [broken.pk]
    assert state_of(broken).broken_code == "unknown_kind"
    assert engine.go_to(tick_of(sound)).step() == 1


def with_faulty_schedule(job: Job) -> None:
    """Past Django's models, and not noticed yet."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_job SET schedule = %s WHERE id = %s", ['{"kind": "nonsense"}', job.pk])


# --- coordination changed ---------------------------------------------------------------------------


def test_a_job_that_becomes_local_is_run_by_every_instance_from_then_on():
    job = make_job(schedule=TEN_SECONDS, first_run="immediately")
    one, other = two_instances()
    one.step()
    other.step()
    assert statuses(job) == ["succeeded"]
    tick = next_tick(job)
    one.go_to(tick).claim()
    Job.objects.filter(pk=job.pk).update(coordination="node_local")
    assert state_of(job).next_run_at is None
    for engine in (one, other):
        engine.go_to(tick - SECOND)
        engine.claim()
        engine.go_to(tick).step()
    assert statuses(job) == ["succeeded"] * 3
    assert [run.scope for run in runs_of(job, scheduled_for=tick)] != ["", ""]


def test_a_job_that_is_local_no_more_is_run_by_one():
    job = local_job()
    one, other = claimed_by_two(job)
    Job.objects.filter(pk=job.pk).update(coordination="locked")
    tick = next_tick(job)
    for engine in (one, other):
        engine.go_to(tick).step()
    assert statuses(job) == ["succeeded"]
    assert runs_of(job)[0].scope == ""


@pytest.mark.parametrize(("before", "after"), [("locked", "node_local"), ("node_local", "locked")])
def test_a_tick_that_waits_while_the_coordination_changes_runs_late(before: str, after: str):
    job = local_job(coordination=before)
    engine = started()
    own = {"scope": scope(engine), "lock_key": f"{job.pk}@{scope(engine)}"} if before == "node_local" else {}
    tick = database_now(DATABASE) - 2 * SECOND
    waiting = record(job, tick, status="queued", reason="given_back", **own)
    JobState.objects.filter(pk=job.pk).update(planned_through=tick)
    Job.objects.filter(pk=job.pk).update(coordination=after)
    assert engine.step() == 1
    waiting.refresh_from_db()
    assert waiting.status == "succeeded"


def test_an_elector_that_is_set_between_two_starts_makes_an_unlocked_job_shared_and_back():
    job = local_job(coordination="unlocked")
    with with_elector:
        engine = HandDriven()
        engine.parts.sweep.start()
        assert engine.go_to(next_tick(job)).step() == 1
        assert runs_of(job)[-1].scope == ""
    again = HandDriven()
    again.parts.sweep.start()
    assert state_of(job).next_tick_at is None
    again.go_to(engine.now).claim()
    assert again.go_to(tick_of(job) + 10 * SECOND).step() == 1
    assert runs_of(job)[-1].scope == scope(again)


def test_a_state_that_was_planned_as_shared_is_not_claimed_as_such():
    job = local_job()
    tick = tick_of(job)
    JobState.objects.filter(pk=job.pk).update(next_tick_at=tick, next_run_at=tick)
    engine = started()
    engine.go_to(tick).claim()
    assert [run.scope for run in runs_of(job)] == [scope(engine)]


# --- people ----------------------------------------------------------------------------------------------


def test_a_run_by_hand_runs_once_under_the_lock_of_the_instance_that_has_it():
    job = local_job()
    one, other = two_instances()
    run = operations.run_now(job)
    one.clock.set(database_now(DATABASE))
    other.clock.set(one.now)
    one.claim()
    one.start()
    assert other.step() == 0
    run.refresh_from_db()
    assert (run.status, run.held_lock) == ("running", f"{job.pk}@{scope(one)}")
    end(one)
    assert statuses(job) == ["succeeded"]


def test_a_run_by_hand_waits_for_no_run_of_another_instance():
    job = local_job()
    one, other = two_instances()
    meet(one, tick_of(job))
    run = operations.run_now(job)
    assert len(one.claim()) == 0
    other.clock.set(one.now - 5 * SECOND)
    assert other.step() == 1
    run.refresh_from_db()
    assert (run.status, run.lock_key) == ("succeeded", f"{job.pk}@{scope(other)}")


def test_a_run_by_hand_that_comes_back_is_for_any_instance():
    job = local_job()
    one, other = two_instances()
    operations.run_now(job)
    for engine in (one, other):
        engine.clock.set(database_now(DATABASE))
    [entry] = one.claim()
    one.clock.advance(2)
    one.parts.loop._give_back_late(one.now)
    [entry] = other.claim()
    assert entry.lock_key == f"{job.pk}@{scope(other)}"


def test_the_next_runs_are_those_that_all_instances_have_in_common():
    job = local_job()
    anchor = state_of(job).anchor_at
    assert anchor is not None
    expected = [anchor + number * 10 * SECOND for number in range(1, 6)]
    assert operations.next_runs(job, now=anchor) == expected
    operations.pause(job)
    assert operations.next_runs(job) == []


def test_a_tick_that_is_skipped_is_skipped_by_all_instances():
    job = local_job()
    one, other = claimed_by_two(job)
    skipped = operations.skip_next(job, by="ann")
    for engine in (one, other):
        assert engine.go_to(skipped).step() == 0
        assert engine.go_to(skipped + 10 * SECOND).step() == 1
    assert statuses(job) == ["skipped(by_user)", "succeeded", "succeeded"]
    assert operations.next_runs(job)[0] > skipped


def test_a_tick_that_was_skipped_once_keeps_no_later_start_from_running_at_once():
    job = local_job(first_run="immediately")
    skipped = operations.skip_next(job)
    engine = HandDriven().go_to(skipped + SECOND)
    assert engine.step() == 1


# --- edits, outages and ends that meet a pass --------------------------------------------------------


def test_an_outage_in_the_first_pass_breaks_no_job(monkeypatch: pytest.MonkeyPatch):
    job = local_job()
    engine = HandDriven()
    follow = Courses._follow_completions
    monkeypatch.setattr(Courses, "_follow_completions", go_away)
    with pytest.raises(OperationalError):
        engine.claim()
    monkeypatch.setattr(Courses, "_follow_completions", follow)
    Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})
    engine.clock.advance(0.5)
    engine.claim()
    assert state_of(job).broken_code == ""


def go_away(self: Courses, now: datetime) -> None:
    raise OperationalError("server closed the connection")


@pytest.mark.only_on("postgresql", "mariadb")
def test_an_edit_that_stays_open_beyond_a_claimed_tick_loses_it_not():
    job = local_job()
    engine = started()
    tick = tick_of(job)
    engine.go_to(tick - SECOND / 2).claim()
    assert of(engine, job) == ["claimed"]
    with open_transaction(lambda: Job.objects.filter(pk=job.pk).update(kwargs={"n": 2})):
        for later in (0.5, 1.6, 2.6):
            engine.go_to(tick + later * SECOND).claim()
    engine.go_to(tick + 3 * SECOND).claim()
    engine.go_to(tick + 3.5 * SECOND).claim()
    assert [run.scheduled_for for run in runs_of(job)] == [tick]


@pytest.mark.only_on("postgresql", "mariadb")
def test_an_open_edit_of_a_job_at_its_end_holds_up_no_other():
    now = database_now(DATABASE)
    once = local_job(name="once", schedule=OneTime(now + 5 * SECOND))
    shared = make_job(name="shared", schedule=TEN_SECONDS)
    engine = started()
    engine.go_to(now + 5 * SECOND).step()
    engine.go_to(next_tick(shared))
    with open_transaction(lambda: list(JobState.objects.select_for_update().filter(pk=once.pk))):
        assert [entry.job_id for entry in engine.claim()] == [shared.pk]


def test_a_job_made_between_two_passes_runs_at_a_tick_between_them():
    engine = started()
    job = local_job(schedule=OneTime(engine.now + SECOND / 2))
    engine.clock.advance(0.9)
    engine.claim()
    assert len(runs_of(job)) == 1


def test_a_job_that_is_at_its_end_by_completion_alone_is_not_planned_again_and_again():
    start = database_now(DATABASE)
    hour = timedelta(hours=1)
    ends = {"ends_at": start + 2 * hour + 300 * SECOND, "interval_from_completion": True}
    job = local_job(schedule=Every(hour), **ends)
    engine = started()
    tick = tick_of(job)
    meet(engine, tick)
    engine.execute()
    engine.finish()
    Run.objects.update(finished_at=tick + hour / 3)
    version = state_of(job).version
    for later in range(1, 7):
        engine.go_to(tick + hour / 3 + later * SECOND).claim()
    assert state_of(job).version <= version + 1
