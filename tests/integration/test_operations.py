"""What people and code ask of a job: run it, pause it, skip it, say when it runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from django_gocron import operations
from django_gocron.exceptions import ArgumentsError, OperationError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.schedules import Daily, Every, EveryRandom, OneTime
from tests.handdriven import REAL_TRANSACTIONS
from tests.integration.planned import (
    DAILY,
    DAY,
    HOUR,
    LATER,
    MINUTE,
    NOON,
    claim,
    execute_sql,
    make_job,
    next_tick,
    now,
    run_coroutine,
    runs_of,
    state_of,
    statuses,
    sweep,
)

pytestmark = pytest.mark.django_db


def import_prices(path: str, *, limit: int = 10) -> None: ...


def importing(**values: Any) -> Job:
    return make_job("Import", import_prices, **{"kwargs": {"path": "a.csv"}, **values})


# Run now


def test_a_run_by_hand_is_queued_at_once():
    job = importing()
    before = now()
    run = job.run_now(by="anna")
    assert Run.objects.get() == run
    assert (run.job, run.status, run.reason, run.origin) == (job, "queued", "manual", "manual")
    assert (run.task, run.args, run.kwargs, run.requested_by) == (job.task, [], {"path": "a.csv"}, "anna")
    assert abs(run.scheduled_for - before) < MINUTE
    assert run.available_at == run.scheduled_for
    assert run.attempt == 1
    assert run.scope.startswith("m:")
    assert UUID(run.scope.removeprefix("m:"))


def test_a_run_by_hand_takes_over_what_matters_from_its_job():
    run = importing(label="batch", priority=7, key="shop.import").run_now()
    assert (run.job_name, run.job_key, run.label, run.priority) == ("Import", "shop.import", "batch", 7)


def test_a_run_by_hand_can_have_arguments_of_its_own():
    run = importing().run_now(args=["b.csv"], kwargs={"limit": 5})
    run.refresh_from_db()
    assert (run.args, run.kwargs) == (["b.csv"], {"limit": 5})
    assert Job.objects.get().kwargs == {"path": "a.csv"}


@pytest.mark.parametrize("values", [{"paused_at": NOON}, {"enabled": False}, {"schedule": None}])
def test_a_job_that_stands_still_can_be_run_by_hand(values: dict[str, Any]):
    assert importing(**values).run_now().status == "queued"


def test_a_finished_job_can_be_run_by_hand():
    assert importing(ends_at=now() + MINUTE, schedule=DAILY).run_now().status == "queued"


def test_b10_runs_by_hand_do_not_move_the_next_run():
    """B10"""
    job = importing(schedule=DAILY)
    before = state_of(job)
    for _ in range(3):
        job.run_now()
    after = state_of(job)
    assert (after.next_tick_at, after.next_run_at, after.version) == (
        NOON,
        before.next_run_at,
        before.version,
    )
    assert len(runs_of(job)) == 3


def test_runs_by_hand_may_not_overlap_unless_forced():
    job = importing()
    assert job.run_now().lock_key == str(job.pk)
    assert job.run_now(force=True).lock_key == ""


def test_runs_of_a_job_that_may_overlap_hold_no_lock():
    assert importing(overlap="allow").run_now().lock_key == ""


def test_the_same_key_gives_the_same_run():
    job = importing()
    first = job.run_now(idempotency_key="press-1")
    again = job.run_now(idempotency_key="press-1", by="somebody else")
    assert (again.pk, again.requested_by) == (first.pk, "")
    assert job.run_now(idempotency_key="press-2").pk != first.pk
    assert len(runs_of(job)) == 2


def test_the_same_key_gives_the_same_run_after_it_has_ended():
    job = importing()
    first = job.run_now(idempotency_key="press-1")
    Run.objects.update(status=Status.SUCCEEDED)
    again = job.run_now(idempotency_key="press-1")
    assert (again.pk, again.status) == (first.pk, "succeeded")


def test_a_key_is_one_jobs_own():
    one, other = importing(), make_job("other")
    assert one.run_now(idempotency_key="k").pk != other.run_now(idempotency_key="k").pk


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ({"kwargs": {}}, "arguments_do_not_fit", "kwargs"),
        ({"kwargs": {"path": "b", "nonsense": 1}}, "arguments_do_not_fit", "kwargs"),
        ({"args": [1, 2]}, "arguments_do_not_fit", "args"),
        ({"kwargs": {"path": b"not text"}}, "arguments_not_json", "kwargs"),
        ({"kwargs": {"path": float("inf")}}, "arguments_not_json", "kwargs"),
        ({"args": "b.csv"}, "arguments_not_json", "args"),
        ({"kwargs": ["b.csv"]}, "arguments_not_json", "kwargs"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], code: str, field: str):
    with pytest.raises(ArgumentsError) as refused:
        importing().run_now(**arguments)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert not Run.objects.exists()


@pytest.mark.parametrize("column", ["args", "kwargs"])
def test_arguments_that_cannot_be_read_are_refused(column: str):
    job = importing()
    execute_sql(f"UPDATE gocron_job SET {column} = %s", "[" + "1" * 5000 + "]")
    job.refresh_from_db()
    with pytest.raises(ArgumentsError) as refused:
        job.run_now()
    assert (refused.value.code, refused.value.field) == ("arguments_not_json", column)
    given: dict[str, Any] = {"args": ["a.csv"], "kwargs": {}}
    assert job.run_now(**given).args == ["a.csv"]


def test_a_run_of_a_task_that_is_not_known_here_waits_for_who_knows_it():
    job = Job.objects.create(name="job", task="elsewhere.task", kwargs={"any": "thing"})
    assert job.run_now().status == "queued"
    with pytest.raises(ArgumentsError):
        job.run_now(kwargs={"any": object()})


def test_a_job_that_is_gone_cannot_be_run_nor_skipped():
    job = importing(schedule=DAILY)
    Job.objects.all().delete()
    for action in (job.run_now, job.skip_next):
        with pytest.raises(OperationError) as refused:
            action()
        assert refused.value.code == "job_deleted"
    assert not Run.objects.exists()


def test_a_job_that_the_sweep_has_not_seen_can_be_run():
    job = importing()
    JobState.objects.all().delete()
    assert job.run_now(idempotency_key="k").pk == job.run_now(idempotency_key="k").pk


def test_a_name_that_is_too_long_is_cut():
    assert importing().run_now(by="x" * 300).requested_by == "x" * 200


# Pause and resume


def test_a_pause_says_since_when_by_whom_and_why():
    job = make_job(schedule=DAILY)
    job.pause("database maintenance", by="anna")
    job.refresh_from_db()
    assert (job.paused_by, job.pause_reason, job.paused_until) == ("anna", "database maintenance", None)
    assert job.paused_at
    assert abs(job.paused_at - now()) < MINUTE
    assert state_of(job).next_run_at is None


def test_a_pause_can_have_an_end():
    job = make_job(schedule=DAILY)
    job.pause(until=NOON + MINUTE)
    assert next_tick(job) == NOON + DAY
    job.refresh_from_db()
    assert job.paused_until == NOON + MINUTE


def test_a_pause_cannot_end_before_it_begins():
    job = make_job(schedule=DAILY)
    with pytest.raises(OperationError) as refused:
        job.pause(until=now() - timedelta(seconds=5))
    assert (refused.value.code, refused.value.field) == ("until_not_later", "until")
    assert next_tick(job) == NOON


def test_a_reason_can_be_too_long():
    job = make_job()
    job.pause("x" * 200)
    with pytest.raises(OperationError) as refused:
        job.pause("x" * 201)
    assert (refused.value.code, refused.value.field) == ("reason_too_long", "reason")


def test_a_pause_can_be_changed():
    job = make_job(schedule=DAILY)
    job.pause("first")
    job.pause("second", until=LATER)
    assert next_tick(job) == NOON + DAY
    job.refresh_from_db()
    assert job.pause_reason == "second"


def test_a_resumed_job_has_no_trace_of_its_pause():
    job = make_job(schedule=DAILY)
    job.pause("why", until=LATER, by="anna")
    job.resume()
    job.refresh_from_db()
    assert (job.paused_at, job.paused_until, job.paused_by, job.pause_reason) == (None, None, "", "")
    assert next_tick(job) == NOON


def test_resuming_a_job_that_is_not_paused_changes_nothing():
    job = make_job(schedule=DAILY)
    before = state_of(job)
    job.resume()
    after = state_of(job)
    assert (after.next_tick_at, after.version) == (before.next_tick_at, before.version)


def test_pausing_a_stale_row_does_not_write_its_other_fields():
    job = make_job(schedule=Every(60))
    Job.objects.update(schedule=DAILY, description="edited by somebody else")
    job.pause()
    job.resume()
    job.refresh_from_db()
    assert (job.schedule, job.description) == (DAILY, "edited by somebody else")


# Skip the next run


def test_the_next_run_is_skipped_and_recorded():
    job = make_job(schedule=DAILY)
    assert job.skip_next(by="anna") == NOON
    (run,) = runs_of(job)
    assert (run.scheduled_for, run.status, run.reason, run.requested_by) == (
        NOON,
        "skipped",
        "by_user",
        "anna",
    )
    assert run.finished_at
    assert next_tick(job) == NOON + DAY


def test_skipping_again_skips_the_one_after():
    job = make_job(schedule=DAILY)
    assert [job.skip_next(), job.skip_next()] == [NOON, NOON + DAY]
    assert statuses(job) == ["skipped(by_user)"] * 2
    assert next_tick(job) == NOON + 2 * DAY


def test_a_run_that_was_claimed_ahead_is_skipped():
    job = make_job(schedule=Every(minutes=10))
    tick = next_tick(job)
    claim(job, tick, following=tick + 10 * MINUTE)
    assert job.skip_next() == tick
    assert statuses(job) == ["skipped(by_user)"]
    assert next_tick(job) == tick + 10 * MINUTE


def test_of_several_that_were_claimed_ahead_only_the_first_is_skipped():
    job = make_job(schedule=Every(minutes=10))
    tick = next_tick(job)
    for number in range(3):
        claim(job, tick + number * 10 * MINUTE, following=tick + 30 * MINUTE)
    assert job.skip_next() == tick
    assert (statuses(job), next_tick(job)) == (["skipped(by_user)"], tick + 10 * MINUTE)


def test_an_immediate_first_run_can_be_skipped():
    job = make_job(schedule=DAILY, first_run="immediately")
    first = next_tick(job)
    assert job.skip_next() == first
    assert next_tick(job) == NOON
    Job.objects.update(args=[])
    assert next_tick(job) == NOON


def test_a_random_tick_can_be_skipped():
    job = make_job(schedule=EveryRandom(HOUR, 2 * HOUR))
    first, second = job.next_runs(2)
    assert job.skip_next() == first
    assert job.next_runs(1) == [second]


@pytest.mark.parametrize(
    "values",
    [
        {"schedule": None},
        {"enabled": False},
        {"paused_at": NOON},
        {"timezone": "Mars/X"},
        {"ends_at": NOON - 11 * HOUR},
    ],
    ids=str,
)
def test_where_no_run_is_to_come_none_is_skipped(values: dict[str, Any]):
    job = make_job(**{"schedule": DAILY, **values})
    with pytest.raises(OperationError) as refused:
        job.skip_next()
    assert refused.value.code == "no_next_run"
    job.refresh_from_db()
    assert job.skip_until is None
    assert runs_of(job) == []


def test_skipping_the_last_run_finishes_the_job():
    job = make_job(schedule=OneTime(NOON))
    job.skip_next()
    assert state_of(job).finished_at


# The next runs


def test_says_when_a_job_runs_next():
    assert make_job(schedule=DAILY).next_runs(3) == [NOON, NOON + DAY, NOON + 2 * DAY]


def test_says_five_runs_unless_told_otherwise():
    assert len(make_job(schedule=DAILY).next_runs()) == 5
    assert make_job("other", schedule=DAILY).next_runs(0) == []


def test_says_the_runs_with_their_jitter():
    job = make_job(schedule=DAILY, jitter=HOUR)
    first, second = job.next_runs(2)
    assert first == state_of(job).next_run_at
    assert NOON < first < LATER < second


def test_says_fewer_runs_when_the_job_ends_before():
    assert make_job(schedule=DAILY, ends_at=NOON + DAY).next_runs() == [NOON, NOON + DAY]
    assert make_job("once", schedule=OneTime([NOON, LATER])).next_runs() == [NOON, LATER]


def test_says_no_more_runs_than_the_job_may_have():
    job = make_job(schedule=DAILY, max_runs=3)
    JobState.objects.update(run_count=1)
    assert job.next_runs() == [NOON, NOON + DAY]


def test_a_run_that_was_claimed_ahead_is_still_to_come():
    job = make_job(schedule=Every(minutes=10))
    tick = next_tick(job)
    claim(job, tick, following=tick + 10 * MINUTE)
    assert job.next_runs(2) == [tick, tick + 10 * MINUTE]


def test_a_run_by_hand_is_not_what_is_asked_for():
    job = make_job(schedule=DAILY)
    job.run_now()
    assert job.next_runs(1) == [NOON]


@pytest.mark.parametrize(
    "values",
    [
        {"schedule": None},
        {"enabled": False},
        {"paused_at": NOON},
        {"timezone": "Mars/X"},
        {"ends_at": NOON - 11 * HOUR},
    ],
    ids=str,
)
def test_a_job_without_ticks_has_no_next_runs(values: dict[str, Any]):
    assert make_job(**{"schedule": DAILY, **values}).next_runs() == []


def test_a_job_that_the_sweep_has_not_seen_has_no_next_runs_yet():
    job = make_job(schedule=DAILY)
    JobState.objects.all().delete()
    assert job.next_runs() == []
    sweep()
    assert job.next_runs(1) == [NOON]


def test_next_runs_of_a_pause_with_an_end_come_after_it():
    job = make_job(schedule=DAILY)
    job.pause(until=LATER)
    assert job.next_runs(1) == [NOON + DAY]


# Asynchronously


@REAL_TRANSACTIONS
def test_every_action_has_an_asynchronous_twin():
    job = make_job(schedule=DAILY)

    async def act() -> tuple[Run, datetime, list[datetime]]:
        run = await job.arun_now(by="anna")
        await job.apause("why", until=None, by="anna")
        await job.aresume()
        skipped = await job.askip_next()
        return run, skipped, await job.anext_runs(n=1)

    run, skipped, upcoming = run_coroutine(act())
    assert (run.requested_by, skipped, upcoming) == ("anna", NOON, [NOON + DAY])
    assert statuses(job) == ["queued(manual)", "skipped(by_user)"]


def test_row_methods_are_the_operations():
    job = make_job(schedule=Daily(at="09:00"))
    operations.pause(job, reason="why")
    assert Job.objects.get().pause_reason == "why"
    operations.resume(job)
    assert operations.next_runs(job, 1) == job.next_runs(1)
