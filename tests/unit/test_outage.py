from __future__ import annotations

from datetime import timedelta

from django_gocron import events
from django_gocron.engine.outage import Outage
from django_gocron.testing import FakeClock
from tests.heard import Heard

GONE = OSError("  connection refused\n")


def test_an_outage_is_told_once_whoever_meets_it():
    outage = Outage(FakeClock())
    with Heard(events.DatabaseLost) as heard:
        for where in ("loop", "writer", "loop"):
            outage.note_failure(where, GONE)
    assert [(event.where, event.error) for event in heard] == [("loop", "connection refused")]


def test_the_end_of_an_outage_is_told_with_how_long_it_was():
    clock = FakeClock()
    outage = Outage(clock)
    outage.note_failure("loop", GONE)
    clock.advance(90)
    with Heard(events.DatabaseRecovered) as heard:
        outage.note_success("loop")
        outage.note_success("loop")
    assert [(event.where, event.after) for event in heard] == [("loop", timedelta(seconds=90))]


def test_an_outage_is_over_when_all_who_met_it_are_through():
    outage = Outage(FakeClock())
    for where in ("loop", "writer"):
        outage.note_failure(where, GONE)
    with Heard(events.DatabaseRecovered) as heard:
        outage.note_success("loop")
        assert len(heard) == 0
        outage.note_success("timer")
        outage.note_success("writer")
    assert [event.where for event in heard] == ["writer"]


def test_success_without_an_outage_is_no_news():
    with Heard(events.DatabaseRecovered) as heard:
        Outage(FakeClock()).note_success("loop")
    assert len(heard) == 0


def test_a_second_outage_is_told_again():
    outage = Outage(FakeClock())
    with Heard(events.DatabaseLost) as heard:
        outage.note_failure("loop", GONE)
        outage.note_success("loop")
        outage.note_failure("loop", GONE)
    assert len(heard) == 2
