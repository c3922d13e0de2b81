"""Counts and durations, kept in memory: for tests, and as an example of a monitor."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron.monitors.base import Monitor

if TYPE_CHECKING:
    from django_gocron import events
    from django_gocron.monitors.base import FinishedRun

OTHERS = "(others)"
"""What jobs are called for which there is no room; a name that a job can have, too."""


class MemoryMonitor(Monitor):
    """Of each process its own, from the start of its scheduler on. ``most_jobs`` are told apart, by name; those that
    come later are counted together. May be asked from any thread."""

    def __init__(self, most_jobs: int = 1000) -> None:
        self._most_jobs = most_jobs
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._last_took: dict[str, timedelta] = {}
        self._delays: dict[str, tuple[int, timedelta]] = {}

    def counts(self) -> dict[tuple[str, str, str], int]:
        """How many runs have ended, and how many ticks were missed, by job, status and reason."""
        with self._lock:
            return dict(self._counts)

    def last_took(self, job_name: str) -> timedelta | None:
        """How long the job's last run executed, of those that did."""
        with self._lock:
            return self._last_took.get(job_name)

    def mean_delay(self, job_name: str) -> timedelta | None:
        """How late the job's runs began, on average."""
        with self._lock:
            number, total = self._delays.get(job_name, (0, timedelta(0)))
            return total / number if number else None

    def run_finished(self, run: FinishedRun) -> None:
        with self._lock:
            self._counts[self._place(run.job_name), run.status, run.reason] += 1

    def ticks_missed(self, event: events.TicksMissed) -> None:
        with self._lock:
            self._counts[self._place(event.job_name), "missed", event.reason] += event.count

    def execution_time(self, run: FinishedRun, took: timedelta) -> None:
        with self._lock:
            self._last_took[self._place(run.job_name)] = took

    def scheduling_delay(self, event: events.RunStarted, delay: timedelta) -> None:
        with self._lock:
            name = self._place(event.job_name)
            number, total = self._delays.get(name, (0, timedelta(0)))
            self._delays[name] = (number + 1, total + delay)

    def _place(self, name: str) -> str:
        if name not in self._names and len(self._names) >= self._most_jobs:
            return OTHERS
        self._names.add(name)
        return name
