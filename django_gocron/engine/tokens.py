"""Tokens: numbers that grow with the runs of a job, so that whoever keeps the greatest can refuse what comes too late.

A token is drawn when a run first asks for it, from a counter in the state row of its job, in one transaction, and only
while the run is running and ours. It is kept in the run's row, and answered from there from then on.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from django.db import connections
from django.db.models import F

from django_gocron.engine.database import unit
from django_gocron.engine.requeueing import claims_of
from django_gocron.exceptions import StaleRunError
from django_gocron.models import JobState
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from django_gocron.engine.memory import Entry


def draw_token(using: str, entry: Entry) -> int:
    """The token of the run; drawn if it has none. Raises ``StaleRunError`` (``stale_run``).

    Inside a transaction of the task's it is drawn on a connection of its own, where there can be two: a counter that
    is rolled back would give a number twice, and the job's state row would stay locked until the task commits.
    """
    if connections[using].in_atomic_block and connections[using].vendor != "sqlite":
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(_draw_aside, using, entry).result()
    return unit(using, lambda: _draw(using, entry))


def _draw_aside(using: str, entry: Entry) -> int:
    try:
        return unit(using, lambda: _draw(using, entry))
    finally:
        connections[using].close()


def _draw(using: str, entry: Entry) -> int:
    """The state row is locked before the run, as everywhere."""
    states = JobState.objects.using(using).filter(pk=entry.job_id)
    mine = claims_of(using, [entry]).filter(status=Status.RUNNING)
    drawn = mine.values_list("token", flat=True).first()
    if drawn is not None:
        return drawn
    states.update(token_counter=F("token_counter") + 1)
    counter = states.values_list("token_counter", flat=True).first()
    mine.filter(token__isnull=True).update(token=counter)
    token = mine.select_for_update().values_list("token", flat=True).first()
    if token is None:
        raise StaleRunError("The run is not this process's any more: it may write nothing.", code="stale_run")
    return token
