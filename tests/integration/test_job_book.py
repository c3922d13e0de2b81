"""Jobs that Python callers add, look up, change and remove: through a scheduler, or without one."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.test import RequestFactory

from django_gocron import Daily, Every, OneTime, current_run, events, operations, registry
from django_gocron.exceptions import ConfigurationError, JobError, JobNotFoundError
from django_gocron.models import Job, Run
from django_gocron.models.now import database_now
from django_gocron.scheduler import Scheduler
from tests.handdriven import (
    DATABASE,
    REAL_TRANSACTIONS,
    HandDriven,
    do_nothing,
    make_job,
    next_tick,
    plan_at,
    runs_of,
    state_of,
    statuses,
)
from tests.heard import Heard

pytestmark = REAL_TRANSACTIONS

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
NIL = uuid.UUID(int=0)


@pytest.fixture(autouse=True)
def _own_registry():
    with registry.isolated(inherit=True):
        yield


def send_report(region: str = "eu") -> None: ...


def fails_with(code: str, field: str, work: Any) -> None:
    with pytest.raises(JobError) as caught:
        work()
    assert (caught.value.code, caught.value.field) == (code, field)


# --- adding ----------------------------------------------------------------------------------------


def test_a_job_is_added_and_planned_at_once_with_no_scheduler_running():
    identifier = uuid.uuid4()
    job = operations.add(
        Every(hours=1), send_report, identifier=identifier, tags=["Mail"], timeout=5, kwargs={"region": "us"}
    )
    job.refresh_from_db()
    assert (job.name, job.task, job.identifier) == ("Send report", f"{__name__}.send_report", identifier)
    assert (job.tags, job.timeout, job.kwargs) == (["mail"], 5 * SECOND, {"region": "us"})
    assert job.next_run() == next_tick(job)


def test_a_cron_expression_will_do_and_none_is_by_hand_only():
    assert operations.add("0 9 * * *", send_report, name="one").next_run() is not None
    by_hand = operations.add(None, send_report, name="two")
    assert (by_hand.schedule, by_hand.next_run()) == (None, None)


def test_a_task_can_be_named():
    registry.register(send_report)
    assert operations.add(None, f"{__name__}.send_report").name == "Send report"


def test_what_is_added_runs():
    job = operations.add(Every(seconds=10), send_report)
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).step()
    assert statuses(job) == ["succeeded"]


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        ({"name": ""}, "blank", "name"),
        ({"shape": "x"}, "unknown_option", "shape"),
        ({"timeout": "5 min"}, "bad_option", "timeout"),
        ({"timeout": 0}, "duration_not_positive", "timeout"),
        ({"max_runs": 0}, "zero_max_runs", "max_runs"),
        ({"kwargs": {"planet": "mars"}}, "arguments_do_not_fit", "kwargs"),
        ({"args": [object()]}, "invalid", "args"),
        ({"timezone": "Mars/Base"}, "timezone_unknown", "timezone"),
        ({"locker": "nowhere"}, "locker_unknown", "locker"),
        ({"executor": "process"}, "not_available", "executor"),
        ({"identifier": NIL}, "identifier_nil", "identifier"),
        ({"identifier": "abc"}, "bad_identifier", "identifier"),
        (
            {"starts_at": datetime(2030, 1, 2, tzinfo=UTC), "ends_at": datetime(2030, 1, 1, tzinfo=UTC)},
            "end_not_after_start",
            "ends_at",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_is_refused_with_code_and_field_and_nothing_is_written(options, code, field):
    fails_with(code, field, lambda: operations.add(Every(hours=1), send_report, **options))
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (None, "not_a_function"),
        (3, "not_a_function"),
        (lambda: None, "is_a_lambda"),
        ("no.such.task", "task_unknown"),
    ],
    ids=["none", "a number", "a lambda", "a name that nobody has"],
)
def test_what_is_no_task_is_refused(task, code):
    with pytest.raises(JobError) as caught:
        operations.add(Every(hours=1), task)
    assert caught.value.code == code


def test_a_refusal_names_every_fault():
    with pytest.raises(JobError) as caught:
        operations.add(Every(hours=1), send_report, max_runs=0, timezone="Mars/Base")
    assert "max_runs" in caught.value.message
    assert "timezone" in caught.value.message


@pytest.mark.parametrize("field", ["name", "identifier"])
def test_a_name_and_an_identifier_are_given_once(field):
    first = operations.add(None, send_report)
    values = {"name": "other", field: getattr(first, field)}
    fails_with("unique", field, lambda: operations.add(None, send_report, **values))
    assert Job.objects.count() == 1


def test_the_code_is_the_one_that_forms_have():
    with pytest.raises(JobError) as caught:
        operations.add(Every(hours=1), send_report, max_runs=0)
    job = Job(name="x", task=registry.register(send_report).name, schedule=Every(hours=1), max_runs=0)
    with pytest.raises(ValidationError) as in_a_form:
        job.full_clean()
    assert [fault.code for fault in in_a_form.value.error_dict["max_runs"]] == [caught.value.code]


# --- defaults --------------------------------------------------------------------------------------


def test_defaults_are_merged_in_order_and_the_job_s_own_options_win(settings):
    settings.GOCRON = {"JOB_DEFAULTS": [{"tags": ["a"], "timeout": 1}, {"timeout": 2, "retries": 1}]}
    scheduler = Scheduler(job_defaults=[{"retries": 2}, {"priority": 3}], time_zone="Asia/Tokyo")
    job = scheduler.add(Daily(at="09:00"), send_report, priority=4)
    assert (job.tags, job.timeout, job.retries, job.priority) == (["a"], 2 * SECOND, 2, 4)
    assert job.timezone == "Asia/Tokyo"
    assert job.next_run().hour == 0


def test_tags_of_a_job_replace_those_of_the_defaults():
    scheduler = Scheduler(job_defaults={"tags": ["a", "b"]})
    assert scheduler.add(None, send_report, tags=["c"]).tags == ["c"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"job_defaults": {"shape": 1}}, "job_defaults"),
        ({"job_defaults": {"name": "x"}}, "job_defaults"),
        ({"job_defaults": 3}, "job_defaults"),
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"time_zone": 3}, "time_zone"),
        ({"workers": 0}, "workers"),
        ({"limit": 0}, "limit"),
        ({"limit_mode": "block"}, "limit_mode"),
        ({"stop_timeout": -1}, "stop_timeout"),
        ({"lockers": {"default": None}}, "lockers"),
        ({"elector": 3}, "elector"),
        ({"clock": 3}, "clock"),
        ({"logger": 3}, "logger"),
        ({"monitors": [None]}, "monitors"),
        ({"listeners": 3}, "listeners"),
    ],
    ids=str,
)
def test_an_argument_that_cannot_be_is_refused_by_name(arguments: dict[str, Any], field: str):
    with pytest.raises(ConfigurationError) as caught:
        Scheduler(**arguments)
    assert caught.value.field == field
    assert field in caught.value.message


# --- looking up ------------------------------------------------------------------------------------


def test_jobs_come_in_the_order_of_their_names():
    for name in ("b", "c", "a"):
        make_job(name, schedule=None)
    assert [job.name for job in Scheduler().jobs()] == ["a", "b", "c"]


@pytest.mark.parametrize(("match", "names"), [("any", ["both", "one"]), ("all", ["both"])])
def test_jobs_are_found_by_any_or_all_of_their_tags(match, names):
    make_job("one", schedule=None, tags=["x"])
    make_job("both", schedule=None, tags=["x", "y"])
    make_job("none", schedule=None)
    assert [job.name for job in operations.jobs("X", "y", match=match)] == names
    fails_with("match_unknown", "match", lambda: operations.jobs("x", match="some"))


def test_a_job_is_found_by_itself_its_identifier_or_its_name():
    job = make_job("found", schedule=None)
    assert [operations.get_job(key) for key in (job, job.identifier, "found")] == [job] * 3


@pytest.mark.parametrize("act", ["get_job", "update", "remove"])
@pytest.mark.parametrize("key", ["nobody", NIL, Job(pk=4711, name="gone")], ids=["name", "identifier", "row"])
def test_one_that_is_not_there_is_an_error(act, key):
    with pytest.raises(JobNotFoundError) as caught:
        getattr(operations, act)(key)
    assert caught.value.code == "job_not_found"


def test_a_row_is_known_by_its_identifier_and_not_by_its_number():
    job = make_job("mine", schedule=None)
    stranger = Job(pk=job.pk, name="of another database", identifier=uuid.uuid4())
    with pytest.raises(JobNotFoundError):
        operations.remove(stranger)
    assert operations.get_job("mine") == job


def test_defaults_that_are_passed_are_read():
    assert operations.add(None, send_report, defaults={"timeout": 5}).timeout == 5 * SECOND
    fails_with(
        "unknown_option", "nonsense", lambda: operations.add(None, send_report, defaults={"nonsense": 1})
    )


# --- changing --------------------------------------------------------------------------------------


def test_an_update_changes_what_is_named_and_keeps_the_rest():
    job = make_job(task=send_report, schedule=Every(hours=1), tags=["a"], timeout=5 * SECOND)
    run = job.run_now()
    changed = operations.update(job, schedule=Every(hours=2), kwargs={"region": "us"})
    assert (changed.pk, changed.identifier, changed.tags) == (job.pk, job.identifier, ["a"])
    assert (changed.schedule, changed.kwargs, changed.timeout) == (
        Every(hours=2),
        {"region": "us"},
        5 * SECOND,
    )
    assert Run.objects.get(pk=run.pk).job == changed


def test_an_update_can_take_an_option_back_to_its_default():
    job = make_job(timeout=5 * SECOND, retries=3)
    changed = operations.update(job.name, timeout=None, retries=None)
    assert (changed.timeout, changed.retries) == (None, 0)
    fails_with("unknown_option", "timelimit", lambda: operations.update(job, timelimit=None))


def test_an_option_goes_back_to_the_default_of_the_scheduler():
    scheduler = Scheduler(job_defaults={"retries": 3})
    job = scheduler.add(None, send_report, retries=5)
    assert scheduler.update(job, retries=None).retries == 3


def test_an_update_cannot_take_the_name_of_another():
    make_job("taken", schedule=None)
    make_job("mine", schedule=None)
    fails_with("unique", "name", lambda: operations.update("mine", name="taken"))


def test_an_update_to_by_hand_only_ends_the_schedule():
    job = make_job()
    assert operations.update(job, schedule=None).next_run() is None


def test_an_update_that_cannot_be_leaves_the_job_as_it_is():
    job = make_job(retries=1)
    before = (state_of(job).next_tick_at, Job.objects.values().get(pk=job.pk))
    fails_with("zero_max_runs", "max_runs", lambda: operations.update(job, retries=2, max_runs=0))
    fails_with("task_unknown", "task", lambda: operations.update(job, retries=2, task="no.such"))
    assert (state_of(job).next_tick_at, Job.objects.values().get(pk=job.pk)) == before


def test_an_update_leaves_a_running_run_alone():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).claim()
    engine.start()
    operations.update(job, schedule=Every(hours=2), name="renamed")
    engine.execute()
    engine.finish()
    assert [run.status for run in runs_of(job)] == ["succeeded"]
    assert state_of(job).run_count == 1


def test_an_update_does_not_touch_what_operators_have_decided():
    job = make_job()
    job.pause(reason="no", by="ann")
    changed = operations.update(job, retries=2)
    assert (changed.pause_reason, changed.paused_by) == ("no", "ann")


# --- removing --------------------------------------------------------------------------------------


def test_a_removed_job_has_no_run_to_come_and_keeps_its_history():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).step()
    operations.remove(job)
    engine.clock.advance(60)
    engine.step()
    assert [(run.job, run.job_name, run.status) for run in Run.objects.all()] == [(None, "job", "succeeded")]


@pytest.mark.parametrize(("match", "left"), [("any", ["none"]), ("all", ["none", "one"])])
def test_jobs_are_removed_by_any_or_all_of_their_tags(match, left):
    make_job("one", schedule=None, tags=["x"])
    make_job("both", schedule=None, tags=["x", "y"])
    make_job("none", schedule=None)
    assert operations.remove_by_tags("x", "y", match=match) == 3 - len(left)
    assert [job.name for job in operations.jobs()] == left


def test_no_tags_remove_nothing():
    make_job(schedule=None)
    fails_with("no_tags", "tags", lambda: operations.remove_by_tags(match="all"))
    assert Job.objects.count() == 1


# --- inside a task ---------------------------------------------------------------------------------


def look_at_itself() -> dict[str, Any]:
    run = current_run()
    assert run is not None
    job = operations.get_job(run.job_name)
    return {"is_running": job.is_running(), "run": job.last_run().pk, "next": job.next_run().isoformat()}


def test_a_task_can_ask_about_its_own_job_from_its_first_line():
    job = make_job(task=look_at_itself, schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(tick := next_tick(job)).step()
    [run] = runs_of(job)
    assert run.result == {"is_running": True, "run": run.pk, "next": (tick + 10 * SECOND).isoformat()}


def remove_itself() -> str:
    run = current_run()
    assert run is not None
    operations.remove(run.job_name)
    return "gone"


def test_a_task_can_remove_its_own_job():
    job = make_job(task=remove_itself, schedule=Every(seconds=10))
    with Heard(events.RunSucceeded) as succeeded, Scheduler():
        job.run_now()
        succeeded.wait_for(1)
    assert not Job.objects.exists()
    assert [(run.status, run.result) for run in Run.objects.all()] == [("succeeded", "gone")]


def change_itself() -> None:
    run = current_run()
    assert run is not None
    operations.update(run.job_name, schedule=Every(seconds=20))
    operations.add(None, do_nothing, name="a new one").run_now()


def test_a_task_can_change_its_own_job_and_add_others():
    job = make_job(task=change_itself, schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).step()
    engine.step()
    assert statuses(job) == ["succeeded"]
    assert statuses(Job.objects.get(name="a new one")) == ["succeeded"]
    assert (next_tick(job) - state_of(job).anchor_at) % (20 * SECOND) == timedelta(0)


# --- what a job has done ---------------------------------------------------------------------------


def test_a_job_that_has_not_run_says_so():
    job = make_job()
    facts = (job.last_run(), job.last_run_started_at(), job.last_run_completed_at(), job.is_running())
    assert facts == (None, None, None, False)


@pytest.mark.parametrize("by_hand", [False, True], ids=["a tick", "by hand"])
def test_a_job_tells_of_its_last_run_while_it_runs_and_after(by_hand):
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    if by_hand:
        job.run_now()
        engine.clock.set(database_now(DATABASE))
    else:
        engine.go_to(next_tick(job))
    engine.claim()
    engine.start()
    [run] = runs_of(job)
    assert (job.is_running(), job.last_run(), job.last_run_completed_at()) == (True, run, None)
    engine.clock.advance(3)
    engine.execute()
    engine.finish()
    run.refresh_from_db()
    assert not job.is_running()
    assert (job.last_run_started_at(), job.last_run_completed_at()) == (run.started_at, run.finished_at)


def test_the_last_run_is_remembered_when_its_row_is_pruned():
    job = make_job(schedule=Every(seconds=10))
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).step()
    started_at = runs_of(job)[0].started_at
    Run.objects.all().delete()
    assert (job.last_run(), job.last_run_started_at()) == (None, started_at)


def test_the_next_run_is_none_after_the_last():
    job = make_job(schedule=OneTime(database_now(DATABASE) + 5 * SECOND))
    assert job.next_run() == next_tick(job)
    engine = HandDriven(ahead=timedelta(0))
    engine.go_to(next_tick(job)).step()
    assert job.next_run() is None
    assert statuses(job) == ["succeeded"]


def test_every_question_has_an_async_twin():
    job = make_job()

    async def ask() -> tuple[Any, ...]:
        answers = (
            await job.alast_run(),
            await job.alast_run_started_at(),
            await job.alast_run_completed_at(),
            await job.ais_running(),
        )
        assert await job.anext_run() == (await job.anext_runs(1))[0]
        return answers

    assert async_to_sync(ask)() == (None, None, None, False)


# --- waiting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "waiting"),
    [({"limit": 1}, 4), ({"limit": 10}, 0), ({"limit": 1, "drops": True}, 0)],
    ids=["wait", "room for all", "reschedule"],
)
def test_what_waits_for_a_slot_is_counted(options, waiting):
    engine = HandDriven(**options)
    tick = database_now(DATABASE)
    for number in range(5):
        plan_at(make_job(f"job {number}", schedule=Every(seconds=10)), tick)
    engine.go_to(tick).claim()
    engine.start()
    engine.start()
    assert operations.jobs_waiting_in_queue() == Scheduler().jobs_waiting_in_queue() == waiting


def test_ticks_that_wait_for_their_own_job_are_not():
    job = make_job(schedule=Every(seconds=1), overlap="queue")
    engine = HandDriven(ahead=timedelta(0))
    tick = database_now(DATABASE) - SECOND
    plan_at(job, tick)
    engine.go_to(tick).claim()
    engine.start()
    engine.go_to(tick + SECOND).claim()
    engine.start()
    assert statuses(job) == ["running", "queued(overlap)"]
    assert operations.jobs_waiting_in_queue() == 0


# --- from a view -----------------------------------------------------------------------------------


def test_a_view_can_use_all_of_it():
    def view(request: Any) -> int:
        job = operations.add(Every(hours=1), send_report, name=request.GET["name"])
        operations.update(job, tags=["x"])
        job.run_now(by="a view")
        return operations.remove_by_tags("x")

    assert view(RequestFactory().get("/", {"name": "from a view"})) == 1
