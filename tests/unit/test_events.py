from __future__ import annotations

import dataclasses
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.dispatch import Signal

from django_gocron import events, signals

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
KINDS = [
    kind
    for _name, kind in inspect.getmembers(events, inspect.isclass)
    if issubclass(kind, events.Event) and kind not in (events.Event, events.RunEvent, events.JobEvent)
]


def snake_case(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def started() -> events.SchedulerStarted:
    return events.SchedulerStarted(at=AT, instance=uuid4(), name="web-1")


def finished(job_name: str = "Sync") -> events.JobFinished:
    return events.JobFinished(at=AT, job_id=1, job_name=job_name)


@pytest.fixture
def subscribe() -> Iterator[Callable[[Callable[[events.Event], None]], None]]:
    """Subscribes a receiver for the length of a test."""
    receivers: list[Callable[[events.Event], None]] = []

    def subscribe_for_now(receiver: Callable[[events.Event], None]) -> None:
        receivers.append(receiver)
        events.subscribe(receiver)

    yield subscribe_for_now
    for receiver in receivers:
        events.unsubscribe(receiver)


Subscribe = Callable[[Callable[[events.Event], None]], None]


def test_every_receiver_gets_the_event(subscribe: Subscribe):
    first: list[events.Event] = []
    second: list[events.Event] = []
    subscribe(first.append)
    subscribe(second.append)
    event = started()
    events.publish(event)
    assert first == second == [event]


def test_a_receiver_that_subscribes_twice_is_called_once(subscribe: Subscribe):
    received: list[events.Event] = []
    note = received.append
    subscribe(note)
    subscribe(note)
    events.publish(started())
    assert len(received) == 1


def test_a_receiver_that_has_left_is_not_called():
    received: list[events.Event] = []
    note = received.append
    events.subscribe(note)
    events.unsubscribe(note)
    events.unsubscribe(note)
    events.publish(started())
    assert received == []


def test_a_receiver_that_fails_is_logged_and_disturbs_nobody(
    subscribe: Subscribe, caplog: pytest.LogCaptureFixture
):
    received: list[events.Event] = []

    def fail(_event: events.Event) -> None:
        raise RuntimeError("no")

    subscribe(fail)
    subscribe(received.append)
    events.publish(finished())
    assert len(received) == 1
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == "A receiver of events failed on JobFinished."
    assert record.exc_info


def test_a_receiver_may_leave_while_it_is_called(subscribe: Subscribe):
    received: list[events.Event] = []

    def once(event: events.Event) -> None:
        events.unsubscribe(once)
        received.append(event)

    after: list[events.Event] = []
    subscribe(once)
    subscribe(after.append)
    events.publish(started())
    events.publish(started())
    assert (len(received), len(after)) == (1, 2)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_event_is_a_frozen_fact_with_an_instant(kind: type[events.Event]):
    assert "at" in {field.name for field in dataclasses.fields(kind)}
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)


def test_an_event_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        finished().at = AT + timedelta(days=1)  # type: ignore[misc]


# Django's signals


def test_every_event_has_a_signal():
    assert set(signals.SIGNALS) == set(KINDS)


def test_every_event_and_its_signal_stand_in_the_reference():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == {(kind.__name__, snake_case(kind)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_signal_is_named_like_its_event(kind: type[events.Event]):
    assert signals.SIGNALS[kind] is getattr(signals, snake_case(kind))


def test_no_two_events_share_a_signal():
    assert len(set(map(id, signals.SIGNALS.values()))) == len(KINDS)


def test_a_signal_is_sent_with_the_event_and_its_kind():
    received: list[tuple[object, events.Event]] = []

    def note(sender: object, event: events.Event, **kwargs: object) -> None:
        received.append((sender, event))

    signals.job_finished.connect(note)
    try:
        event = finished()
        events.publish(event)
    finally:
        signals.job_finished.disconnect(note)
    assert received == [(events.JobFinished, event)]


def test_a_signal_without_receivers_is_not_sent(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: object, **kwargs: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Signal, "send_robust", refuse)
    signals.send(started())


def test_a_receiver_of_a_signal_that_fails_is_logged(caplog: pytest.LogCaptureFixture):
    def fail(**kwargs: object) -> None:
        raise RuntimeError("no")

    signals.job_finished.connect(fail)
    try:
        signals.send(finished())
    finally:
        signals.job_finished.disconnect(fail)
    (record,) = [record for record in caplog.records if record.name == "django_gocron"]
    assert "of a signal failed" in record.getMessage()
