"""Tasks that leave evidence outside of the database: a line when user code begins and a line when it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path

from django_gocron import current_run
from django_gocron.clock import boottime
from django_gocron.engine.barriers import append
from django_gocron.exceptions import StaleRunError


def note(seconds: float = 0.0) -> int:
    """Takes about that long."""
    _write("begin")
    time.sleep(seconds)
    _write("end")
    return os.getpid()


def wait_for(path: str) -> None:
    """Ends when there is a file at ``path``; then it asks whether it may still write elsewhere."""
    _write("begin")
    while not Path(path).exists():
        time.sleep(0.02)
    _draw_token()
    _write("end")


def fence() -> None:
    """Writes elsewhere, as a run that may have been replaced should."""
    _write("begin")
    _draw_token()
    _write("end")


def leave_no_trace() -> None:
    """For very many runs."""


def _draw_token() -> None:
    run = current_run()
    assert run is not None
    asked_at = boottime()
    try:
        _write("token", token=run.token, asked_at=asked_at)
    except StaleRunError:
        _write("stale")
        raise


def _write(kind: str, **facts: object) -> None:
    run = current_run()
    assert run is not None
    append(
        os.environ["GOCRON_TRACE"],
        kind=kind,
        run=run.run_id,
        job=run.job_id,
        name=run.job_name,
        tick=run.scheduled_for.isoformat(),
        attempt=run.attempt,
        **facts,
    )


TASKS = (note, wait_for, fence, leave_no_trace)
