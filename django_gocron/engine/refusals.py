"""Refusals: runs that were claimed and do not start.

A start may be prepared early; a refusal is decided at the instant, under the lock of the job's state row, where what
it rests on is read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine.database import unit
from django_gocron.engine.memory import State
from django_gocron.engine.settling import settle
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from django_gocron.engine.clock import Clock
    from django_gocron.engine.memory import Entry, Memory


class Refusals:
    """Ends runs before they begin. Called from the timer's thread only."""

    def __init__(self, using: str, clock: Clock, memory: Memory) -> None:
        self._using = using
        self._clock = clock
        self._memory = memory

    def refuse_late(self, entries: list[Entry]) -> list[Entry]:
        """Refuse the entries that are later than their starting deadline; answer the others."""
        now = self._clock.now()
        late = [entry for entry in entries if _is_late(entry, now)]
        self.end(late, Status.MISSED, Reason.DEADLINE)
        return [entry for entry in entries if entry not in late]

    def refuse_overlapping(self, entries: list[Entry]) -> None:
        """Refuse the entries whose instant has come and whose lock is held.

        Where the holder is ours and its code has ended, its result is about to be written: wait for that instead.
        """
        now = self._clock.now()
        ending = {entry.lock_key for entry in self._memory.entries(State.DONE)}
        due = [entry for entry in entries if entry.due_at <= now and entry.lock_key not in ending]
        self.end(due, Status.SKIPPED, Reason.OVERLAP)

    def end(self, entries: Sequence[Entry], status: Status, reason: Reason) -> None:
        """Give the runs their last status, in one transaction, and forget them."""
        if not entries:
            return
        ended = unit(self._using, lambda: self._end(entries, status, reason))
        gone = [entry for entry in entries if entry.run_id in ended]
        self._memory.forget(gone)
        for entry in gone:
            events.publish(_fact(entry, status, reason, self._clock.now()))

    def _end(self, entries: Sequence[Entry], status: Status, reason: Reason) -> set[int]:
        ids = {entry.job_id for entry in entries}
        states = list(JobState.objects.using(self._using).select_for_update().filter(pk__in=ids).order_by("pk"))
        claimed = claims_of(self._using, entries).filter(status=Status.CLAIMED)
        if reason is Reason.OVERLAP:
            keys = {entry.lock_key for entry in entries}
            held = Run.objects.using(self._using).filter(held_lock__in=keys).values_list("held_lock", flat=True)
            claimed = claimed.filter(lock_key__in=list(held))
        rows = dict(claimed.select_for_update().order_by("pk").values_list("pk", "job_id"))
        now = self._clock.now()
        Run.objects.using(self._using).filter(pk__in=rows).update(status=status, reason=reason, finished_at=now)
        settle(self._using, [(state, str(status)) for state in states if state.pk in rows.values()], now)
        return set(rows)


def claims_of(using: str, entries: Sequence[Entry]) -> QuerySet[Run]:
    """The rows of the entries, as far as the claims they came from still own them."""
    return Run.objects.using(using).filter(
        pk__in=[entry.run_id for entry in entries],
        instance__in={entry.instance_id for entry in entries},
        claim_id__in={entry.claim_id for entry in entries},
    )


def _is_late(entry: Entry, now: datetime) -> bool:
    return entry.starting_deadline is not None and entry.due_at + entry.starting_deadline < now


def _fact(entry: Entry, status: Status, reason: Reason, now: datetime) -> events.Event:
    if status is Status.MISSED:
        return events.TicksMissed(
            at=now,
            job_id=entry.job_id,
            job_name=entry.job_name,
            reason=reason.value,
            count=1,
            first=entry.scheduled_for,
            last=entry.scheduled_for,
        )
    return events.RunSkipped(at=now, reason=reason.value, **entry.identity())
