"""Edits: what becomes of the plan, of runs that are claimed, and of ticks that are overdue."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron import events, registry
from django_gocron.engine.replanning import find_changed, find_idle, replan
from django_gocron.engine.settling import save_settled
from django_gocron.engine.sweeping import Sweep
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, OneTime
from django_gocron.testing import FakeClock
from tests.heard import Heard
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
    plan_at,
    record,
    runs_of,
    state_of,
    statuses,
    sweep,
)

pytestmark = pytest.mark.django_db

TEN_MINUTES = Every(minutes=10)
SECOND = timedelta(seconds=1)


def edit(job: Job, **values: Any) -> None:
    for name, value in values.items():
        setattr(job, name, value)
    job.save()


# The manner of running changes, the timing does not

MANNERS: list[dict[str, Any]] = [
    {"args": [1]},
    {"kwargs": {"region": "eu"}},
    {"misfire": "skip"},
    {"misfire_grace": HOUR},
    {"catchup_window": HOUR},
    {"max_catchup": 5},
    {"starting_deadline": HOUR},
    {"overlap": "allow"},
    {"priority": 5},
    {"label": "batch"},
]


@pytest.mark.parametrize("values", MANNERS, ids=str)
def test_another_manner_of_running_keeps_the_tick(values: dict[str, Any]):
    job = make_job(schedule=TEN_MINUTES)
    before = state_of(job)
    edit(job, **values)
    after = state_of(job)
    assert (after.next_tick_at, after.anchor_at) == (before.next_tick_at, before.anchor_at)
    assert after.planned_hash != before.planned_hash
    assert after.version == before.version + 1


@pytest.mark.parametrize("values", MANNERS, ids=str)
def test_a_tick_that_was_claimed_ahead_is_planned_again(values: dict[str, Any]):
    """It would else run in the old manner."""
    job = make_job(schedule=TEN_MINUTES)
    tick = next_tick(job)
    claim(job, tick, following=tick + 10 * MINUTE)
    edit(job, **values)
    assert runs_of(job) == []
    assert next_tick(job) == tick


def test_all_ticks_that_were_claimed_ahead_are_planned_again():
    job = make_job(schedule=Every(seconds=10))
    first = next_tick(job)
    for number in range(3):
        claim(job, first + number * 10 * SECOND, following=first + 30 * SECOND)
    edit(job, args=[1])
    assert (runs_of(job), next_tick(job)) == ([], first)
    assert state_of(job).planned_through < first


def test_the_last_tick_of_a_job_is_planned_again_when_it_was_claimed():
    job = make_job(schedule=OneTime(NOON))
    claim(job, NOON, following=None)
    edit(job, args=[1])
    assert next_tick(job) == NOON


def test_a_jittered_tick_that_waits_for_its_time_is_planned_again():
    job = make_job(schedule=DAILY, jitter=HOUR)
    tick = now() - MINUTE
    claim(job, tick, due_at=now() + MINUTE, following=NOON)
    edit(job, args=[1])
    state = state_of(job)
    assert (runs_of(job), state.next_tick_at) == ([], tick)
    assert state.planned_through < tick


def test_an_overdue_tick_is_not_lost_by_an_edit_of_the_arguments():
    job = make_job(schedule=TEN_MINUTES)
    overdue = now() - HOUR
    plan_at(job, overdue)
    edit(job, args=[1])
    assert next_tick(job) == overdue


@pytest.mark.parametrize("status", [Status.RUNNING, Status.SUCCEEDED, Status.SKIPPED])
def test_a_tick_that_has_begun_or_ended_is_not_planned_again(status: Status):
    job = make_job(schedule=TEN_MINUTES)
    tick = next_tick(job)
    run = claim(job, tick, following=tick + 10 * MINUTE)
    Run.objects.filter(pk=run.pk).update(status=status)
    edit(job, args=[1])
    assert statuses(job) == [status]
    state = state_of(job)
    assert (state.next_tick_at, state.planned_through) == (tick + 10 * MINUTE, tick)


def test_a_run_that_is_due_is_left_to_who_has_claimed_it():
    job = make_job(schedule=TEN_MINUTES)
    tick = now() - SECOND
    claim(job, tick, following=tick + 10 * MINUTE)
    edit(job, args=[1])
    assert (statuses(job), next_tick(job)) == (["claimed"], tick + 10 * MINUTE)


def test_a_retry_that_waits_is_no_tick_to_be_planned():
    job = make_job(schedule=TEN_MINUTES)
    tick = next_tick(job)
    record(job, now() - HOUR, status=Status.FAILED)
    record(job, now() - HOUR, status=Status.QUEUED, reason="retry", attempt=2, available_at=now() + HOUR)
    edit(job, args=[1])
    assert (len(runs_of(job)), next_tick(job)) == (2, tick)


def test_runs_by_hand_are_nobodys_tick():
    job = make_job(schedule=TEN_MINUTES)
    record(job, now() + HOUR, status=Status.QUEUED, origin="manual", scope="m:1")
    edit(job, schedule=DAILY)
    assert len(runs_of(job)) == 1


# The timing changes


@pytest.mark.parametrize(
    "values",
    [
        {"schedule": DAILY},
        {"timezone": "Etc/GMT-3"},
        {"starts_at": LATER},
        {"ends_at": NOON + 30 * DAY},
        {"jitter": MINUTE},
        {"gap": "skip"},
        {"fold": "second"},
        {"max_runs": 10},
        {"skip_until": LATER},
    ],
    ids=str,
)
def test_changed_timing_is_planned_from_now(values: dict[str, Any]):
    job = make_job(schedule=Daily(every=2, at="00:00"))
    plan_at_long_ago = now() - 3 * DAY
    JobState.objects.update(next_tick_at=plan_at_long_ago, next_run_at=plan_at_long_ago)
    edit(job, **values)
    assert next_tick(job) > now()


def test_a_run_that_was_claimed_ahead_is_withdrawn_by_a_new_schedule():
    job = make_job(schedule=TEN_MINUTES)
    claim(job, next_tick(job), following=next_tick(job) + 10 * MINUTE)
    edit(job, schedule=DAILY)
    assert (runs_of(job), next_tick(job)) == ([], NOON)


def test_a_tick_that_kept_its_row_is_not_planned_again_by_a_new_schedule():
    job = make_job(schedule=DAILY)
    run = claim(job, NOON, following=NOON + DAY)
    Run.objects.filter(pk=run.pk).update(status=Status.SKIPPED)
    edit(job, schedule=Cron(f"{NOON:%M} {NOON:%H} * * *"))
    state = state_of(job)
    assert (state.planned_through, state.next_tick_at) == (NOON, NOON + DAY)


def test_a_new_interval_keeps_the_anchor():
    job = make_job(schedule=Every(hours=1))
    anchor = state_of(job).anchor_at
    edit(job, schedule=Every(minutes=50))
    state = state_of(job)
    assert state.anchor_at == anchor
    assert state.next_tick_at == anchor + 50 * MINUTE


def test_a_new_start_moves_the_anchor():
    job = make_job(schedule=Every(hours=1))
    edit(job, starts_at=LATER)
    state = state_of(job)
    assert (state.anchor_at, state.next_tick_at) == (LATER, LATER + HOUR)


def test_a_start_in_the_past_counts_and_is_not_made_up_for():
    start = now() - 90 * MINUTE
    job = make_job(schedule=Every(hours=1), starts_at=start)
    assert next_tick(job) == start + 2 * HOUR


def test_a_tick_at_the_start_of_the_window_is_planned():
    assert next_tick(make_job(schedule=Daily(every=3, at=f"{LATER:%H:%M}"), starts_at=LATER)) == LATER


def test_a_first_run_can_be_immediate_and_comes_once():
    job = make_job(schedule=DAILY, first_run="immediately")
    first = next_tick(job)
    assert abs(now() - first) < MINUTE
    claim(job, first, following=NOON)
    edit(job, jitter=MINUTE)
    assert next_tick(job) == NOON


def test_a_first_run_can_be_at_the_start():
    job = make_job(schedule=DAILY, first_run="at_starts_at", starts_at=LATER + 30 * MINUTE)
    assert next_tick(job) == LATER + 30 * MINUTE


def test_the_jitter_is_part_of_when_a_run_is_due():
    job = make_job(schedule=DAILY, jitter=HOUR)
    state = state_of(job)
    assert state.next_tick_at == NOON
    assert NOON < state.next_run_at < LATER


# Pause, resume, disable, enable


def paused(job: Job, until: datetime | None = None) -> None:
    edit(job, paused_at=now(), paused_until=until)


def test_a_paused_job_has_no_ticks():
    job = make_job(schedule=DAILY)
    paused(job)
    state = state_of(job)
    assert (state.next_tick_at, state.next_run_at, state.finished_at) == (None, None, None)


@pytest.mark.parametrize("stop", ["pause", "disable"])
def test_a_run_that_was_claimed_ahead_is_withdrawn_when_its_job_stops(stop: str):
    job = make_job(schedule=TEN_MINUTES)
    claim(job, next_tick(job), following=next_tick(job) + 10 * MINUTE)
    paused(job) if stop == "pause" else edit(job, enabled=False)
    assert (runs_of(job), state_of(job).next_tick_at) == ([], None)


@pytest.mark.parametrize("stop", ["pause", "disable", "update"])
def test_what_waits_ends_when_a_job_stops_and_what_was_started_by_hand_stays(stop: str):
    job = make_job(schedule=TEN_MINUTES)
    record(job, now() - 5 * MINUTE, status=Status.QUEUED, reason="given_back")
    record(job, now() - 4 * MINUTE, status=Status.CLAIMED)
    record(job, now() - 3 * MINUTE, status=Status.RUNNING)
    record(job, now() - 2 * MINUTE, status=Status.QUEUED, reason="manual", origin="manual", scope="m:1")
    stops: dict[str, Callable[[], object]] = {
        "pause": lambda: paused(job),
        "disable": lambda: edit(job, enabled=False),
        "update": lambda: Job.objects.update(enabled=False),
    }
    stops[stop]()
    assert statuses(job) == ["skipped(paused)", "skipped(paused)", "running", "queued(manual)"]


def test_b19_a_job_that_is_resumed_is_planned_from_now_on():
    """B19"""
    job = make_job(schedule=DAILY)
    paused(job)
    JobState.objects.update(planned_through=now() - 3 * DAY)
    edit(job, paused_at=None)
    assert next_tick(job) == NOON
    assert runs_of(job) == []


def test_b19_a_job_that_is_enabled_again_does_not_run_at_once():
    """B19"""
    job = make_job(schedule=DAILY)
    overdue = now() - 3 * DAY
    JobState.objects.update(next_tick_at=overdue, next_run_at=overdue, planned_through=overdue - DAY)
    edit(job, enabled=False)
    assert state_of(job).next_run_at is None
    edit(job, enabled=True)
    assert next_tick(job) == NOON


def test_a_pause_with_an_end_plans_what_comes_after_it():
    job = make_job(schedule=Every(hours=1))
    anchor = state_of(job).anchor_at
    paused(job, until=anchor + 150 * MINUTE)
    assert next_tick(job) == anchor + 3 * HOUR


def test_a_tick_exactly_at_the_end_of_a_pause_runs():
    job = make_job(schedule=DAILY)
    paused(job, until=NOON)
    assert next_tick(job) == NOON


def test_an_immediate_first_run_waits_for_the_end_of_a_pause():
    job = make_job(schedule=DAILY, first_run="immediately", paused_at=now(), paused_until=LATER)
    assert next_tick(job) == LATER


def test_a_pause_that_is_over_stops_nothing():
    job = make_job(schedule=TEN_MINUTES, paused_at=now() - DAY, paused_until=now() - HOUR)
    record(job, now() - MINUTE, status=Status.QUEUED, reason="given_back")
    edit(job, args=[1])
    assert statuses(job) == ["queued(given_back)"]
    assert next_tick(job) > now()


def test_the_end_of_a_pause_without_a_pause_means_nothing():
    job = make_job(schedule=DAILY, paused_until=NOON + 3 * DAY)
    assert next_tick(job) == NOON


def test_a_paused_job_can_be_edited_and_stays_paused():
    job = make_job(schedule=TEN_MINUTES)
    paused(job)
    edit(job, schedule=DAILY, args=[1])
    assert state_of(job).next_tick_at is None
    edit(job, paused_at=None)
    assert next_tick(job) == NOON


# The end of a job


def test_a_job_without_another_tick_is_finished(django_capture_on_commit_callbacks: Any):
    with Heard(events.JobFinished) as heard, django_capture_on_commit_callbacks(execute=True):
        job = make_job(schedule=DAILY, ends_at=now() + MINUTE)
    state = state_of(job)
    assert (state.next_tick_at, state.next_run_at) == (None, None)
    assert state.finished_at
    assert [event.job_id for event in heard] == [job.pk]


def test_a_finished_job_is_told_once(django_capture_on_commit_callbacks: Any):
    job = make_job(schedule=OneTime(datetime(2020, 1, 1, tzinfo=UTC)))
    finished_at = state_of(job).finished_at
    with Heard(events.JobFinished) as heard, django_capture_on_commit_callbacks(execute=True):
        edit(job, args=[1])
    assert (len(heard), state_of(job).finished_at) == (0, finished_at)


def test_an_event_of_an_edit_that_is_rolled_back_is_not_told():
    with Heard(events.JobFinished) as heard:
        make_job(schedule=DAILY, ends_at=now() + MINUTE)
    assert len(heard) == 0


def test_a_finished_job_goes_on_when_its_end_is_moved():
    job = make_job(schedule=DAILY, ends_at=now() + MINUTE)
    edit(job, ends_at=None)
    state = state_of(job)
    assert (state.next_tick_at, state.finished_at) == (NOON, None)


@pytest.mark.parametrize(("limit", "is_finished"), [(2, True), (3, True), (4, False), (None, False)])
def test_a_job_is_finished_when_it_has_run_as_often_as_it_may(limit: int | None, is_finished: bool):
    job = make_job(schedule=DAILY)
    JobState.objects.update(run_count=3)
    edit(job, max_runs=limit)
    assert (state_of(job).finished_at is not None) is is_finished


def test_raising_the_limit_reopens_a_finished_job():
    job = make_job(schedule=DAILY, max_runs=3)
    JobState.objects.update(run_count=3)
    edit(job, max_runs=2)
    assert state_of(job).finished_at
    edit(job, max_runs=4)
    state = state_of(job)
    assert (state.next_tick_at, state.finished_at) == (NOON, None)


@pytest.mark.parametrize("values", [{"enabled": False}, {"paused_at": NOON}, {"schedule": None}])
def test_a_job_that_stands_still_is_not_finished(values: dict[str, Any]):
    job = make_job(schedule=DAILY, ends_at=now() + MINUTE)
    edit(job, **values)
    assert state_of(job).finished_at is None


# Broken jobs


def _task(region: str = "eu") -> None: ...


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"schedule": {"kind": "lunar"}}, "unknown_kind"),
        ({"schedule": {"kind": "cron", "expression": "0 0 31 2 *"}}, "never_fires"),
        ({"schedule": {"kind": "cron", "expression": "99 * * * *"}}, "minute_out_of_range"),
        ({"schedule": {"kind": "cron", "expression": ""}}, "field_count"),
        ({"timezone": "Mars/X"}, "timezone_unknown"),
        ({"gap": "jump"}, "gap_unknown"),
        ({"fold": "third"}, "fold_unknown"),
        ({"misfire": "panic"}, "policy_unknown"),
        ({"first_run": "never"}, "policy_unknown"),
        ({"kwargs": {"nonsense": 1}}, "arguments_do_not_fit"),
        ({"args": [1, 2, 3]}, "arguments_do_not_fit"),
        ({"args": {}}, "arguments_not_json"),
        ({"kwargs": "x"}, "arguments_not_json"),
        ({"misfire_grace": timedelta(days=100_000)}, "duration_out_of_range"),
        ({"starting_deadline": -HOUR}, "duration_out_of_range"),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["create", "update", "bulk_create"])
def test_b23_a_job_that_cannot_be_planned_says_why_and_stops_no_other(
    way: str, values: dict[str, Any], code: str
):
    """B23 and B24"""
    broken = Job(**{"name": "broken", "task": registry.register(_task).name, "schedule": DAILY, **values})
    good = Job(name="good", task=broken.task, schedule=DAILY)
    if way == "bulk_create":
        Job.objects.bulk_create([broken, good])
    elif way == "update":
        Job(name="broken", task=broken.task, schedule=DAILY).save()
        Job.objects.update(**values)
        good.save()
    else:
        broken.save()
        good.save()
    state = JobState.objects.get(job__name="broken")
    assert (state.broken_code, state.next_tick_at, state.next_run_at) == (code, None, None)
    assert state.broken_text
    good_state = JobState.objects.get(job__name="good")
    assert (good_state.broken_code, good_state.next_tick_at) == ("", NOON)


def test_a_job_that_breaks_is_told(django_capture_on_commit_callbacks: Any):
    with Heard(events.JobBroken) as heard, django_capture_on_commit_callbacks(execute=True):
        make_job(timezone="Mars/X")
    assert [(event.job_name, event.code) for event in heard] == [("job", "timezone_unknown")]


def test_a_job_that_is_repaired_is_planned_from_now_on():
    job = make_job(schedule=DAILY)
    edit(job, kwargs="x")
    assert state_of(job).broken_code
    edit(job, kwargs={})
    state = state_of(job)
    assert (state.broken_code, state.broken_text, state.next_tick_at) == ("", "", NOON)


def test_a_job_that_was_broken_by_the_code_is_looked_at_again_at_the_start():
    job = make_job(schedule=DAILY)
    JobState.objects.update(broken_code="arguments_do_not_fit", next_tick_at=None, next_run_at=None)
    Sweep("default", FakeClock()).start()
    assert next_tick(job) == NOON


def test_the_task_of_a_job_need_not_be_known_here():
    job = Job.objects.create(name="job", task="elsewhere.task", schedule=DAILY, kwargs={"any": "thing"})
    assert (state_of(job).broken_code, next_tick(job)) == ("", NOON)


# Intervals that count from completion


def counting(**values: Any) -> Job:
    return make_job(schedule=Every(hours=1), interval_from_completion=True, **values)


def settle(job: Job, finished_at: datetime) -> None:
    """As the engine does when a run of the job has ended."""
    save_settled("default", {job.pk: (state_of(job), finished_at)})


def test_while_a_run_is_live_no_tick_follows():
    job = counting()
    claim(job, now() - MINUTE, following=None)
    edit(job, schedule=Every(hours=2))
    state = state_of(job)
    assert (state.next_tick_at, state.finished_at) == (None, None)


def test_the_next_tick_follows_the_end_of_the_last():
    job = counting()
    run = claim(job, now() - MINUTE, following=None)
    Run.objects.filter(pk=run.pk).update(status=Status.SUCCEEDED)
    ended = now()
    settle(job, ended)
    assert next_tick(job) == ended + HOUR


def test_the_end_of_a_run_by_hand_does_not_move_the_next_tick():
    job = counting()
    tick = next_tick(job)
    record(job, now() - MINUTE, status=Status.SUCCEEDED, origin="manual", scope="m:1")
    settle(job, now())
    assert next_tick(job) == tick


def test_the_end_of_a_run_by_hand_beside_a_live_one_plans_nothing():
    job = counting()
    claim(job, now() - MINUTE, following=None)
    record(job, now() - MINUTE, status=Status.SUCCEEDED, origin="manual", scope="m:1")
    settle(job, now())
    assert state_of(job).next_tick_at is None


def test_a_job_that_is_paused_meanwhile_has_no_next_tick():
    job = counting()
    JobState.objects.update(next_tick_at=None, next_run_at=None)
    Job._base_manager.update(enabled=False)
    settle(job, now())
    assert state_of(job).next_tick_at is None


def test_a_tick_that_was_claimed_ahead_is_planned_again_too():
    job = counting()
    tick = next_tick(job)
    claim(job, tick, following=None)
    edit(job, args=[1])
    assert (runs_of(job), next_tick(job)) == ([], tick)


# Skipping


def test_ticks_up_to_the_end_of_a_skip_are_passed_over():
    job = make_job(schedule=DAILY)
    edit(job, skip_until=NOON)
    assert next_tick(job) == NOON + DAY
    edit(job, skip_until=None)
    assert next_tick(job) == NOON


# The project's time zone

TOKYO = ZoneInfo("Asia/Tokyo")


def test_b32_a_change_of_the_projects_zone_is_planned_from_now(settings: Any):
    """B32"""
    nine = Daily(at="09:00")
    jobs = [make_job(f"job {number}", schedule=nine) for number in range(10)]
    explicit = make_job("explicit", schedule=nine, timezone="UTC")
    JobState.objects.update(planned_through=now() - DAY)
    before = next_tick(explicit)
    settings.TIME_ZONE = "Asia/Tokyo"
    sweep()
    for job in jobs:
        tick = next_tick(job)
        assert tick.astimezone(TOKYO).strftime("%H:%M") == "09:00"
        assert now() < tick <= now() + DAY
    assert next_tick(explicit) == before
    assert not Run.objects.exists()


@pytest.fixture
def _in_jakarta(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Jakarta"


@pytest.mark.usefixtures("_in_jakarta")
def test_b33_a_job_without_a_zone_has_the_projects():
    """B33"""
    assert f"{next_tick(make_job(schedule=Cron('25 8 * * *'))):%H:%M}" == "01:25"
    own = make_job("own", schedule=Cron("25 8 * * *"), timezone="UTC")
    assert f"{next_tick(own):%H:%M}" == "08:25"


# What edits leave behind, and who finds it


def test_an_edit_past_the_models_is_found_by_the_sweep():
    job = make_job(schedule=DAILY)
    claim(job, NOON, following=NOON + DAY)
    execute_sql("UPDATE gocron_job SET enabled = %s", False)
    sweep()
    assert (runs_of(job), state_of(job).next_tick_at) == ([], None)


def test_the_sweep_finds_nothing_where_nothing_has_changed():
    make_job("daily", schedule=DAILY)
    make_job("by hand", schedule=None)
    make_job("paused", paused_at=now())
    make_job("finished", ends_at=now() + MINUTE)
    make_job("broken", timezone="Mars/X")
    make_job("disabled", enabled=False)
    before = list(JobState.objects.order_by("pk").values())
    sweep()
    sweep()
    assert list(JobState.objects.order_by("pk").values()) == before


def test_a_schedule_that_is_null_in_json_is_no_idle_job():
    make_job(schedule=DAILY)
    execute_sql("UPDATE gocron_job SET schedule = %s", "null")
    sweep()
    assert find_idle("default") == []


def test_an_idle_job_is_planned_from_now_on():
    """Nothing may be left without a next run, whatever went wrong before."""
    job = make_job(schedule=DAILY)
    JobState.objects.update(next_tick_at=None, next_run_at=None, planned_through=now() - DAY)
    assert find_idle("default") == [job.pk]
    sweep()
    assert next_tick(job) == NOON


@pytest.mark.parametrize("status", [Status.QUEUED, Status.CLAIMED, Status.RUNNING])
def test_a_job_with_a_live_run_is_not_idle(status: Status):
    job = make_job(schedule=DAILY)
    record(job, now() - MINUTE, status=status)
    JobState.objects.update(next_tick_at=None, next_run_at=None)
    assert find_idle("default") == []


def test_a_run_by_hand_keeps_no_job_from_being_idle():
    job = make_job(schedule=DAILY)
    record(job, now() - MINUTE, status=Status.RUNNING, origin="manual", scope="m:1")
    JobState.objects.update(next_tick_at=None, next_run_at=None)
    assert find_idle("default") == [job.pk]


def test_a_job_that_has_used_up_its_limit_is_finished_by_the_sweep():
    job = make_job(schedule=DAILY, max_runs=1)
    JobState.objects.update(run_count=1, next_run_at=None)
    sweep()
    assert state_of(job).finished_at


def test_jobs_that_have_changed_are_found_until_they_are_planned():
    job = make_job(schedule=DAILY)
    assert find_changed("default") == []
    Job._base_manager.update(plan_version=7)
    assert find_changed("default") == [job.pk]
    assert replan("default", [job.pk]) == 0
    assert find_changed("default") == []


def test_replanning_answers_how_many_jobs_had_changed():
    job, other = make_job("one", schedule=DAILY), make_job("other", schedule=DAILY)
    Job._base_manager.filter(pk=job.pk).update(args=[1])
    assert replan("default", [job.pk, other.pk]) == 1
    assert replan("default", [job.pk, other.pk], force=True) == 2
    assert replan("default", [10**9]) == 0
    assert replan("default", []) == 0


def test_b46_a_forced_plan_repeats_no_tick():
    """B46"""
    job = make_job(schedule=TEN_MINUTES)
    tick = next_tick(job)
    run = claim(job, tick, following=tick + 10 * MINUTE)
    Run.objects.filter(pk=run.pk).update(status=Status.SUCCEEDED)
    for _ in range(3):
        replan("default", [job.pk], force=True)
    assert next_tick(job) == tick + 10 * MINUTE


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": Every(minutes=7)},
        {"schedule": Cron("*/10 * * * *"), "jitter": timedelta(minutes=5)},
        {"schedule": Daily(at="09:00"), "timezone": "America/New_York"},
        {"schedule": EveryRandom(60, 120)},
        {"schedule": Every(minutes=7), "first_run": "immediately"},
        {"schedule": Every(minutes=7), "interval_from_completion": True},
        {"schedule": OneTime(LATER)},
        {"schedule": None},
    ],
    ids=lambda options: type(options["schedule"]).__name__ + " ".join(map(str, list(options)[1:])),
)
def test_a_start_leaves_plans_alone_that_are_right(options: dict):
    job = make_job(**options)
    before = JobState.objects.values().get(pk=job.pk)
    started = Sweep("default", FakeClock(now()))
    started.start()
    started.step()
    assert JobState.objects.values().get(pk=job.pk) == before
