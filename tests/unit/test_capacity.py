from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from django_gocron.engine.capacity import Capacity
from django_gocron.engine.memory import Entry, Memory, State

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def entry(run_id: int) -> Entry:
    return Entry(
        run_id=run_id,
        job_id=1,
        job_name="job",
        task="task",
        args=[],
        kwargs={},
        origin="schedule",
        scheduled_for=NOON,
        due_at=NOON,
        attempt=1,
        priority=0,
        lock_key="1",
        instance_id=UUID(int=1),
        claim_id=UUID(int=2),
    )


def capacity(memory: Memory, *, slots: int = 4) -> Capacity:
    return Capacity(memory, slots=slots, ahead=timedelta(seconds=1))


def after_runs_of(seconds: float, memory: Memory) -> Capacity:
    found = capacity(memory)
    for _ in range(200):
        found.note(timedelta(seconds=seconds))
    return found


def test_every_slot_is_free_at_first():
    assert capacity(Memory()).free_slots == 4


def test_a_slot_is_promised_to_a_run_that_is_held_and_taken_by_one_that_executes():
    memory = Memory()
    memory.add([one := entry(1), entry(2)])
    memory.move(one, State.HELD, State.STARTING)
    assert capacity(memory).free_slots == 2


def test_a_run_that_has_ended_takes_no_slot():
    memory = Memory()
    memory.add([one := entry(1)])
    path = (State.HELD, State.STARTING, State.HOLD, State.EXECUTING, State.DONE)
    for origin, target in zip(path, path[1:], strict=False):
        memory.move(one, origin, target)
    assert capacity(memory).free_slots == 4


def test_quick_runs_are_claimed_far_ahead():
    assert after_runs_of(0.001, Memory()).room == 504


def test_slow_runs_are_claimed_only_for_free_slots():
    assert after_runs_of(60, Memory()).room == 4


def test_of_runs_of_a_second_half_as_many_as_there_are_slots_are_claimed_beyond_them():
    assert after_runs_of(1, Memory()).room == pytest.approx(6, abs=1)


def test_a_backlog_that_is_come_through_slowly_is_a_shallow_one():
    memory = Memory()
    found = after_runs_of(0.001, memory)
    for step in range(100):
        found.note_start(2, 0.1 * step, is_behind=True)
    assert found.room == pytest.approx(4 + 0.5 / 0.05, abs=1)


def test_pauses_without_a_backlog_say_nothing_of_the_pace():
    found = after_runs_of(0.001, Memory())
    for step in range(100):
        found.note_start(2, 10.0 * step, is_behind=False)
    assert found.room == 504


def test_where_ticks_are_dropped_all_are_claimed():
    found = Capacity(Memory(), slots=4, ahead=timedelta(seconds=1), drops=True)
    found.note(timedelta(seconds=60))
    assert found.room == 500


def test_there_is_no_less_room_than_none():
    memory = Memory()
    memory.add(entry(number) for number in range(10))
    assert after_runs_of(60, memory).room == 0


@pytest.mark.parametrize(("held", "room"), [(0, 504), (3, 501), (254, 250), (255, 0), (504, 0)])
def test_a_deep_buffer_is_filled_again_when_half_of_it_is_gone(held, room):
    memory = Memory()
    memory.add(entry(number) for number in range(held))
    assert after_runs_of(0.001, memory).room == room


def test_half_of_what_is_held_starts_in_half_of_the_time_it_takes():
    memory = Memory()
    memory.add(entry(number) for number in range(40))
    assert after_runs_of(0.1, memory).seconds_to_room == pytest.approx(0.5, rel=0.01)


def test_room_is_not_looked_for_again_at_once():
    assert after_runs_of(0.0001, Memory()).seconds_to_room >= 0.02


def test_ticks_that_wait_for_slots_do_not_keep_the_queue_out():
    memory = Memory()
    memory.add([entry(number) for number in range(1, 11)])
    assert capacity(memory).free_slots < 0
    assert capacity(memory).queue_slots == 1


def test_a_slow_spell_is_forgotten_when_there_is_no_backlog():
    found = after_runs_of(0.001, Memory())
    for step in range(100):
        found.note_start(2, 0.1 * step, is_behind=True)
    for step in range(100):
        found.note_start(1, 100.0 + step, is_behind=False)
    assert found.room == 504
