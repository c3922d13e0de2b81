"""What bit the users of other schedulers: missed runs, one-offs, limits, edits of rows; each test says which report it
answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from django_gocron import current_run, events
from django_gocron.models import Job, JobState
from django_gocron.schedules import Every, OneTime
from tests.handdriven import REAL_TRANSACTIONS, HandDriven
from tests.heard import Heard
from tests.integration.planned import (
    DAILY,
    DAY,
    HOUR,
    MINUTE,
    NOON,
    make_job,
    next_tick,
    now,
    plan_at,
    runs_of,
    state_of,
    statuses,
    sweep,
)

pytestmark = REAL_TRANSACTIONS

SECOND = timedelta(seconds=1)


def fail() -> None:
    raise RuntimeError("again")


def tell_missed() -> Any:
    """How many ticks this run stands for besides its own."""
    run = current_run()
    return run and run.missed and run.missed.count


def due_for(engine: HandDriven, late: timedelta, **values: Any) -> Job:
    """An hourly job whose tick came so long ago, while no scheduler was running."""
    job = make_job(schedule=values.pop("schedule", Every(hours=1)), **values)
    plan_at(job, engine.now - late)
    return job


# B.4: missed runs


@pytest.mark.parametrize(
    ("policy", "ended"),
    [
        ({"misfire": "run_once"}, "succeeded"),
        ({"misfire": "run_all"}, "succeeded"),
        ({"misfire": "skip", "misfire_grace": timedelta(seconds=10)}, "missed(grace)"),
        ({"misfire": "skip", "misfire_grace": timedelta(seconds=60)}, "succeeded"),
    ],
    ids=str,
)
def test_b41_a_job_that_was_due_during_a_restart_follows_its_policy(policy: dict[str, Any], ended: str):
    """B41"""
    engine = HandDriven()
    job = due_for(engine, 16 * SECOND, **policy)
    tick = next_tick(job)
    engine.step()
    assert statuses(job) == [ended]
    (run,) = runs_of(job)
    assert run.scheduled_for == tick
    if ended == "succeeded":
        assert run.started_at == engine.now
    assert next_tick(job) == tick + HOUR


@pytest.mark.parametrize(
    ("policy", "ran", "others"),
    [
        ({"misfire": "run_once"}, 1, [("coalesced", "", 239)]),
        ({"misfire": "run_all", "max_catchup": 10, "overlap": "allow"}, 10, [("missed", "cap", 230)]),
        ({"misfire": "skip", "misfire_grace": 30 * SECOND}, 0, [("missed", "grace", 240)]),
    ],
    ids=str,
)
def test_b42_after_four_hours_down_there_is_no_storm(
    policy: dict[str, Any], ran: int, others: list[tuple[str, str, int]]
):
    """B42"""
    engine = HandDriven()
    job = due_for(engine, 4 * HOUR - 15 * SECOND, schedule=Every(minutes=1), **policy)
    first = next_tick(job)
    engine.step()
    runs = [run for run in runs_of(job) if run.status == "succeeded"]
    assert len({run.scheduled_for for run in runs}) == len(runs) == ran
    rows = [run for run in runs_of(job) if run.status != "succeeded"]
    assert [(row.status, row.reason, row.count) for row in rows] == others
    assert rows[0].scheduled_for == first
    assert rows[0].window_end == first + (others[0][2] - 1) * MINUTE
    assert next_tick(job) > engine.now


def test_b42_the_run_that_stands_for_the_missed_ones_knows_them():
    """B42"""
    engine = HandDriven()
    job = due_for(engine, 4 * HOUR - 15 * SECOND, schedule=Every(minutes=1), task=tell_missed)
    engine.step()
    (run,) = [run for run in runs_of(job) if run.status == "succeeded"]
    assert run.result == 239


def test_b42_also_the_ticks_that_come_within_reach_are_not_taken_for_it():
    """B42: the next tick, claimed a moment ahead in the same stroke, stands for itself alone."""
    engine = HandDriven()
    job = due_for(engine, HOUR, schedule=Every(seconds=1), task=tell_missed, overlap="allow")
    engine.step()
    results = [run.result for run in runs_of(job) if run.status == "succeeded"]
    assert results == [3600, None][: len(results)]


def test_b42_where_the_latest_may_not_start_any_more_nothing_runs():
    """B42"""
    engine = HandDriven()
    job = due_for(engine, 3 * HOUR + 30 * MINUTE, starting_deadline=MINUTE)
    engine.step()
    assert statuses(job) == ["coalesced", "missed(deadline)"]
    assert [run.count for run in runs_of(job)] == [3, 1]


def test_b43_five_seconds_late_is_not_too_late():
    """B43"""
    engine = HandDriven()
    job = due_for(engine, 5 * SECOND)
    engine.step()
    assert statuses(job) == ["succeeded"]


def test_b43_a_missed_tick_is_a_row_and_an_event():
    """B43"""
    engine = HandDriven()
    job = due_for(engine, 5 * MINUTE, misfire="skip", misfire_grace=MINUTE)
    tick = next_tick(job)
    with Heard(events.TicksMissed) as heard:
        engine.step()
    (event,) = heard
    assert (event.job_id, event.reason, event.count, event.first, event.last) == (
        job.pk,
        "grace",
        1,
        tick,
        tick,
    )
    (row,) = runs_of(job)
    assert (row.status, row.scheduled_for, row.count) == ("missed", tick, 1)
    assert row.finished_at
    assert row.finished_at - row.scheduled_for >= 5 * MINUTE


def test_b46_a_tick_is_not_repeated_after_a_crash_right_behind_its_claim():
    """B46"""
    dead = HandDriven()
    job = due_for(dead, SECOND)
    tick = next_tick(job)
    dead.claim()
    dead.expire()
    engine = HandDriven(name="after the restart")
    engine.step()
    assert [run.scheduled_for for run in runs_of(job)] == [tick]
    assert next_tick(job) == tick + HOUR
    engine.recovery.reap()
    engine.step()
    assert statuses(job) == ["succeeded"]


def test_b46_a_job_that_always_fails_runs_at_its_ticks_only():
    """B46 and B48"""
    engine = HandDriven()
    job = due_for(engine, SECOND, task=fail)
    first = next_tick(job)
    for number in range(4):
        engine.go_to(first + number * HOUR)
        engine.step()
        engine.step()
    assert [run.scheduled_for for run in runs_of(job)] == [first + number * HOUR for number in range(4)]
    assert set(statuses(job)) == {"failed(exception)"}


# B.4: one-offs


def once(engine: HandDriven, name: str, *, in_seconds: float = 10) -> Job:
    return make_job(name, schedule=OneTime(engine.now + timedelta(seconds=in_seconds)))


def test_b47_a_one_off_runs_once_also_after_a_crash():
    """B47"""
    dead = HandDriven()
    job = once(dead, "once")
    tick = next_tick(job)
    dead.go_to(tick)
    dead.claim()
    dead.expire()
    engine = HandDriven(name="after the restart")
    engine.go_to(tick + 3 * SECOND)
    engine.recovery.reap()
    for _ in range(3):
        engine.step()
    assert statuses(job) == ["succeeded"]
    assert state_of(job).next_run_at is None


def test_b47_two_one_offs_at_the_same_instant_both_run():
    """B47"""
    engine = HandDriven()
    jobs = [once(engine, "one"), once(engine, "other")]
    engine.go_to(engine.now + 10 * SECOND)
    engine.step()
    assert [statuses(job) for job in jobs] == [["succeeded"]] * 2


def test_b47_a_one_off_is_finished_by_its_claim_and_its_count_stays():
    """B47"""
    engine = HandDriven()
    job = once(engine, "once")
    engine.go_to(next_tick(job))
    engine.claim()
    assert state_of(job).finished_at
    engine.step()
    job.description = "edited"
    job.save()
    state = state_of(job)
    assert (state.run_count, state.next_run_at) == (1, None)


def test_b47_only_a_new_instant_arms_a_one_off_again():
    """B47"""
    engine = HandDriven()
    job = once(engine, "once")
    engine.go_to(next_tick(job))
    engine.step()
    job.args = []
    job.save()
    assert state_of(job).next_run_at is None
    job.schedule = OneTime(NOON)
    job.save()
    state = state_of(job)
    assert (state.next_run_at, state.finished_at) == (NOON, None)


# B.4: windows and limits


def test_b50_a_job_runs_inside_its_window_only_and_is_finished_then():
    """B50"""
    engine = HandDriven()
    start = (engine.now + HOUR).replace(microsecond=0)
    job = make_job(schedule=Every(minutes=30), starts_at=start, ends_at=start + HOUR)
    for number in range(8):
        engine.go_to(start - 30 * MINUTE + number * 30 * MINUTE)
        engine.step()
    assert [run.scheduled_for for run in runs_of(job)] == [start + 30 * MINUTE, start + HOUR]
    assert state_of(job).finished_at


@pytest.mark.parametrize("options", [{}, {"interval_from_completion": True}], ids=["grid", "from completion"])
def test_b50_a_job_with_a_limit_runs_as_often_and_is_finished_then(options: dict[str, Any]):
    """B50"""
    engine = HandDriven()
    job = due_for(engine, SECOND, max_runs=3, **options)
    for _ in range(6):
        engine.step()
        engine.go_to(engine.now + HOUR + MINUTE)
        sweep()
    assert statuses(job) == ["succeeded"] * 3
    state = state_of(job)
    assert (state.run_count, state.next_run_at) == (3, None)
    assert state.finished_at


def test_b50_an_end_before_the_start_is_refused():
    """B50"""
    job = make_job()
    job.starts_at, job.ends_at = NOON, NOON - HOUR
    with pytest.raises(ValidationError) as refused:
        job.full_clean()
    assert refused.value.error_dict["ends_at"][0].code == "end_not_after_start"


# Runs by hand, pauses, edits


def run_by_hand(engine: HandDriven, job: Job) -> None:
    job.run_now()
    engine.go_to(now()).step()


def test_b10_runs_by_hand_start_no_second_chain():
    """B10"""
    engine = HandDriven()
    job = due_for(engine, -MINUTE)
    tick = next_tick(job)
    for _ in range(3):
        run_by_hand(engine, job)
    assert statuses(job) == ["succeeded"] * 3
    assert next_tick(job) == tick
    engine.go_to(tick)
    engine.step()
    scheduled = [run for run in runs_of(job) if run.origin == "schedule"]
    assert [run.scheduled_for for run in scheduled] == [tick]
    assert next_tick(job) == tick + HOUR


def test_b10_runs_by_hand_start_no_second_chain_of_a_job_that_counts_from_completion():
    """B10"""
    engine = HandDriven()
    job = due_for(engine, -MINUTE, interval_from_completion=True)
    tick = next_tick(job)
    run_by_hand(engine, job)
    assert (statuses(job), next_tick(job)) == (["succeeded"], tick)
    engine.go_to(tick)
    engine.step()
    assert next_tick(job) == engine.now + HOUR


def test_b19_a_job_that_is_resumed_runs_at_its_next_tick_only():
    """B19"""
    engine = HandDriven()
    job = make_job(schedule=DAILY)
    job.pause()
    JobState.objects.update(planned_through=engine.now - 3 * DAY)
    job.resume()
    engine.step()
    assert runs_of(job) == []
    assert next_tick(job) == NOON


def test_b14_a_run_that_is_claimed_is_withdrawn_by_an_edit_that_comes_before_it():
    """B14"""
    engine = HandDriven()
    job = due_for(engine, -MINUTE)
    tick = next_tick(job)
    assert len(engine.go_to(tick - SECOND).claim()) == 1
    job.enabled = False
    job.save()
    engine.go_to(tick)
    engine.start()
    assert (engine.execute(), runs_of(job), engine.held) == (0, [], [])


def test_b14_a_run_that_is_claimed_runs_with_the_arguments_of_an_edit_that_comes_before_it():
    """B14"""
    engine = HandDriven()
    job = due_for(engine, -MINUTE)
    tick = next_tick(job)
    engine.go_to(tick - SECOND).claim()
    job.args = [1]
    job.save()
    engine.go_to(tick)
    engine.step()  # finds that what it held is gone
    engine.step()
    (run,) = runs_of(job)
    assert (run.scheduled_for, run.status, run.args) == (tick, "succeeded", [1])


def test_b32_a_change_of_the_projects_zone_runs_nothing(settings: Any):
    """B32"""
    engine = HandDriven()
    jobs = [make_job(f"job {number}", schedule=DAILY) for number in range(10)]
    overdue = engine.now - 3 * DAY
    JobState.objects.update(next_tick_at=overdue, next_run_at=overdue, planned_through=overdue - DAY)
    settings.TIME_ZONE = "America/New_York"
    sweep()
    engine.step()
    assert [runs_of(job) for job in jobs] == [[]] * 10
    assert all(next_tick(job) > engine.now for job in jobs)
