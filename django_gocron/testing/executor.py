"""An executor for tests: it keeps what it is given until it is told to run it, in the calling thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgiref.sync import async_to_sync

from django_gocron.executors.running import call, call_async_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.executors.base import Clock, Work


class CallingThreadExecutor:
    """Coroutines run on an event loop of their own, and the synchronous code that they call in the calling thread."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.submitted: list[Work] = []

    def start(self) -> None: ...

    def submit(self, work: Work) -> None:
        self.submitted.append(work)

    def call(self, work: Callable[[], None]) -> None:
        work()

    is_caller = False

    def stop(self, seconds: float) -> bool:
        return True

    def run(self) -> int:
        """Run what was submitted, each at its instant; answer how many began."""
        works, self.submitted = self.submitted, []
        return sum(self._run(work) for work in works)

    def _run(self, work: Work) -> bool:
        self.clock.sleep(max(0.0, (work.due_at - self.clock.now()).total_seconds()))
        may_begin = work.begin()
        if may_begin is None:  # the lease has run out meanwhile: once it is renewed it is asked again
            self.submitted.append(work)
        if not may_begin:
            return False
        run = async_to_sync(call_async_here) if work.task.is_async else call
        work.finish(run(work, self.clock))
        return True
