"""Refusals: runs that were claimed and do not start.

A start may be prepared early; a refusal is decided at the instant, under the lock of the job's state row, where what
it rests on is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Case, Value, When

from django_gocron import events
from django_gocron.engine.database import skips_locked, statement, unit
from django_gocron.engine.external_locks import reason_of, words_of
from django_gocron.engine.locks import held_keys
from django_gocron.engine.memory import State
from django_gocron.engine.requeueing import OWNED, claims_of, give_back
from django_gocron.engine.settling import lock_free_states, settle
from django_gocron.models import Run
from django_gocron.models.choices import Overlap, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django_gocron.clock import Clock
    from django_gocron.engine.external_locks import ExternalLocks
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.engine.queues import Queues
    from django_gocron.engine.recovery import Recovery
    from django_gocron.lockers.base import Refusal


UNLOCKED_PAUSE = timedelta(seconds=5)
"""Before a retry asks again for the lock it was refused."""

NO_WORDS: Mapping[int, str] = {}


class Refusals:
    """Ends runs before they begin. Called from the timer's thread only."""

    def __init__(
        self,
        using: str,
        clock: Clock,
        memory: Memory,
        recovery: Recovery,
        queues: Queues,
        locks: ExternalLocks,
    ) -> None:
        self._locks = locks
        self._using = using
        self._clock = clock
        self._memory = memory
        self._recovery = recovery
        self._queues = queues

    def refuse_late(self, entries: list[Entry]) -> list[Entry]:
        """Refuse the entries that are later than their starting deadline; answer the others."""
        now = self._clock.now()
        late = {entry.run_id for entry in entries if _is_late(entry, now)}
        late -= self.end([entry for entry in entries if entry.run_id in late], Status.MISSED, Reason.DEADLINE)
        return [entry for entry in entries if entry.run_id not in late]

    def refuse_overlapping(self, entries: list[Entry]) -> None:
        """Refuse the entries whose instant has come and whose lock is held, or whose job has ticks queued. Ticks are
        skipped, or queued where their job says so or where they are being caught up with; retries and runs by hand wait
        in the queue.

        Where the holder is ours and its code has ended, its result is about to be written: wait for that instead. Where
        the holder's instance is gone, that is reaped instead, as soon as we may judge others.
        """
        now = self._clock.now()
        ending = {entry.lock_key for entry in self._memory.entries(State.DONE)}
        due = [entry for entry in entries if entry.due_at <= now and entry.lock_key not in ending]
        if not due:
            return
        abandoned = self._recovery.reap_holders({entry.lock_key for entry in due})
        due = [entry for entry in due if entry.lock_key not in abandoned]
        self._return([entry for entry in due if not entry.is_tick])
        ticks = [entry for entry in due if entry.is_tick]
        skipped = [entry for entry in ticks if entry.overlap == Overlap.SKIP and not entry.is_caught_up]
        self.end(skipped, Status.SKIPPED, Reason.OVERLAP)
        self._queues.join([entry for entry in ticks if entry not in skipped])

    def refuse_unlocked(self, refused: Mapping[Entry, Refusal]) -> None:
        """Skip the entries whose instant has come and whose locker refused them their lock, each with what it answered;
        retries come back after a while."""
        now = self._clock.now()
        due = [entry for entry in refused if entry.due_at <= now]
        for entry in due:
            self._locks.tell_refused(entry, refused[entry])
        retries = [entry for entry in due if entry.attempt > 1]
        self._postpone(retries, now + UNLOCKED_PAUSE)
        for reason in (Reason.LOCK_BUSY, Reason.LOCK_ERROR):
            ending = [e for e in due if e not in retries and reason_of(refused[e]) is reason]
            self.end(ending, Status.SKIPPED, reason, {e.run_id: words_of(refused[e]) for e in ending})

    def refuse_beyond_limit(self, entries: list[Entry]) -> None:
        """Skip ticks, and return retries and runs by hand to the queue."""
        self._return([entry for entry in entries if not entry.is_tick])
        self.end([entry for entry in entries if entry.is_tick], Status.SKIPPED, Reason.LIMIT)

    def end(
        self, entries: Sequence[Entry], status: Status, reason: Reason, words: Mapping[int, str] = NO_WORDS
    ) -> set[int]:
        """Give the runs their last status, in one transaction, and forget them, and those that are not ours any more.
        ``words`` are for people, by the ids of runs.

        What somebody else has locked is left, to be looked at again. Answers the ids of the runs that are running: a
        write whose answer got lost has started them.
        """
        if not entries:
            return set()
        ended, gone, running = unit(self._using, lambda: self._end(entries, status, reason, words))
        self._memory.forget([*ended, *gone])
        for entry in ended:
            events.publish(_fact(entry, status, reason, self._clock.now()))
        return running

    def _end(
        self, entries: Sequence[Entry], status: Status, reason: Reason, words: Mapping[int, str]
    ) -> tuple[list[Entry], list[Entry], set[int]]:
        states = lock_free_states(self._using, {entry.job_id for entry in entries})
        reached = [entry for entry in entries if entry.job_id in states]
        rows = claims_of(self._using, entries).select_for_update(skip_locked=skips_locked(self._using))
        found = dict(rows.order_by("pk").values_list("pk", "status"))
        ours = claims_of(self._using, entries).filter(status__in=OWNED)
        still = set(ours.values_list("pk", flat=True))
        gone = [entry for entry in entries if entry.run_id not in still]
        ending = [entry for entry in reached if found.get(entry.run_id) == Status.CLAIMED]
        if reason is Reason.OVERLAP:
            busy = held_keys(self._using, ending)
            ending = [entry for entry in ending if entry.lock_key in busy]
        now = self._clock.now()
        ids = [entry.run_id for entry in ending]
        Run.objects.using(self._using).filter(pk__in=ids).update(
            status=status, reason=reason, finished_at=now, error_message=_said(words)
        )
        settle(self._using, [(states[entry.job_id], status.value) for entry in ending], now)
        return ending, gone, {pk for pk, found_status in found.items() if found_status == Status.RUNNING}

    def _postpone(self, entries: Sequence[Entry], until: datetime) -> None:
        """To the queue, not to be taken before ``until``."""
        claims = claims_of(self._using, entries)
        if entries:
            statement(self._using, lambda: claims.filter(status=Status.CLAIMED).update(available_at=until))
            self._return(entries)

    def _return(self, entries: Sequence[Entry]) -> None:
        """To the queue, for the reason they were in it."""
        if entries:
            statement(self._using, lambda: give_back(self._using, entries))
            self._memory.forget(entries)


def _said(words: Mapping[int, str]) -> Case | Value:
    whens = [When(pk=pk, then=Value(text)) for pk, text in words.items()]
    return Case(*whens, default=Value(""), output_field=Run.error_message.field) if whens else Value("")


def _is_late(entry: Entry, now: datetime) -> bool:
    return entry.starting_deadline is not None and entry.due_at + entry.starting_deadline < now


def _fact(entry: Entry, status: Status, reason: Reason, now: datetime) -> events.Event:
    if status is Status.MISSED:
        return events.TicksMissed(
            at=now,
            job_id=entry.job_id,
            job_name=entry.job_name,
            tags=entry.tags,
            reason=reason.value,
            count=1,
            first=entry.scheduled_for,
            last=entry.scheduled_for,
        )
    return events.RunSkipped(at=now, reason=reason.value, **entry.identity())
