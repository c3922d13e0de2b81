from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from django_gocron.engine.memory import IN_A_SLOT, Entry, Memory, State

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
numbers = count(1)
LONG = 30.0  # seconds: a wait that has to end by itself before


def entry(due_at: datetime = NOON, **values: Any) -> Entry:
    run_id = values.pop("run_id", None) or next(numbers)
    return Entry(
        run_id=run_id,
        job_id=7,
        job_name="Sync",
        task="shop.sync",
        args=[],
        kwargs={},
        origin="schedule",
        scheduled_for=due_at,
        due_at=due_at,
        attempt=values.pop("attempt", 1),
        priority=values.pop("priority", 0),
        lock_key=values.pop("lock_key", "7"),
        instance_id=uuid4(),
        claim_id=uuid4(),
        **values,
    )


def holding(*entries: Entry) -> Memory:
    memory = Memory()
    memory.add(entries)
    return memory


# Entries and their states


def test_what_is_added_is_held():
    one = entry()
    memory = holding(one)
    assert one.state is State.HELD
    assert memory.entries() == memory.entries(State.HELD) == memory.held() == [one]


def test_a_new_memory_is_empty():
    memory = Memory()
    assert (memory.entries(), memory.held(), memory.count()) == ([], [], 0)


def test_an_entry_moves_from_state_to_state():
    one = entry()
    memory = holding(one)
    for before, after in [
        (State.HELD, State.STARTING),
        (State.STARTING, State.HOLD),
        (State.HOLD, State.EXECUTING),
    ]:
        assert memory.move(one, before, after)
        assert one.state is after
        assert memory.entries(after) == [one]
    assert memory.held() == []


def test_an_entry_in_another_state_does_not_move():
    one = entry()
    memory = holding(one)
    assert not memory.move(one, State.STARTING, State.HOLD)
    assert one.state is State.HELD


def test_an_entry_that_is_forgotten_does_not_move():
    one = entry()
    memory = holding(one)
    memory.forget([one])
    assert not memory.move(one, State.HELD, State.STARTING)


def test_of_two_threads_that_move_an_entry_one_succeeds():
    for _ in range(50):
        one = entry()
        memory = holding(one)
        barrier, moved = threading.Barrier(2), []

        def move(one: Entry = one, memory: Memory = memory, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(LONG)
            moved.append(memory.move(one, State.HELD, State.STARTING))  # noqa: B023

        threads = [threading.Thread(target=move) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert sorted(moved) == [False, True]


def test_a_newer_claim_replaces_an_older_one():
    old, new = entry(run_id=10**6), entry(run_id=10**6)
    memory = holding(old)
    memory.move(old, State.HELD, State.STARTING)
    memory.add([new])
    assert (memory.entries(), memory.held(), memory.count(*IN_A_SLOT)) == ([new], [new], 0)
    assert not memory.move(old, State.STARTING, State.HOLD)


def test_forgetting_an_older_claim_leaves_the_newer_one():
    old, new = entry(run_id=10**6), entry(run_id=10**6)
    memory = holding(old)
    memory.add([new])
    memory.forget([old])
    assert memory.entries() == [new]


def test_forgetting_twice_is_forgetting_once():
    one, other = entry(), entry()
    memory = holding(one, other)
    memory.forget([one])
    memory.forget([one])
    assert (memory.entries(), memory.count()) == ([other], 1)


def test_entries_come_soonest_first_and_higher_priority_first():
    late, low, high, soon = (
        entry(NOON + SECOND),
        entry(NOON),
        entry(NOON, priority=5),
        entry(NOON - SECOND, priority=-5),
    )
    memory = holding(late, low, high, soon)
    assert memory.entries() == memory.held() == [soon, high, low, late]


def test_equals_come_in_the_order_of_their_runs():
    second, first = entry(run_id=10**7 + 1), entry(run_id=10**7)
    assert holding(second, first).entries() == [first, second]


def test_several_states_can_be_asked_for_at_once():
    held, starting, done = entry(), entry(), entry()
    memory = holding(held, starting, done)
    memory.move(starting, State.HELD, State.STARTING)
    memory.move(done, State.HELD, State.DONE)
    assert memory.entries(State.STARTING, State.DONE) == [starting, done]


def test_held_entries_follow_every_change():
    one, two = entry(NOON), entry(NOON + SECOND)
    memory = holding(one, two)
    assert memory.held() == [one, two]
    memory.move(one, State.HELD, State.STARTING)
    assert memory.held() == [two]
    memory.move(one, State.STARTING, State.HELD)
    assert memory.held() == [one, two]
    memory.forget([two])
    assert memory.held() == [one]


# Counting


def test_counts_entries_by_state():
    entries = [entry() for _ in range(4)]
    memory = holding(*entries)
    memory.move(entries[0], State.HELD, State.STARTING)
    memory.move(entries[1], State.HELD, State.EXECUTING)
    memory.move(entries[2], State.HELD, State.DONE)
    assert [memory.count(state) for state in State] == [1, 1, 0, 1, 0, 1, 0]
    assert memory.count() == 4
    assert memory.count(*IN_A_SLOT) == 2


def test_counts_no_entry_that_is_gone():
    one = entry()
    memory = holding(one)
    memory.move(one, State.HELD, State.EXECUTING)
    memory.forget([one])
    assert (memory.count(), memory.count(*IN_A_SLOT)) == (0, 0)


def test_a_run_whose_result_waits_to_be_written_occupies_no_slot():
    assert State.DONE not in IN_A_SLOT
    assert State.HELD not in IN_A_SLOT


# Withdrawing


def test_what_has_not_begun_can_be_withdrawn():
    held, hold, executing = entry(), entry(), entry()
    memory = holding(held, hold, executing)
    memory.move(hold, State.HELD, State.HOLD)
    memory.move(executing, State.HELD, State.EXECUTING)
    assert memory.withdraw(State.HELD, State.HOLD) == [held, hold]
    assert held.state is hold.state is State.GIVING_BACK
    assert executing.state is State.EXECUTING
    assert memory.held() == []


def test_what_is_withdrawn_cannot_start_any_more():
    one = entry()
    memory = holding(one)
    memory.withdraw(State.HELD)
    assert not memory.move(one, State.HELD, State.STARTING)


# Waiting


def wait_in_a_thread(memory: Memory, generation: int) -> threading.Thread:
    thread = threading.Thread(target=memory.wait, args=(generation, LONG))
    thread.start()
    return thread


def test_waits_no_longer_than_told():
    memory = Memory()
    memory.wait(memory.generation, 0.0)


def test_does_not_wait_when_something_has_changed_meanwhile():
    memory = Memory()
    before = memory.generation
    memory.add([entry()])
    memory.wait(before, LONG)


@pytest.mark.parametrize("change", ["add", "forget", "done", "wake"])
def test_a_change_wakes_who_waits(change: str):
    one = entry()
    memory = holding(one)
    thread = wait_in_a_thread(memory, memory.generation)
    changes: dict[str, Callable[[], object]] = {
        "add": lambda: memory.add([entry()]),
        "forget": lambda: memory.forget([one]),
        "done": lambda: memory.move(one, State.HELD, State.DONE),
        "wake": memory.wake,
    }
    changes[change]()
    thread.join(LONG / 2)
    assert not thread.is_alive()


def test_a_move_that_concerns_nobody_wakes_nobody():
    one = entry()
    memory = holding(one)
    before = memory.generation
    memory.move(one, State.HELD, State.STARTING)
    assert memory.generation == before


# What an entry says of its run


@pytest.mark.parametrize(
    ("max_runs", "attempt", "is_counted"), [(None, 1, False), (3, 1, True), (3, 2, False)]
)
def test_only_first_attempts_of_limited_jobs_are_counted(
    max_runs: int | None, attempt: int, is_counted: bool
):
    assert entry(max_runs=max_runs, attempt=attempt).is_counted is is_counted


def test_an_entry_says_who_it_is():
    one = entry(run_id=42)
    assert one.identity() == {
        "run_id": 42,
        "job_id": 7,
        "job_name": "Sync",
        "task": "shop.sync",
        "scheduled_for": NOON,
        "tags": (),
    }
