"""The executor of runs in this process: threads for functions, one event loop for coroutines.

Each worker takes a run, holds it until its instant, asks whether it may still begin, runs it, reports, and takes the
next. A worker waits inside the hold, so that the timer's own work never makes a run late.
"""

from __future__ import annotations

import threading
from contextvars import copy_context
from datetime import timedelta
from queue import SimpleQueue
from typing import TYPE_CHECKING

from django.db import connections

from django_gocron.executors.base import BEGIN_AGAIN
from django_gocron.executors.coroutines import EventLoop
from django_gocron.executors.running import call

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.executors.base import Clock, Work


class ThreadExecutor:
    """``workers`` threads, which are started when first needed, and an event loop."""

    def __init__(self, clock: Clock, *, workers: int) -> None:
        self._clock = clock
        self._workers = workers
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._loop = EventLoop(clock)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for number in range(1, self._workers + 1):
            self._start(f"gocron-worker-{number}", self._work)
        self._start("gocron-listener", self._listen)

    def submit(self, work: Work) -> None:
        if work.task.is_async:
            self._loop.submit(work)
        else:
            self._queue.put(work)

    def call(self, work: Callable[[], None]) -> None:
        self._calls.put(work)

    @property
    def is_caller(self) -> bool:
        return threading.current_thread() in self._threads or self._loop.is_caller

    def stop(self, seconds: float) -> bool:
        for _ in self._threads:
            self._queue.put(None)
        self._calls.put(None)
        self._loop.stop()
        deadline = self._clock.now() + timedelta(seconds=seconds)
        ending: list[threading.Thread | EventLoop] = [*self._threads, self._loop]
        for thread in ending:
            thread.join(max(0.0, (deadline - self._clock.now()).total_seconds()))
        return not any(thread.is_alive() for thread in ending)

    def _start(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _listen(self) -> None:
        """One thread, so that a slow listener keeps no run waiting but only those like it."""
        try:
            while (call := self._calls.get()) is not None:
                copy_context().run(call)
        finally:
            connections.close_all()

    def _work(self) -> None:
        try:
            while (work := self._queue.get()) is not None:
                self._execute(work)
        finally:
            connections.close_all()

    def _execute(self, work: Work) -> None:
        """In a context of its own: what a task leaves in context variables does not reach the next one."""
        while (early := (work.due_at - self._clock.now()).total_seconds()) > 0:
            self._clock.sleep(early)
        while (may_begin := work.begin()) is None:
            self._clock.sleep(BEGIN_AGAIN)
        if may_begin:
            work.finish(copy_context().run(call, work, self._clock))
