"""The engine's threads: each repeats one step until it is told to stop, whatever the step runs into.

This is the loop's boundary: an error of the database is an outage, after which the thread backs off and goes on; any
other error is a fault of ours, logged with its traceback, after which it goes on too.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from django.db import close_old_connections

from django_gocron.clock import boottime
from django_gocron.engine.database import (
    DATABASE_ERRORS,
    engine_thread,
    is_away,
    is_contention,
    stamp,
    stamped_at,
)
from django_gocron.engine.outage import LONGEST_BACKOFF, SHORTEST_BACKOFF

if TYPE_CHECKING:
    from collections.abc import Callable

    from django_gocron.engine.outage import Outage

logger = logging.getLogger("django_gocron")

STAMP_PERIOD = 0.25
"""Seconds after which a thread that backs off shows that it is there."""

WAKE_PERIOD = 0.05
"""Seconds after which a thread that is to stop is woken again: it may have been about to wait."""


class EngineThread:
    """Calls ``step`` again and again; ``step`` does its own waiting. ``wake`` ends that early, for the stop."""

    def __init__(
        self, name: str, using: str, outage: Outage, step: Callable[[], None], wake: Callable[[], None]
    ) -> None:
        self.name = name
        self._using = using
        self._outage = outage
        self._step = step
        self._wake = wake
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"gocron-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_caller(self) -> bool:
        return self._thread is threading.current_thread()

    def has_stalled(self, seconds: float) -> bool:
        """Whether it runs and was not seen at work for so long: neither at a step nor at a unit of work."""
        seen_at = stamped_at(self._thread.ident)
        return self.is_alive and seen_at is not None and boottime() - seen_at > seconds

    def wake(self) -> None:
        """Let it look again now."""
        self._wake()

    def stop(self, seconds: float) -> None:
        """Ask the thread to end after its current step, and wait for that up to ``seconds``."""
        self._stopping.set()
        for _ in range(round(seconds / WAKE_PERIOD)):
            if not self._thread.is_alive() or self.is_caller:
                return
            self._wake()
            self._thread.join(WAKE_PERIOD)

    def _run(self) -> None:
        with engine_thread(self._using):
            backoff = SHORTEST_BACKOFF
            while not self._stopping.is_set():
                if self._succeeds():
                    backoff = SHORTEST_BACKOFF
                else:
                    self._back_off(backoff)
                    backoff = min(2 * backoff, LONGEST_BACKOFF)

    def _back_off(self, seconds: float) -> None:
        """Not at work, but not stalled either."""
        until = boottime() + seconds
        while (left := until - boottime()) > 0 and not self._stopping.wait(min(left, STAMP_PERIOD)):
            stamp()

    def _succeeds(self) -> bool:
        try:
            stamp()
            close_old_connections()
            self._step()
        except DATABASE_ERRORS as error:
            if is_contention(error):
                logger.debug("The %s did not obtain a lock: %s", self.name, error)
                return True
            if is_away(error):
                self._outage.note_failure(self.name, error)
            else:
                logger.exception("The %s met an error of the database and goes on.", self.name)
            return False
        except Exception:
            logger.exception("The %s met an error and goes on. Please report it.", self.name)
            return False
        self._outage.note_success(self.name)
        return True
