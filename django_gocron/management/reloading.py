"""A scheduler under Django's autoreloader, with the stop sequence kept.

Two processes: the parent starts the child again whenever it exits with 3, and must outlive a Ctrl-C until the child
has stopped. In the child the reloader has the main thread and the scheduler another; the stop is made in the main
thread, before a changed file or a Ctrl-C ends the process, and at the exit when something else does.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from django.utils import autoreload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from django_gocron.engine.scheduler import Scheduler


def run_reloading(start: Callable[[], Scheduler]) -> None:
    """Run what ``start`` answers, a scheduler that it has started, until stopped; again whenever code changes."""
    if os.environ.get(autoreload.DJANGO_AUTORELOAD_ENV) == "true":
        child = _Child(start)
        signal.signal(signal.SIGINT, child.interrupt)
        autoreload.file_changed.connect(child.prepare_reload, weak=False)
        atexit.register(child.stop)
        autoreload.run_with_reloader(child.run)
    else:
        signal.signal(signal.SIGINT, lambda *_: None)
        autoreload.run_with_reloader(start)


class _Child:
    def __init__(self, start: Callable[[], Scheduler]) -> None:
        self._start = start
        self._scheduler: Scheduler | None = None
        self._leaving = threading.Event()

    def run(self) -> None:
        """In the reloader's thread for the program."""
        self._scheduler = self._start()
        self._scheduler.wait()
        if not self._leaving.is_set():
            os._exit(1 if self._scheduler.shutdown().abandoned else 0)

    def stop(self) -> None:
        """In the main thread."""
        self._leaving.set()
        if self._scheduler is not None:
            self._scheduler.shutdown()

    def interrupt(self, *_: Any) -> None:
        if self._leaving.is_set():
            if self._scheduler is not None:
                self._scheduler.request_stop()
            return
        self.stop()
        sys.exit(0)

    def prepare_reload(self, sender: Any, file_path: Path, **kwargs: Any) -> None:
        """Other files than code may be dealt with by others, without a reload."""
        if file_path.suffix == ".py":
            self.stop()
