"""Claiming: which ticks and queued runs an instance takes, and what the database then says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F

from django_gocron import Every, OneTime, events, registry
from django_gocron.models import Instance, Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now
from django_gocron.schedules import Schedule
from tests.elsewhere import open_transaction
from tests.handdriven import (
    DATABASE,
    LEASE,
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

SECOND = timedelta(seconds=1)
TEN_SECONDS = Every(seconds=10)


def test_claims_a_tick_up_to_a_second_ahead_of_its_instant():
    job = make_job(schedule=TEN_SECONDS)
    engine = HandDriven()
    engine.go_to(next_tick(job) - SECOND)
    [entry] = engine.claim()
    assert (entry.job_id, entry.due_at - engine.now) == (job.pk, SECOND)
    assert statuses(job) == ["claimed"]


def test_leaves_a_tick_that_is_further_away():
    job = make_job(schedule=TEN_SECONDS)
    engine = HandDriven()
    engine.go_to(next_tick(job) - timedelta(seconds=1.1))
    assert engine.claim() == []
    assert runs_of(job) == []


def test_claims_every_tick_of_a_quick_job_that_is_within_reach():
    job = make_job(schedule=Every(seconds=0.25))
    first = next_tick(job)
    engine = HandDriven()
    engine.go_to(first - timedelta(seconds=0.1))
    engine.claim()
    assert [run.scheduled_for - first for run in runs_of(job)] == [
        timedelta(seconds=0.25 * k) for k in range(4)
    ]
    assert next_tick(job) == first + SECOND


def test_a_claim_advances_the_state_in_the_same_stroke():
    job = make_job(schedule=TEN_SECONDS)
    tick = next_tick(job)
    HandDriven().go_to(tick).claim()
    state = state_of(job)
    assert (state.next_tick_at, state.next_run_at) == (tick + 10 * SECOND, tick + 10 * SECOND)
    assert state.planned_through == tick


def test_a_claimed_run_says_whose_it_is_and_what_it_will_run():
    job = make_job(schedule=TEN_SECONDS, args=[1], kwargs={"two": 2}, label="", priority=7)
    engine = HandDriven().go_to(next_tick(job))
    [entry] = engine.claim()
    [run] = runs_of(job)
    assert (run.instance_id, run.claim_id) == (engine.lease.instance_id, entry.claim_id)
    assert (run.job_name, run.task, run.args, run.kwargs) == ("job", job.task, [1], {"two": 2})
    assert (run.origin, run.attempt, run.scope, run.priority) == ("schedule", 1, "", 7)
    assert run.lock_key == str(job.pk)
    assert run.held_lock is None


def test_what_a_task_does_to_its_arguments_reaches_no_other_run():
    job = make_job(schedule=Every(seconds=0.25), args=[["shared?"]])
    engine = HandDriven().go_to(next_tick(job))
    first, *others = engine.claim()
    first.args[0].append("no")
    assert others
    assert {str(entry.args) for entry in others} == {"[['shared?']]"}


def test_a_job_that_may_overlap_has_no_lock_to_take():
    job = make_job(schedule=TEN_SECONDS, overlap="allow")
    HandDriven().go_to(next_tick(job)).claim()
    assert runs_of(job)[0].lock_key == ""


def test_two_instances_one_after_the_other_claim_a_tick_once():
    job = make_job(schedule=TEN_SECONDS)
    first, second = HandDriven(), HandDriven()
    for engine in (first, second):
        engine.go_to(next_tick(job) - SECOND)
    assert len(first.claim()) == 1
    assert second.claim() == []


def test_a_tick_that_has_a_row_gets_no_second_one():
    job = make_job(schedule=TEN_SECONDS)
    tick = next_tick(job)
    Run.objects.create(job=job, scheduled_for=tick, status=Status.SUCCEEDED)
    engine = HandDriven().go_to(tick)
    assert engine.claim() == []
    assert statuses(job) == ["succeeded"]
    assert next_tick(job) == tick + 10 * SECOND


def test_claims_nothing_once_the_lease_is_over_in_the_database():
    job = make_job(schedule=TEN_SECONDS)
    engine = HandDriven().go_to(next_tick(job))
    engine.expire()
    assert engine.lease.is_trusted
    assert engine.claim() == []
    assert runs_of(job) == []


def test_claims_nothing_once_it_has_been_declared_dead():
    job = make_job(schedule=TEN_SECONDS)
    engine = HandDriven().go_to(next_tick(job))
    Instance.objects.filter(pk=engine.lease.instance_id).update(reaped_at=database_now(DATABASE))
    assert engine.claim() == []


def test_claims_nothing_past_the_trust_in_its_own_lease():
    job = make_job(schedule=TEN_SECONDS)
    engine = HandDriven().go_to(next_tick(job))
    engine.clock.advance(0.9 * LEASE)
    assert engine.claim() == []


def test_claims_no_more_jobs_than_it_has_room_for():
    jobs = [make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(5)]
    engine = HandDriven(workers=1).go_to(max(next_tick(job) for job in jobs))
    engine.parts.loop._capacity._average = 10.0
    assert len(engine.claim()) == 1


def test_the_tick_that_is_due_first_is_claimed_first():
    later, sooner = make_job("later", schedule=Every(seconds=11)), make_job("sooner", schedule=TEN_SECONDS)
    engine = HandDriven(workers=1).go_to(next_tick(later))
    engine.parts.loop._capacity._average = 10.0
    assert [entry.job_id for entry in engine.claim()] == [sooner.pk]


def test_a_task_that_this_process_does_not_know_is_left_alone():
    job = Job.objects.create(name="unknown", task="shop.jobs.not_here", schedule=TEN_SECONDS)
    tick = next_tick(job)
    engine = HandDriven().go_to(tick)
    assert engine.claim() == []
    assert (runs_of(job), next_tick(job), state_of(job).broken_code) == ([], tick, "")


def test_unknown_tasks_do_not_stand_in_the_way_of_known_ones():
    for number in range(20):
        Job.objects.create(name=f"unknown {number}", task="shop.jobs.not_here", schedule=Every(seconds=5))
    job = make_job(schedule=TEN_SECONDS)
    engine = HandDriven(workers=1).go_to(next_tick(job))
    assert [entry.job_id for entry in engine.claim()] == [job.pk]


def test_a_foreign_label_is_left_alone():
    job = make_job(schedule=TEN_SECONDS, label="gpu")
    engine = HandDriven(labels=["mail"]).go_to(next_tick(job))
    assert engine.claim() == []


def test_an_instance_serves_its_labels_and_the_jobs_that_have_none():
    plain, labelled = (
        make_job("plain", schedule=TEN_SECONDS),
        make_job("labelled", schedule=TEN_SECONDS, label="gpu"),
    )
    engine = HandDriven(labels=["gpu"]).go_to(next_tick(labelled))
    assert {entry.job_id for entry in engine.claim()} == {plain.pk, labelled.pk}


def test_an_interval_counts_from_the_completion_of_the_run_where_the_job_says_so():
    job = make_job(schedule=TEN_SECONDS, interval_from_completion=True)
    engine = HandDriven().go_to(next_tick(job))
    engine.claim()
    assert state_of(job).next_run_at is None
    engine.start()
    engine.clock.advance(7)
    engine.execute()
    ended = engine.now
    engine.finish()
    assert next_tick(job) == ended + 10 * SECOND


def test_a_one_off_is_finished_by_its_claim_and_runs_once():
    at = database_now(DATABASE) + 5 * SECOND
    job = make_job(schedule=OneTime(at))
    engine = HandDriven().go_to(at)
    with Heard(events.JobFinished) as heard:
        engine.step()
        engine.go_to(at + 10 * SECOND).step()
    assert statuses(job) == ["succeeded"]
    assert [event.job_id for event in heard] == [job.pk]
    assert state_of(job).finished_at is not None


def test_a_job_limited_to_three_runs_has_three_and_is_finished():
    job = make_job(schedule=TEN_SECONDS, max_runs=3)
    engine = HandDriven()
    for _ in range(3):
        engine.go_to(next_tick(job)).step()
    engine.clock.advance(10)
    assert engine.step() == 0
    engine.parts.sweep.step()
    assert statuses(job) == ["succeeded"] * 3
    assert (state_of(job).run_count, state_of(job).finished_at is None) == (3, False)


def test_no_more_is_claimed_ahead_than_the_limit_of_runs_leaves():
    job = make_job(schedule=Every(seconds=0.2), max_runs=2)
    engine = HandDriven().go_to(next_tick(job))
    assert len(engine.claim()) == 2
    assert engine.claim() == engine.held
    assert statuses(job) == ["claimed", "claimed"]


def test_raising_the_limit_of_runs_reopens_the_job():
    job = make_job(schedule=TEN_SECONDS, max_runs=1)
    engine = HandDriven().go_to(next_tick(job))
    engine.step()
    engine.parts.sweep.step()
    assert state_of(job).finished_at is not None
    Job.objects.filter(pk=job.pk).update(max_runs=2)
    assert state_of(job).finished_at is None
    engine.go_to(next_tick(job)).step()
    assert statuses(job) == ["succeeded", "succeeded"]


# --- ticks found overdue ---------------------------------------------------------------------------


def overdue(ticks: int, **values: object) -> Job:
    """A job of every ten seconds whose last ``ticks`` ticks nobody has claimed; the latest was a second ago."""
    job = make_job(schedule=TEN_SECONDS, **values)
    plan_at(job, database_now(DATABASE) - SECOND - (ticks - 1) * 10 * SECOND)
    return job


def test_the_latest_of_several_overdue_ticks_runs_and_one_row_counts_the_others():
    job = overdue(5)
    first = next_tick(job)
    engine = HandDriven()
    with Heard(events.TicksCoalesced) as heard:
        [entry] = engine.claim()
    [coalesced, latest] = runs_of(job)
    assert (coalesced.status, coalesced.count) == ("coalesced", 4)
    assert (coalesced.scheduled_for, coalesced.window_end) == (first, first + 30 * SECOND)
    assert (latest.status, latest.scheduled_for) == ("claimed", first + 40 * SECOND)
    assert entry.missed == (first, first + 30 * SECOND, 4)
    assert [event.count for event in heard] == [4]


def test_the_run_that_stands_for_missed_ticks_is_the_overdue_one_also_where_more_are_within_reach():
    job = make_job(schedule=Every(seconds=0.5))
    plan_at(job, database_now(DATABASE) - timedelta(seconds=5.25))
    engine = HandDriven()
    entries = engine.claim()
    standing = [entry for entry in entries if entry.missed]
    assert len(entries) > 1
    assert [entry.scheduled_for for entry in standing] == [min(entry.scheduled_for for entry in entries)]


def test_overdue_ticks_that_are_all_past_their_starting_deadline_are_rows_and_none_runs():
    job = overdue(5, starting_deadline=timedelta(milliseconds=500))
    assert HandDriven().claim() == []
    assert statuses(job) == ["coalesced", "missed(deadline)"]


def test_all_overdue_ticks_run_oldest_first_where_the_job_says_so():
    job = overdue(4, misfire="run_all", max_catchup=3)
    engine = HandDriven()
    with Heard(events.TicksMissed) as heard:
        entries = engine.claim()
    assert statuses(job) == ["missed(cap)", "claimed", "claimed", "claimed"]
    assert [entry.scheduled_for for entry in entries] == sorted(entry.scheduled_for for entry in entries)
    assert [(event.count, event.reason) for event in heard] == [(1, "cap")]


def test_ticks_later_than_the_grace_are_missed_where_the_job_says_so():
    job = overdue(4, misfire="skip", misfire_grace=timedelta(seconds=15))
    HandDriven().claim()
    rows = runs_of(job)
    assert [(run.status, run.reason, run.count) for run in rows] == [
        ("missed", "grace", 2),
        ("claimed", "", 1),
        ("claimed", "", 1),
    ]


def test_ten_years_of_missed_seconds_are_one_row():
    job = make_job(schedule=Every(seconds=1))
    plan_at(job, database_now(DATABASE) - timedelta(days=3650))
    HandDriven().claim()
    [coalesced, *_claimed] = runs_of(job)
    assert coalesced.count == pytest.approx(3650 * 86400, abs=3)


# --- one bad row never stops the others ------------------------------------------------------------


@dataclass(frozen=True)
class Moody(Schedule, kind="moody"):
    """Of a third party, with a fault in it."""

    def next_after(self, moment, **terms):
        raise ZeroDivisionError("not today")


def test_what_the_schedule_of_one_job_raises_breaks_that_job_alone():
    good, bad = make_job("good", schedule=TEN_SECONDS), make_job("bad", schedule=TEN_SECONDS)
    write("schedule", '{"kind": "moody", "version": 1}', bad.pk)
    engine = HandDriven().go_to(next_tick(bad))
    with Heard(events.JobBroken) as heard:
        assert {entry.job_id for entry in engine.claim()} == {good.pk}
    assert [event.job_id for event in heard] == [bad.pk]
    state = state_of(bad)
    assert (state.broken_code, state.broken_text) == (
        "planning_failed",
        "Planning raised ZeroDivisionError: not today",
    )


def test_a_state_row_that_somebody_else_has_written_is_planned_anew():
    good, touched = make_job("good", schedule=TEN_SECONDS), make_job("touched", schedule=TEN_SECONDS)
    engine = HandDriven().go_to(next_tick(good))
    JobState.objects.filter(pk=touched.pk).update(next_tick_at=None, anchor_at=None, next_run_at=engine.now)
    assert {entry.job_id for entry in engine.claim()} == {good.pk}
    engine.parts.sweep.step()
    assert next_tick(touched) > database_now(DATABASE)


def write(column: str, value: str, job_id: int) -> None:
    """Past Django, as another system might."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE gocron_job SET {column} = %s WHERE id = %s", [value, job_id])


def test_of_a_thousand_rows_four_are_broken_and_say_why_and_the_others_run_on_time():
    start = database_now(DATABASE) - timedelta(minutes=30)
    task, hourly = registry.register(take_one).name, Every(hours=1)
    Job.objects.bulk_create(
        Job(name=f"job {number:04}", task=task, schedule=hourly, starts_at=start) for number in range(1000)
    )
    ids = list(Job.objects.order_by("name").values_list("pk", flat=True))
    write("schedule", '{"kind": "every", "interval": "soon"}', ids[100])
    write("timezone", "Mars/Olympus", ids[300])
    write("args", '["too", "many"]', ids[500])
    write("task", "shop.jobs.not_here", ids[700])
    engine = HandDriven(workers=1000).go_to(start + hourly.interval)
    engine.parts.sweep.step()
    while engine.claim():
        engine.start()
        engine.execute()
        while engine.finish():
            pass
    ran = Run.objects.filter(
        status="succeeded", scheduled_for=start + hourly.interval, started_at=F("scheduled_for")
    )
    assert set(ran.values_list("job_id", flat=True)) == set(ids) - {ids[100], ids[300], ids[500], ids[700]}
    assert dict(JobState.objects.exclude(broken_code="").values_list("pk", "broken_code")) == {
        ids[100]: "duration_unreadable",
        ids[300]: "timezone_unknown",
        ids[500]: "arguments_do_not_fit",
    }
    assert not Run.objects.filter(job=ids[700]).exists()
    assert "shop.jobs.not_here" not in engine.row.tasks


def take_one(one: int = 0) -> None: ...


# --- the queue -------------------------------------------------------------------------------------


def test_a_run_by_hand_is_claimed_when_a_slot_is_free():
    run = make_job(schedule=None).run_now()
    engine = HandDriven()
    [entry] = engine.claim()
    assert (entry.run_id, entry.origin) == (run.pk, "manual")
    run.refresh_from_db()
    assert (run.status, run.instance_id) == ("claimed", engine.lease.instance_id)


def test_no_queued_run_is_claimed_without_a_free_slot():
    jobs = [make_job(f"job {number}", schedule=None) for number in range(3)]
    for job in jobs:
        job.run_now()
    engine = HandDriven(workers=2)
    assert len(engine.claim()) == 2
    assert len(engine.claim()) == 2
    assert Run.objects.filter(status=Status.QUEUED).count() == 1


def test_of_the_queued_runs_of_a_job_the_oldest_is_claimed_alone():
    job = make_job(schedule=None)
    first, second = job.run_now(), job.run_now()
    engine = HandDriven()
    assert [entry.run_id for entry in engine.claim()] == [first.pk]
    engine.start()
    assert engine.claim() == []
    engine.execute()
    engine.finish()
    assert [entry.run_id for entry in engine.claim()] == [second.pk]


def test_queued_runs_that_may_overlap_are_claimed_together():
    job = make_job(schedule=None, overlap="allow")
    job.run_now()
    job.run_now()
    assert len(HandDriven().claim()) == 2


def test_a_forced_run_by_hand_is_claimed_beside_a_running_one():
    job = make_job(schedule=None)
    job.run_now()
    engine = HandDriven()
    engine.claim()
    engine.start()
    forced = job.run_now(force=True)
    engine.go_to(database_now(DATABASE))
    assert [entry.run_id for entry in engine.claim()] == [forced.pk]


def test_the_queue_goes_by_priority_then_by_age():
    older, younger = make_job("older", schedule=None).run_now(), make_job("younger", schedule=None).run_now()
    urgent = make_job("urgent", schedule=None, priority=5).run_now()
    assert {entry.run_id for entry in HandDriven(workers=2).claim()} == {urgent.pk, older.pk}
    assert younger.status == "queued"


def test_a_queued_run_of_an_unknown_task_stays_in_the_queue():
    job = Job.objects.create(name="unknown", task="shop.jobs.not_here")
    Run.objects.create(job=job, scheduled_for=database_now(DATABASE), available_at=database_now(DATABASE))
    assert HandDriven().claim() == []
    assert statuses(job) == ["queued"]


@pytest.mark.only_on("postgresql", "mariadb")
def test_an_open_edit_by_sql_keeps_no_job_from_being_claimed():
    jobs = [make_job(f"job {number}", schedule=TEN_SECONDS) for number in range(3)]
    engine = HandDriven().go_to(max(map(next_tick, jobs)))

    def edit() -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE gocron_job SET description = 'x' WHERE id = %s", [jobs[0].pk])

    with open_transaction(edit):
        assert len(engine.claim()) == 3
        assert len(engine.start()) == 3


def test_runs_that_are_claimed_or_queued_already_count_against_the_limit():
    job = make_job(schedule=TEN_SECONDS, max_runs=3)
    first = HandDriven(name="first").go_to(next_tick(job))
    first.claim()
    second = HandDriven(name="second")
    for _ in range(5):
        second.go_to(first.now + timedelta(seconds=10))
        second.claim()
        first.go_to(second.now)
    assert Run.objects.count() == 3


@pytest.mark.parametrize("args", [{"an": "object"}, "text", 7])
def test_a_job_whose_arguments_are_no_list_is_broken_and_not_run(args: object):
    job = make_job(schedule=TEN_SECONDS)
    other = make_job("other", schedule=TEN_SECONDS)
    engine = HandDriven().go_to(max(next_tick(job), next_tick(other)))
    Job._base_manager.filter(pk=job.pk).update(args=args)
    engine.step()
    assert (statuses(job), statuses(other)) == ([], ["succeeded"])
    assert JobState.objects.get(pk=job.pk).broken_code == "arguments_not_json"
