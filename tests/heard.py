"""Events, as tests hear them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

from django_gocron import events

PATIENCE = 60.0
"""Seconds after which what a test waits for counts as never coming."""


class Heard:
    """``with Heard(RunStarted) as heard: ...`` keeps the events of these kinds, whichever thread publishes them."""

    def __init__(self, *kinds: type[events.Event]) -> None:
        self._kinds = kinds
        self._events: list[Any] = []
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        events.subscribe(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        events.unsubscribe(self._hear)

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)

    def wait_for(self, number: int = 1, *, where: Callable[[Any], bool] = lambda event: True) -> list[Any]:
        """The first ``number`` events for which ``where`` holds, once they have been published."""

        def found() -> list[Any]:
            return [event for event in self._events if where(event)]

        with self._changed:
            if not self._changed.wait_for(lambda: len(found()) >= number, PATIENCE):
                raise AssertionError(f"{number} expected, heard only: {self._events}")
            return found()[:number]

    def _hear(self, event: events.Event) -> None:
        if isinstance(event, self._kinds):
            with self._changed:
                self._events.append(event)
                self._changed.notify_all()
