"""The vigil: an instance whose threads do not work must not keep its lease.

The heartbeat is a thread of its own, so it would go on renewing for a loop, a timer or a writer that hangs, and nobody
would ever take over. So before each renewal it looks whether these were seen at work of late. Where one was not it gets
a moment (this process may have been frozen as a whole), then the lease is left alone. If the thread is not back a lease
later, the process is to end: whoever supervises it starts another.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from django_gocron.engine.threads import EngineThread

MOMENT = 1.0
"""Seconds in which a thread may show that it works after all."""

STEP = 0.05


class Vigil:
    """Called from the heartbeat's thread."""

    def __init__(self, lease: timedelta) -> None:
        self._longest = lease.total_seconds() / 2
        self._threads: Sequence[EngineThread] = ()
        self._pause = threading.Event()

    def watch(self, threads: Sequence[EngineThread]) -> None:
        self._threads = threads

    def find_stalled(self) -> list[str]:
        """The names of the threads that have not been at work for half a lease, and are not after a moment either."""
        for _ in range(round(MOMENT / STEP)):
            stalled = [thread for thread in self._threads if thread.has_stalled(self._longest)]
            if not stalled:
                return []
            for thread in stalled:
                thread.wake()
            self._pause.wait(STEP)
        return [thread.name for thread in stalled]
