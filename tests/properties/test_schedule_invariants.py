"""What holds for any schedule, whatever its kind, its zone, and the moment it is asked at."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from hypothesis import assume, given, settings

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Schedule
from tests.properties.strategies import Job, jobs
from tests.properties.subjects import Subject, subject

of_any_kind = given(jobs())
quietly = settings(deadline=None, max_examples=100)


def accepted(job: Job) -> Subject:
    """The subject, where the schedule is not refused because it never fires."""
    try:
        return subject(job)
    except ScheduleError as refusal:
        assume(refusal.code != "never_fires")
        raise


@quietly
@of_any_kind
def test_the_next_tick_is_strictly_later_than_the_moment(job: Job) -> None:
    asked = accepted(job)
    tick = asked.schedule.next_after(asked.moment, **asked.context)
    assert tick is None or tick > asked.moment


@quietly
@of_any_kind
def test_the_latest_tick_at_a_tick_is_that_tick(job: Job) -> None:
    asked = accepted(job)
    tick = asked.schedule.next_after(asked.moment, **asked.context)
    assume(tick is not None)
    assert tick is not None
    assert asked.schedule.latest_before(tick, **asked.context) == tick


@quietly
@of_any_kind
def test_no_tick_lies_between_the_latest_and_the_next(job: Job) -> None:
    asked = accepted(job)
    latest = asked.schedule.latest_before(asked.moment, **asked.context)
    assume(latest is not None)
    assert latest is not None
    assert latest <= asked.moment
    after_latest = asked.schedule.next_after(latest, **asked.context)
    assert after_latest == asked.schedule.next_after(asked.moment, **asked.context)


@quietly
@of_any_kind
def test_a_preview_rises_and_each_of_its_ticks_is_the_next_after_the_one_before(job: Job) -> None:
    asked = accepted(job)
    preview = list(asked.schedule.preview(6, after=asked.moment, **asked.context))
    for earlier, later in pairwise([asked.moment, *preview]):
        assert earlier < later
        assert asked.schedule.next_after(earlier, **asked.context) == later


@quietly
@of_any_kind
def test_a_schedule_survives_a_round_trip_through_json_data(job: Job) -> None:
    schedule = accepted(job).schedule
    restored = Schedule.from_dict(schedule.to_dict())
    assert restored == schedule
    assert hash(restored) == hash(schedule)


@quietly
@of_any_kind
def test_a_moment_in_local_time_has_the_same_answer_in_utc(job: Job) -> None:
    asked = accepted(job)
    local = asked.moment.astimezone(asked.context["zone"])
    tick = asked.schedule.next_after(local, **asked.context)
    assert tick == asked.schedule.next_after(asked.moment, **asked.context)
    assert tick is None or tick.utcoffset() == timedelta(0)
