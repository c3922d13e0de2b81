"""One event loop, in a thread of its own, for the tasks that are coroutines."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from django_gocron.executors.base import BEGIN_AGAIN
from django_gocron.executors.running import call_async

if TYPE_CHECKING:
    from django_gocron.executors.base import Clock, Work

logger = logging.getLogger("django_gocron")


class EventLoop:
    """Started with the first coroutine. ``submit`` and ``stop`` are called from other threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    def submit(self, work: Work) -> None:
        if self._loop is None:
            self._loop = self._start()
        self._loop.call_soon_threadsafe(self._create, work)

    def stop(self) -> None:
        """The loop ends with its last coroutine."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def join(self, seconds: float) -> None:
        """Wait for the loop's end, up to ``seconds``."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def is_caller(self) -> bool:
        return self._thread is threading.current_thread()

    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(loop,), name="gocron-event-loop", daemon=True)
        self._thread.start()
        return loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            while not (self._is_stopping and not self._tasks):
                self._run_once(loop)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _run_once(self, loop: asyncio.AbstractEventLoop) -> None:
        """What a task of the user's own making raises to end the interpreter ends this call: the others go on."""
        try:
            loop.run_forever()
        except BaseException:
            logger.exception("A coroutine that a run has started tried to end the process.")

    def _create(self, work: Work) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._execute(work), name=f"gocron run {work.context.run_id}")
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._is_stopping:
            self._stop()

    def _stop(self) -> None:
        assert self._loop is not None
        self._is_stopping = True
        if not self._tasks:
            self._loop.stop()

    async def _execute(self, work: Work) -> None:
        if await self._hold(work):
            self._heed(work)
            work.finish(await call_async(work, self._clock))

    def _heed(self, work: Work) -> None:
        """Let the current task, whose code is about to begin, be cancelled when the run is asked to end."""
        task, loop = asyncio.current_task(), self._loop
        assert task is not None
        assert loop is not None

        def cancel() -> None:
            with suppress(RuntimeError):  # the loop has ended, and the run with it
                loop.call_soon_threadsafe(task.cancel)

        work.cancellation.listen(cancel)

    async def _hold(self, work: Work) -> bool:
        """Wait for the instant; answer whether the run may begin. The code of another run cannot end the wait by
        cancelling whatever there is."""
        while not self._is_stopping:
            try:
                while (early := (work.due_at - self._clock.now()).total_seconds()) > 0:
                    await asyncio.sleep(early)
                while (may_begin := work.begin()) is None:
                    await asyncio.sleep(BEGIN_AGAIN)
            except asyncio.CancelledError:
                continue
            return may_begin
        return False
