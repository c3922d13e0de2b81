"""What the contract suites have in common: what their users override, and how long they wait."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron import clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

LONG = timedelta(seconds=60)
"""A TTL that does not end during a test."""

SHORT = timedelta(seconds=1)
"""One whose end a test waits for."""

RENEWED = timedelta(seconds=2)
"""One that a test outlasts by renewals, though the machine may be busy."""

PATIENCE = 30.0
"""Seconds after which what a test waits for counts as never coming."""

LOOK_AGAIN = 0.02

LEEWAY = 0.05
"""Seconds by which two clocks may differ on how long something lasted."""


class Contract:
    """The root of the suites."""

    uses_host_clock = False
    """Whether the backend's clock is that of the host; then nothing is asserted of hosts whose clocks differ."""

    def prepare_process(self) -> None:
        """Called once in each other process that a test starts, after ``django.setup()``: what fixtures do
        otherwise."""

    def outage(self) -> AbstractContextManager[object] | None:
        """A context in which the backend is away from objects made before. None: that is not tested."""
        return None


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = clock.boottime() + PATIENCE
    while not condition():
        assert clock.boottime() < deadline, f"That did not come within {PATIENCE:g} s."
        clock.pause(LOOK_AGAIN)
