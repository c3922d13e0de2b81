from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test.utils import CaptureQueriesContext

from django_gocron import Cron, Daily, Every, job, registry
from django_gocron.declarations import overridden_fields, reset_to_code, sync
from django_gocron.exceptions import OperationError
from django_gocron.merging import declared_value
from django_gocron.models import Job
from django_gocron.models.fields import Unreadable
from django_gocron.sync_report import Action, Outcome, SyncReport

pytestmark = pytest.mark.django_db

ON_THREADS = pytest.mark.django_db(transaction=True)


Declared = tuple[Any, Callable[..., Any], dict[str, Any]]

CODE: list[Declared] = []
"""What the code says now."""


@pytest.fixture(autouse=True)
def _no_code() -> Iterator[None]:
    yield
    CODE.clear()


def sync_orders(limit: int = 100) -> None: ...


def fetch_orders(limit: int = 100) -> None: ...


def send_digest(region: str) -> None: ...


def tidy() -> None: ...


KEY = "tests.sync_orders"
OFTEN = Every(minutes=10)
OCTOBER = datetime(2030, 10, 27, 0, 30, tzinfo=UTC)


def declare(schedule: Any = OFTEN, function: Callable[..., Any] = sync_orders, **options: Any) -> None:
    """As if the code said this now, and nothing else."""
    declare_all((schedule, function, options))


def declare_all(*declared: Declared) -> None:
    CODE[:] = declared


def declare_digests(number: int, *, minutes: int) -> None:
    digests = [{"name": f"Digest {n}", "kwargs": {"region": str(n)}} for n in range(number)]
    declare_all(*((Every(minutes=minutes), send_digest, options) for options in digests))


@contextmanager
def process() -> Iterator[None]:
    """A process that has imported the code."""
    with registry.isolated():
        for schedule, function, options in CODE:
            job(schedule, **options)(function)
        yield


def run_sync(**options: Any) -> SyncReport:
    with process():
        return sync(DEFAULT_DB_ALIAS, **options)


def only(report: SyncReport) -> Outcome:
    (outcome,) = report.outcomes
    return outcome


def refusal(report: SyncReport) -> str:
    (outcome,) = report.refused
    return outcome.message


def stored(key: str = KEY) -> Job:
    return Job.objects.get(key=key)


# New declarations


def test_a_declaration_becomes_a_row():
    declare(
        Cron("*/15 * * * *"), timezone="Europe/Berlin", tags=["Sync"], misfire_grace=90, kwargs={"limit": 5}
    )
    assert only(run_sync()) == Outcome(key=KEY, name="Sync orders", action=Action.CREATED)
    row = stored()
    assert (row.task, row.name) == (f"{__name__}.sync_orders", "Sync orders")
    assert (row.schedule, row.timezone, row.tags) == (Cron("*/15 * * * *"), "Europe/Berlin", ["sync"])
    assert (row.kwargs, row.misfire_grace, row.enabled) == ({"limit": 5}, timedelta(seconds=90), True)


def test_a_new_row_is_planned_at_once():
    declare(Every(minutes=10))
    run_sync()
    assert stored().state.next_run_at is not None


def test_what_a_declaration_leaves_open_comes_from_the_job_defaults_then_from_the_model(settings: Any):
    settings.GOCRON = {"JOB_DEFAULTS": {"misfire": "skip", "jitter": 5, "label": "batch"}}
    declare(jitter=7, label=None)
    run_sync()
    row = stored()
    assert (row.misfire, row.jitter, row.label, row.fold) == ("skip", timedelta(seconds=7), "batch", "first")


def test_a_job_without_a_schedule_runs_by_hand_only():
    declare(None, tags=["manual"])
    run_sync()
    assert stored().schedule is None


def test_declarations_of_one_function_become_rows_of_their_own():
    declare_all(
        (Daily(at="06:00"), send_digest, {"name": "Digest EU", "kwargs": {"region": "eu"}}),
        (Daily(at="12:00"), send_digest, {"name": "Digest US", "kwargs": {"region": "us"}}),
    )
    run_sync()
    assert dict(Job.objects.values_list("key", "kwargs")) == {
        "tests.send_digest:digest-eu": {"region": "eu"},
        "tests.send_digest:digest-us": {"region": "us"},
    }


# Again


def test_a_second_sync_finds_nothing_to_do_in_one_query():
    declare_digests(30, minutes=5)
    run_sync()
    with CaptureQueriesContext(connection) as queries:
        report = run_sync()
    assert {outcome.action for outcome in report.outcomes} == {Action.UNCHANGED}
    assert len(queries) == 1


def test_every_kind_of_value_reads_back_as_it_was_declared():
    declare(
        Cron("*/15 * * * *", timezone="Asia/Tokyo"),
        description="Fetch them.\nAll.",
        tags=["b", "A"],
        kwargs={"limit": 1.0},
        starts_at=OCTOBER,
        ends_at=OCTOBER + timedelta(days=400, microseconds=1),
        jitter=0.25,
        catchup_window=3600.000001,
        max_runs=7,
        interval_from_completion=False,
    )
    run_sync()
    assert only(run_sync()).action is Action.UNCHANGED
    assert overridden_fields(stored()) == []


@pytest.mark.parametrize("value", [1e25, 2**70, 1e-7, "ünï ☃ 𝄞", [[], {}, None, True, 0, 1.5]])
def test_arguments_of_any_shape_are_settled_after_one_sync(value: Any):
    declare(kwargs={"limit": value})
    run_sync()
    assert only(run_sync()).action is Action.UNCHANGED


def test_nothing_declared_is_no_query():
    with CaptureQueriesContext(connection) as queries:
        assert run_sync().outcomes == ()
    assert len(queries) == 0


# The merge


def test_a_field_that_nobody_touched_follows_the_code():
    declare(Every(minutes=10), tags=["a"])
    run_sync()
    declare(Every(minutes=15), tags=["b"])
    assert set(only(run_sync()).changed) == {"schedule", "tags"}
    assert (stored().schedule, stored().tags) == (Every(minutes=15), ["b"])


def test_a_changed_schedule_is_planned_anew():
    declare(Every(minutes=10))
    run_sync()
    before = stored().state.next_run_at
    declare(Every(days=30))
    run_sync()
    assert stored().state.next_run_at > before + timedelta(days=1)


def test_an_option_that_the_code_drops_goes_back_to_its_default():
    declare(tags=["a"], misfire="skip")
    run_sync()
    declare()
    run_sync()
    assert (stored().tags, stored().misfire) == ([], "run_once")


def test_a_changed_default_reaches_the_jobs_that_follow_it(settings: Any):
    declare()
    run_sync()
    settings.GOCRON = {"JOB_DEFAULTS": {"misfire": "skip"}}
    assert only(run_sync()).changed == ("misfire",)


def test_a_field_that_staff_changed_stays_theirs_while_the_others_follow():
    declare(Every(minutes=10), tags=["a"])
    run_sync()
    Job.objects.update(schedule=Every(minutes=2), enabled=False)
    declare(Every(minutes=15), tags=["b"])
    outcome = only(run_sync())
    assert (outcome.changed, outcome.overridden) == (("tags",), ("schedule", "enabled"))
    assert (stored().schedule, stored().enabled, stored().tags) == (Every(minutes=2), False, ["b"])


def test_an_overridden_field_tells_what_the_code_says_now():
    declare(Every(minutes=10))
    run_sync()
    Job.objects.update(schedule=Every(minutes=2))
    declare(Every(minutes=15))
    run_sync()
    assert overridden_fields(stored()) == ["schedule"]
    assert declared_value(stored(), "schedule") == Every(minutes=15)


def test_a_field_that_staff_set_to_what_the_code_says_follows_again():
    declare(Every(minutes=10))
    run_sync()
    Job.objects.update(schedule=Every(minutes=15))
    declare(Every(minutes=15))
    assert only(run_sync()).overridden == ()
    declare(Every(minutes=20))
    run_sync()
    assert stored().schedule == Every(minutes=20)


def test_true_and_1_are_different_arguments():
    declare(kwargs={"limit": 1})
    run_sync()
    declare(kwargs={"limit": True})
    run_sync()
    assert stored().kwargs["limit"] is True


def test_a_name_that_staff_changed_stays():
    declare(name="Orders")
    run_sync()
    Job.objects.update(name="Bestellungen")
    declare(name="All orders")
    run_sync()
    assert stored().name == "Bestellungen"


def test_a_function_that_moved_is_followed():
    declare()
    run_sync()
    Job.objects.update(
        task="shop.old.sync_orders", declared={**stored().declared, "task": "shop.old.sync_orders"}
    )
    run_sync()
    assert stored().task == f"{__name__}.sync_orders"


def test_a_field_that_the_copy_lacks_counts_as_last_declared_with_its_default():
    declare(misfire="skip", gap="skip")
    run_sync()
    older = {name: value for name, value in stored().declared.items() if name not in {"misfire", "gap"}}
    Job.objects.update(declared=older, misfire="run_once", gap="skip")
    outcome = only(run_sync())
    assert (outcome.changed, outcome.overridden) == (("misfire",), ())


def test_a_copy_that_cannot_be_read_costs_no_edit():
    declare(Every(minutes=10))
    run_sync()
    Job.objects.update(schedule=Every(minutes=2), declared=["what"])
    assert only(run_sync()).overridden == ("schedule",)
    assert stored().schedule == Every(minutes=2)
    assert isinstance(stored().declared, dict)


def test_a_schedule_that_cannot_be_read_counts_as_changed_by_staff():
    declare(Every(minutes=10))
    run_sync()
    Job.objects.update(schedule=Unreadable('{"kind": "lunar"}', "unknown"))
    assert only(run_sync()).overridden == ("schedule",)
    assert isinstance(stored().schedule, Unreadable)


# Keys


def test_an_alias_carries_the_row_to_its_new_key():
    declare()
    run_sync()
    pk = stored().pk
    declare(Every(minutes=10), fetch_orders, aliases=[KEY])
    outcome = only(run_sync())
    assert (outcome.action, outcome.former_key) == (Action.RENAMED, KEY)
    row = Job.objects.get()
    assert (row.pk, row.key, row.name) == (pk, "tests.fetch_orders", "Fetch orders")


def test_an_alias_keeps_what_staff_changed():
    declare()
    run_sync()
    Job.objects.update(enabled=False)
    declare(Every(minutes=10), fetch_orders, aliases=[KEY])
    run_sync()
    assert overridden_fields(Job.objects.get()) == ["enabled"]


def test_an_alias_does_not_take_a_row_that_is_declared_itself():
    declare()
    run_sync()
    declare_all((Every(minutes=10), sync_orders, {}), (Every(minutes=10), fetch_orders, {"aliases": [KEY]}))
    run_sync()
    assert set(Job.objects.values_list("key", flat=True)) == {"tests.fetch_orders", KEY}


def test_a_second_declaration_leaves_the_first_its_row():
    declare(Daily(at="06:00"), send_digest, name="Digest EU", kwargs={"region": "eu"})
    run_sync()
    pk = Job.objects.get().pk
    eu = (Daily(at="06:00"), send_digest, {"name": "Digest EU", "kwargs": {"region": "eu"}})
    us = (Daily(at="12:00"), send_digest, {"name": "Digest US", "kwargs": {"region": "us"}})
    declare_all(eu, us)
    assert {outcome.action for outcome in run_sync().outcomes} == {Action.RENAMED, Action.CREATED}
    assert Job.objects.get(name="Digest EU").pk == pk
    declare_all(eu)
    run_sync()
    assert (Job.objects.get(pk=pk).key, Job.objects.get(pk=pk).name) == ("tests.send_digest", "Digest EU")


def test_a_row_that_nobody_declares_any_more_is_left_alone():
    declare()
    run_sync()
    before = Job.objects.values().get()
    declare(Every(minutes=10), tidy)
    run_sync()
    assert Job.objects.filter(key=KEY).values().get() == before


# What cannot be followed


def test_the_name_of_another_job_is_refused_with_a_way_out_and_the_others_go_on():
    Job.objects.create(name="Sync orders", task=f"{__name__}.tidy")
    declare_all((Every(minutes=10), sync_orders, {}), (Every(minutes=10), tidy, {}))
    message = refusal(run_sync())
    assert message.startswith("tests/integration/test_declarations.py:")
    assert "tests.sync_orders: A job named 'Sync orders' exists already." in message
    assert "name='Sync orders (tests)'" in message
    assert Job.objects.filter(key="tests.tidy").exists()


def test_the_name_of_a_job_whose_function_was_renamed_is_answered_with_its_alias():
    declare(name="Orders")
    run_sync()
    declare(Every(minutes=10), fetch_orders, name="Orders")
    assert "If it is the same job under a new key, add aliases=['tests.sync_orders']." in refusal(run_sync())


def test_a_name_that_another_job_gives_up_can_be_taken_in_the_same_sync():
    declare(name="Orders")
    run_sync()
    declare_all(
        (Every(minutes=10), sync_orders, {"name": "Old orders"}),
        (Every(minutes=10), fetch_orders, {"name": "Orders"}),
    )
    assert run_sync().refused == []
    assert dict(Job.objects.values_list("key", "name")) == {KEY: "Old orders", "tests.fetch_orders": "Orders"}


def test_a_new_name_that_another_job_has_is_refused():
    Job.objects.create(name="Orders", task=f"{__name__}.tidy")
    declare()
    run_sync()
    declare(name="Orders")
    assert "A job named 'Orders' exists already." in refusal(run_sync())
    assert stored().name == "Sync orders"


def test_a_declaration_that_the_model_refuses_is_reported_and_the_others_go_on():
    declare_all((Every(minutes=10), sync_orders, {"timezone": "Mars/X"}), (Every(minutes=10), tidy, {}))
    message = refusal(run_sync())
    assert message.startswith("tests/integration/test_declarations.py:")
    assert "tests.sync_orders: timezone: 'Mars/X' is not a known time zone." in message
    assert list(Job.objects.values_list("key", flat=True)) == ["tests.tidy"]


@pytest.mark.parametrize(
    "options", [{"jitter": timedelta.max}, {"kwargs": {"limit": 2**4000}}, {"owner": "a\0"}]
)
def test_what_a_database_cannot_keep_stops_no_other_job(options: dict[str, Any]):
    """Some databases can: then it is created."""
    declare_all((Every(minutes=10), sync_orders, options), (Every(minutes=10), tidy, {}))
    assert {outcome.action for outcome in run_sync().outcomes} <= {Action.CREATED, Action.REFUSED}
    assert Job.objects.filter(key="tests.tidy").exists()


def test_a_change_that_does_not_go_with_what_staff_changed_is_refused_whole():
    declare(Every(minutes=10))
    run_sync()
    Job.objects.update(interval_from_completion=True)
    declare(Daily(at="09:00"), tags=["new"])
    assert "interval_from_completion (changed in the admin): Only an interval" in refusal(run_sync())
    assert (stored().schedule, stored().tags) == (Every(minutes=10), [])


def test_two_functions_that_claim_one_key_are_both_refused_and_the_row_stays():
    from tests.integration.other import tidy as other_tidy

    declare(Every(minutes=10), tidy)
    run_sync()
    declare_all((Every(minutes=1), tidy, {}), (Every(minutes=2), other_tidy, {"name": "Other"}))
    assert len(run_sync().refused) == 2
    assert Job.objects.get().schedule == Every(minutes=10)


# Dry run


def test_a_dry_run_says_the_same_and_writes_nothing():
    declare(Every(minutes=10))
    run_sync()
    declare_all(
        (Every(minutes=15), fetch_orders, {"aliases": [KEY], "tags": ["a"]}),
        (Every(minutes=10), tidy, {"timezone": "Mars/X"}),
        (Every(minutes=10), send_digest, {"kwargs": {"region": "eu"}}),
    )
    with CaptureQueriesContext(connection) as queries:
        planned = run_sync(dry_run=True)
    assert len(queries) == 1
    assert planned == run_sync()


# Reset


def test_a_reset_lets_the_job_follow_the_code_again():
    declare(Every(minutes=10), kwargs={"limit": 5})
    run_sync()
    Job.objects.update(
        schedule=Every(minutes=2), enabled=False, kwargs={}, jitter=timedelta(seconds=3), tags=["x"]
    )
    assert reset_to_code(stored(), by="anna") == ["schedule", "tags", "kwargs", "jitter", "enabled"]
    row = stored()
    assert (row.schedule, row.kwargs, row.enabled) == (Every(minutes=10), {"limit": 5}, True)
    assert overridden_fields(row) == []


def test_a_reset_of_a_job_that_follows_the_code_changes_nothing():
    declare()
    run_sync()
    assert reset_to_code(stored()) == []


def test_a_reset_of_a_job_made_in_the_admin_is_refused():
    row = Job.objects.create(name="By hand", task=f"{__name__}.tidy")
    with pytest.raises(OperationError) as caught:
        reset_to_code(row)
    assert caught.value.code == "not_declared"


def test_a_reset_to_a_name_that_is_taken_by_now_is_refused():
    declare()
    run_sync()
    Job.objects.update(name="Bestellungen")
    Job.objects.create(name="Sync orders", task=f"{__name__}.tidy")
    with pytest.raises(OperationError) as caught:
        reset_to_code(stored())
    assert (caught.value.code, caught.value.field) == ("name_taken", "name")


def test_a_job_that_no_code_declares_has_no_overridden_fields():
    assert overridden_fields(Job(name="By hand", task="x", enabled=False)) == []


# Many at once


def on_threads(number: int, work: Callable[[], Any]) -> list[Any]:
    """What ``work`` answers, or raises, on threads that begin together."""
    barrier, answers = threading.Barrier(number), []

    def run() -> None:
        try:
            barrier.wait(timeout=30)
            answers.append(work())
        except BaseException as error:  # noqa: BLE001
            answers.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@ON_THREADS
def test_processes_that_insert_the_same_jobs_at_once_all_succeed():
    declare_digests(8, minutes=5)
    with process():
        answers = on_threads(3, lambda: sync(DEFAULT_DB_ALIAS))
    assert [answer.refused for answer in answers] == [[], [], []]
    assert Job.objects.count() == 8


@ON_THREADS
def test_processes_that_update_the_same_jobs_at_once_all_succeed():
    declare_digests(8, minutes=5)
    run_sync()
    declare_digests(8, minutes=7)
    with process():
        answers = on_threads(3, lambda: sync(DEFAULT_DB_ALIAS))
    assert [answer.refused for answer in answers] == [[], [], []]
    assert set(Job.objects.values_list("schedule", flat=True)) == {Every(minutes=7)}


@ON_THREADS
def test_an_edit_that_comes_between_reading_and_writing_is_kept(monkeypatch: pytest.MonkeyPatch):
    """The sync has read the row; staff save theirs; the sync then writes."""
    from django_gocron import declarations

    declare(Every(minutes=10), tags=["a"])
    run_sync()
    declare(Every(minutes=15), tags=["b"])
    follow = declarations._Sync._follow

    def edit_first(self: Any, declaration: Any, row: Job) -> Any:
        Job.objects.filter(pk=row.pk).update(schedule=Every(minutes=2))
        return follow(self, declaration, row)

    monkeypatch.setattr(declarations._Sync, "_follow", edit_first)
    outcome = only(run_sync())
    assert (outcome.changed, outcome.overridden) == (("tags",), ("schedule",))
    assert stored().schedule == Every(minutes=2)


@ON_THREADS
def test_a_row_that_is_deleted_between_reading_and_writing_is_made_by_the_next_sync(
    monkeypatch: pytest.MonkeyPatch,
):
    from django_gocron import declarations

    declare(Every(minutes=10))
    run_sync()
    declare(Every(minutes=15))
    follow = declarations._Sync._follow

    def delete_first(self: Any, declaration: Any, row: Job) -> Any:
        Job.objects.filter(pk=row.pk).delete()
        return follow(self, declaration, row)

    with monkeypatch.context() as patch:
        patch.setattr(declarations._Sync, "_follow", delete_first)
        assert "deleted just now" in refusal(run_sync())
    assert only(run_sync()).action is Action.CREATED


def test_dumped_and_loaded_jobs_go_on_following_the_code(tmp_path: Any):
    declare(Every(minutes=10), kwargs={"limit": 5}, jitter=3)
    run_sync()
    Job.objects.update(enabled=False)
    file = str(tmp_path / "jobs.json")
    call_command("dumpdata", "gocron.job", output=file, verbosity=0)
    Job.objects.all().delete()
    call_command("loaddata", file, verbosity=0)
    assert only(run_sync()).overridden == ("enabled",)
