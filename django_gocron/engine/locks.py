"""The locks of runs, as they stand in the database: who holds one, and who waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.engine.database import read
from django_gocron.models import Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from django_gocron.engine.memory import Entry


def held_keys(using: str, entries: Sequence[Entry]) -> set[str]:
    """Which of the entries' lock keys another run holds now. An entry that holds its own was started by a write whose
    answer got lost: it is started again, and found to be running."""
    keys = {entry.lock_key for entry in entries if entry.lock_key}
    if not keys:
        return set()
    ours = [entry.run_id for entry in entries]
    held = Run.objects.using(using).filter(held_lock__in=keys).exclude(pk__in=ours)
    return {key for key in read(using, lambda: list(held.values_list("held_lock", flat=True))) if key}


def queued_keys(using: str, entries: Sequence[Entry]) -> set[str]:
    """Which of the entries' lock keys have ticks that wait in the queue, of those that wait behind such."""
    keys = {entry.lock_key for entry in entries if entry.must_queue}
    if not keys:
        return set()
    waiting = waiting_ticks(using, [entry for entry in entries if entry.must_queue])
    return set(read(using, lambda: list(waiting.values_list("lock_key", flat=True))))


def waiting_ticks(using: str, entries: Sequence[Entry]) -> QuerySet[Run]:
    """Ticks with the lock keys of these that wait for the end of a live run, or have just been taken from the queue."""
    return Run.objects.using(using).filter(
        job__in={entry.job_id for entry in entries},
        lock_key__in={entry.lock_key for entry in entries},
        status__in=(Status.QUEUED, Status.CLAIMED),
        reason=Reason.OVERLAP,
    )
