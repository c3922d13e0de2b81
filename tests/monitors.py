"""Monitors as tests use them; settings can name them."""

from __future__ import annotations

from typing import Any

from django_gocron.monitors.base import Monitor

METHODS = [name for name in vars(Monitor) if not name.startswith("_")]


def _recording(name: str) -> Any:
    def record(self: Recorder, *told: Any) -> None:
        self.calls.append((name, *told))

    return record


class Recorder(Monitor):
    """Keeps every call: the method's name, and what it was given."""

    def __init__(self, label: str = "") -> None:
        self.label = label
        self.calls: list[tuple[Any, ...]] = []

    @property
    def names(self) -> list[str]:
        return [call[0] for call in self.calls]

    def told(self, name: str) -> list[Any]:
        """What the method was given, call by call: the thing itself where that was one."""
        given = [call[1:] for call in self.calls if call[0] == name]
        return [one[0] if len(one) == 1 else one for one in given]


for _name in METHODS:
    setattr(Recorder, _name, _recording(_name))


class Failing(Monitor):
    """Raises when a run begins, in either of the two calls, and when a scheduler starts."""

    def run_started(self, event: Any) -> None:
        raise RuntimeError("no")

    def scheduling_delay(self, event: Any, delay: Any) -> None:
        raise RuntimeError("no")

    def scheduler_started(self, event: Any) -> None:
        raise RuntimeError("no")


class Refusing(Monitor):
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("no such server")
