"""One event loop, in a thread of its own, for the tasks that are coroutines."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from django_gocron.executors.base import BEGIN_AGAIN
from django_gocron.executors.running import call_async

if TYPE_CHECKING:
    from django_gocron.executors.base import Clock, Work


class EventLoop:
    """Started with the first coroutine. ``submit``, ``cancel`` and ``stop`` are called from other threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, work: Work) -> None:
        if self._loop is None:
            self._loop = self._start()
        self._loop.call_soon_threadsafe(self._create, work)

    def cancel(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel_all)

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, args=(loop,), name="gocron-event-loop", daemon=True).start()
        return loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()

    def _create(self, work: Work) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._execute(work), name=f"gocron run {work.context.run_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _execute(self, work: Work) -> None:
        await asyncio.sleep((work.due_at - self._clock.now()).total_seconds())
        while (may_begin := work.begin()) is None:
            await asyncio.sleep(BEGIN_AGAIN)
        if may_begin:
            work.finish(await call_async(work, self._clock))
