"""Locks of lockers, beside the ledger's own: who asks when, and what becomes of a run that is refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from django_gocron import Every, events
from django_gocron.backends import Backend
from django_gocron.context import current_run
from django_gocron.engine import keeper, stopping
from django_gocron.engine.memory import State
from django_gocron.engine.scheduler import Scheduler
from django_gocron.engine.stopping import Stop
from django_gocron.engine.wakeup import Listener
from django_gocron.lockers.base import Lock
from django_gocron.models import Job, Run
from tests import lockers
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, make_job, next_tick, runs_of, statuses
from tests.heard import PATIENCE, Heard

pytestmark = REAL_TRANSACTIONS

DICT = "tests.lockers.DictLocker"
TEN_SECONDS = Every(seconds=10)
OTHER = Lock(key="job", holder="another project, run 7", token="other")

seen: list[bool] = []


def meanwhile() -> None:
    """What happens while the task executes."""


def look_at_lock() -> None:
    meanwhile()
    run = current_run()
    assert run is not None
    seen.append(run.lock_lost)


def fail() -> None:
    raise RuntimeError


@pytest.fixture(autouse=True)
def server() -> lockers.Server:
    return lockers.new_server()


@pytest.fixture(autouse=True)
def engines() -> Iterator[list[HandDriven]]:
    """What a test has started; their lockers' threads end with it."""
    seen.clear()
    started: list[HandDriven] = []
    yield started
    lockers.SERVER.answers.set()
    for engine in started:
        engine.parts.locks.stop(PATIENCE)


@pytest.fixture
def start(engines: list[HandDriven], settings: Any) -> Callable[..., HandDriven]:
    """An instance that knows one locker, ``dict``."""

    def start(**options: Any) -> HandDriven:
        alias = options.pop("alias", "dict")
        backend = Backend(setting=f"GOCRON['LOCKERS'][{alias!r}]", path=DICT, options=options)
        settings.GOCRON = {"LOCKERS": {alias: {"BACKEND": DICT}}}
        engine = HandDriven(lockers={alias: backend}, name="night shift")
        lockers.SERVER.boottime = engine.clock.boottime
        engines.append(engine)
        return engine

    return start


def make_locked(name: str = "job", **values: Any) -> Job:
    return make_job(name, schedule=TEN_SECONDS, **{"locker": "dict", **values})


def at_tick(engine: HandDriven, job: Job) -> HandDriven:
    """The instance has claimed the next tick of the job, and its instant has come."""
    engine.go_to(next_tick(job))
    assert engine.claim()
    return engine


def hold_elsewhere(lock: Lock = OTHER) -> None:
    lockers.SERVER.held[lock.key] = lock, float("inf")


def eventually(condition: Callable[[], bool]) -> None:
    """The keeper's thread does it, soon."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


Start = Callable[..., HandDriven]


def test_a_run_has_its_lock_from_its_start_until_its_code_has_ended(start: Start, server: lockers.Server):
    job = make_locked()
    engine = at_tick(start(), job)
    engine.start()
    (run,) = runs_of(job)
    held = server.holder_of("job")
    assert held is not None
    assert held.holder == f"night shift, run {run.pk}"
    engine.execute()
    assert server.keys() == {"job"}
    engine.finish()
    assert server.keys() == set()
    assert statuses(job) == ["succeeded"]


def test_the_lock_is_free_before_the_job_is(start: Start, server: lockers.Server, monkeypatch: Any):
    job = make_locked()
    engine = at_tick(start(), job)
    engine.start()
    engine.execute()
    held_then: list[str | None] = []
    release = lockers.DictLocker.release_many

    def note(self: Any, locks: Any) -> Any:
        held_then.append(Run.objects.values_list("status", flat=True).get())
        return release(self, locks)

    monkeypatch.setattr(lockers.DictLocker, "release_many", note)
    engine.finish()
    assert held_then == ["running"]


def test_a_busy_lock_skips_the_tick_at_its_instant_and_says_who_has_it(start: Start):
    job = make_locked()
    engine = at_tick(start(), job)
    hold_elsewhere()
    with Heard(events.LockNotAcquired, events.RunSkipped) as heard:
        assert engine.start() == []
    assert statuses(job) == ["skipped(lock_busy)"]
    assert runs_of(job)[0].error_message == "The lock is held by another project, run 7."
    refused, skipped = heard
    assert (refused.reason, refused.locker, refused.key, refused.holder) == (
        "lock_busy",
        "dict",
        "job",
        OTHER.holder,
    )
    assert skipped.reason == "lock_busy"


def test_a_refusal_ahead_of_the_instant_is_none_yet(start: Start, server: lockers.Server):
    job = make_locked()
    engine = start()
    hold_elsewhere()
    tick = next_tick(job)
    engine.go_to(tick - timedelta(milliseconds=2))
    engine.claim()
    with Heard(events.LockNotAcquired) as heard:
        engine.start()
    assert statuses(job) == ["claimed"]
    assert len(heard) == 0
    server.held.clear()
    engine.go_to(tick)
    assert engine.start()
    assert statuses(job) == ["running"]


def test_the_next_tick_runs_once_the_lock_is_free(start: Start, server: lockers.Server):
    job = make_locked()
    engine = at_tick(start(), job)
    hold_elsewhere()
    engine.start()
    server.held.clear()
    at_tick(engine, job).start()
    assert statuses(job) == ["skipped(lock_busy)", "running"]


def test_a_locker_that_does_not_answer_is_another_reason(start: Start, server: lockers.Server):
    job = make_locked()
    engine = at_tick(start(), job)
    server.is_down = True
    with Heard(events.LockNotAcquired) as heard:
        engine.start()
    assert statuses(job) == ["skipped(lock_error)"]
    words = "The locker could not answer. ConnectionRefusedError: nobody listens"
    assert runs_of(job)[0].error_message == words
    assert [(event.reason, event.runs_anyway) for event in heard] == [("lock_error", False)]


def test_a_job_may_run_all_the_same_when_its_locker_does_not_answer(start: Start, server: lockers.Server):
    job = make_locked(on_lock_error="run")
    engine = at_tick(start(), job)
    server.is_down = True
    with Heard(events.LockNotAcquired) as heard:
        engine.start()
    engine.execute()
    engine.finish()
    assert statuses(job) == ["succeeded"]
    assert [event.runs_anyway for event in heard] == [True]


def test_but_not_where_the_lock_is_held(start: Start):
    job = make_locked(on_lock_error="run")
    engine = at_tick(start(), job)
    hold_elsewhere()
    engine.start()
    assert statuses(job) == ["skipped(lock_busy)"]


def test_a_locker_that_hangs_is_waited_for_once_and_holds_up_no_other_job(
    start: Start, server: lockers.Server, monkeypatch: Any
):
    monkeypatch.setattr(keeper, "PATIENCE", 0.05)
    first, second, free = make_locked(), make_locked("second"), make_locked("free", locker="")
    engine = start()
    engine.go_to(max(next_tick(job) for job in (first, second, free)))
    engine.claim()
    server.answers.clear()
    engine.start()
    assert statuses(first) == statuses(second) == ["skipped(lock_error)"]
    assert statuses(free) == ["running"]
    assert (
        runs_of(first)[0].error_message == "The locker could not answer. It has not answered within 0.05 s."
    )


def test_a_lock_that_came_too_late_is_released(start: Start, server: lockers.Server, monkeypatch: Any):
    monkeypatch.setattr(keeper, "PATIENCE", 0.05)
    monkeypatch.setattr(keeper, "LOOK_AGAIN", 0.01)
    job = make_locked()
    engine = at_tick(start(), job)
    server.answers.clear()
    engine.start()
    server.answers.set()
    eventually(lambda: ("release", 1) in server.calls)
    assert server.keys() == set()


def test_locks_of_one_locker_are_asked_for_in_one_go(start: Start, server: lockers.Server):
    jobs = [make_locked(f"job {place}") for place in range(5)]
    engine = start()
    engine.go_to(max(next_tick(job) for job in jobs))
    engine.claim()
    engine.start()
    engine.execute()
    engine.finish()
    assert server.calls == [("acquire", 5), ("release", 5)]


def test_runs_that_may_overlap_have_a_lock_for_each_tick(start: Start, server: lockers.Server):
    job = make_locked(overlap="allow")
    engine = at_tick(start(), job)
    engine.start()
    (run,) = runs_of(job)
    assert server.keys() == {f"job@{run.scheduled_for.isoformat()}"}


def test_a_run_that_does_not_start_gives_its_lock_back(start: Start, server: lockers.Server):
    job = make_locked()
    engine = at_tick(start(), job)
    Run.objects.update(status="queued", instance=None, claim_id=None)
    engine.start()
    assert server.calls == [("acquire", 1), ("release", 1)]
    assert server.keys() == set()


def test_what_the_ledger_holds_is_not_asked_for(start: Start, server: lockers.Server):
    job = make_locked()
    first, second = start(), start()
    at_tick(first, job).start()
    at_tick(second, job).start()
    assert server.calls == [("acquire", 1)]
    assert statuses(job) == ["running", "skipped(overlap)"]


def test_a_lock_is_extended_at_a_third_of_its_time(start: Start, server: lockers.Server, monkeypatch: Any):
    monkeypatch.setattr(keeper, "LOOK_AGAIN", 0.01)
    job = make_locked()
    engine = at_tick(start(ttl=60), job)
    engine.start()
    engine.clock.advance(19)
    engine.clock.advance(2)
    eventually(lambda: ("extend", 1) in server.calls)
    engine.clock.advance(50)
    assert server.keys() == {"job"}


def test_a_lock_that_is_lost_before_the_code_begins_keeps_it_from_beginning(
    start: Start, server: lockers.Server, monkeypatch: Any
):
    monkeypatch.setattr(keeper, "LOOK_AGAIN", 0.01)
    job = make_locked(task=look_at_lock)
    engine = at_tick(start(ttl=60), job)
    engine.start()
    server.held.clear()
    with Heard(events.LockLost) as heard:
        engine.clock.advance(21)
        heard.wait_for()
    assert engine.execute() == 0
    engine.audit.requeue_unknown()
    assert seen == []
    assert statuses(job) == ["queued(recovered)"]


def test_a_lock_that_is_taken_away_is_noticed_and_told_to_the_task(
    start: Start, server: lockers.Server, monkeypatch: Any
):
    monkeypatch.setattr(keeper, "LOOK_AGAIN", 0.01)
    job = make_locked(task=look_at_lock)
    engine = at_tick(start(ttl=60), job)

    def lose() -> None:
        server.held.clear()
        with Heard(events.LockLost) as heard:
            engine.clock.advance(21)
            (lost,) = heard.wait_for()
        assert (lost.locker, lost.key, lost.job_name) == ("dict", "job", "job")

    monkeypatch.setattr(f"{__name__}.meanwhile", lose)
    engine.start()
    engine.execute()
    assert seen == [True]
    engine.finish()
    assert [(run.status, run.lock_lost) for run in runs_of(job)] == [("succeeded", True)]


def test_a_lock_that_cannot_be_extended_is_lost_before_it_runs_out(
    start: Start, server: lockers.Server, monkeypatch: Any
):
    monkeypatch.setattr(keeper, "LOOK_AGAIN", 0.01)
    job = make_locked(task=look_at_lock)
    engine = at_tick(start(ttl=60), job)
    engine.start()
    server.is_down = True
    with Heard(events.LockLost) as heard:
        engine.clock.advance(44)
        eventually(lambda: server.calls.count(("extend", 1)) > 0)
        assert len(heard) == 0
        engine.clock.advance(2)
        heard.wait_for()
    assert server.keys() == {"job"}


def test_a_task_sees_that_its_lock_holds(start: Start):
    job = make_locked(task=look_at_lock)
    engine = at_tick(start(), job)
    engine.start()
    engine.step()
    assert seen == [False]
    assert [run.lock_lost for run in runs_of(job)] == [False]


def test_a_lock_that_is_changed_in_two_steps_is_left_alone_late(start: Start, server: lockers.Server):
    job = make_locked()
    engine = at_tick(start(ttl=60, is_atomic=False), job)
    engine.start()
    engine.clock.advance(50)
    engine.execute()
    engine.finish()
    assert ("release", 1) not in server.calls
    assert server.keys() == {"job"}
    engine.clock.advance(11)
    assert server.keys() == set()


def test_a_retry_that_is_refused_comes_back_after_a_while(start: Start, server: lockers.Server):
    job = make_locked(task=fail, retries=1, retry_delay=timedelta(0))
    engine = at_tick(start(), job)
    engine.step()
    hold_elsewhere()
    engine.claim()
    engine.start()
    assert statuses(job) == ["failed(exception)", "queued(retry)"]
    assert engine.claim() == []
    server.held.clear()
    engine.clock.advance(6)
    assert len(engine.claim()) == 1


def test_a_run_by_hand_that_is_refused_says_so_on_its_row(start: Start):
    job = make_locked()
    engine = start()
    hold_elsewhere()
    run = job.run_now()
    engine.clock.advance(1)
    engine.step()
    run.refresh_from_db()
    assert (run.status, run.reason) == ("skipped", "lock_busy")


def test_the_default_locker_is_that_of_jobs_that_name_none(start: Start, server: lockers.Server):
    job = make_job(schedule=TEN_SECONDS)
    engine = at_tick(start(alias="default"), job)
    engine.start()
    assert server.keys() == {"job"}


def test_without_a_default_locker_a_job_has_the_ledgers_lock_alone(start: Start, server: lockers.Server):
    job = make_job(schedule=TEN_SECONDS)
    engine = at_tick(start(), job)
    engine.start()
    assert server.calls == []
    assert statuses(job) == ["running"]


@pytest.mark.parametrize("coordination", ["unlocked", "node_local"])
def test_a_job_that_is_not_locked_asks_no_locker(start: Start, server: lockers.Server, coordination: str):
    job = make_job(schedule=TEN_SECONDS, coordination=coordination)
    engine = start(alias="default")
    engine.claim()
    engine.clock.advance(11)
    engine.claim()
    engine.start()
    assert server.calls == []
    assert "running" in statuses(job)


def test_a_locker_that_the_setting_names_no_more_is_an_error_of_that_job(start: Start):
    job = make_locked(locker="gone")
    engine = at_tick(start(), job)
    engine.start()
    assert statuses(job) == ["skipped(lock_error)"]
    words = "No locker is called 'gone' here. The setting GOCRON['LOCKERS'] names: 'dict'."
    assert runs_of(job)[0].error_message == f"The locker could not answer. {words}"


def test_stopping_releases_every_lock(start: Start, server: lockers.Server, engines: list[HandDriven]):
    job = make_locked()
    engine = at_tick(start(), job)
    engine.start()
    engine.parts.locks.stop(PATIENCE)
    engines.remove(engine)
    assert server.keys() == set()


def test_with_coordination_off_a_job_runs_whatever_locker_it_names(settings: Any, server: lockers.Server):
    settings.GOCRON = {"LOCKERS": {"dict": {"BACKEND": DICT}}, "COORDINATION": "off"}
    job = make_locked()
    at_tick(HandDriven(lockers=Scheduler().options.lockers), job).start()
    assert statuses(job) == ["running"]
    assert server.calls == []


def test_a_short_lock_is_extended_in_time(start: Start, server: lockers.Server):
    job = make_locked()
    engine = at_tick(start(ttl=1), job)
    engine.start()
    with Heard(events.LockLost) as heard:
        engine.clock.advance(0.34)
        eventually(lambda: ("extend", 1) in server.calls)
        assert len(heard) == 0


def test_a_locker_that_raises_what_is_no_exception_goes_on(
    start: Start, server: lockers.Server, monkeypatch: Any
):
    job = make_locked()
    engine = at_tick(start(), job)
    acquire = lockers.DictLocker.acquire_many

    def cancel(self: Any, locks: Any) -> Any:
        raise asyncio.CancelledError

    monkeypatch.setattr(lockers.DictLocker, "acquire_many", cancel)
    engine.start()
    monkeypatch.setattr(lockers.DictLocker, "acquire_many", acquire)
    at_tick(engine, job).start()
    assert statuses(job) == ["skipped(lock_error)", "running"]


def test_what_a_stop_gives_back_has_its_lock_free_already(
    start: Start, server: lockers.Server, monkeypatch: Any
):
    job = make_locked()
    engine = at_tick(start(), job)
    engine.start()
    held_then: list[set[str]] = []
    monkeypatch.setattr(stopping, "hand_over", lambda using, entries: held_then.append(server.keys()))
    Stop(engine.parts, [], Listener(DATABASE, lambda: None))._give_back(State.HOLD)
    assert held_then == [set()]
