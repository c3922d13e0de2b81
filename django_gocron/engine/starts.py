"""Starts: from claimed to running, before any user code.

A run's entry is ``held`` when it comes here, and leaves as ``hold`` (running in the database, ours to execute),
``held`` again (its lock is taken: to be looked at again at its instant), or forgotten (refused, or not ours any more).

1. One run of each lock key, in the order of the keys. The keys that are held are read, and those runs set aside; so
   are those that come after ticks in the queue, and those that another locker refuses their lock (external locks).
2. One statement moves the others: still claimed, claimed by us, the lease they were claimed under valid. It takes their
   locks too.
3. Fewer moved than asked: read back which. Running and ours: it worked. Claimed and ours: our lease is over. Else
   the row was withdrawn, and is dropped.
4. Somebody took a lock between 1 and 2: nothing has moved. Again from 1, at last under the state rows' locks.
5. A run whose lock is still held, or refused, at its instant is refused (see refusals).

Step 2 is one statement in autocommit: the server completes it even if this process freezes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from django.db import IntegrityError, OperationalError, connections, transaction
from django.db.models import F, OuterRef, Value
from django.db.models.functions import Greatest, NullIf

from django_gocron.engine import barriers
from django_gocron.engine.database import is_contention, read, statement, unit
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.locks import held_keys, queued_keys
from django_gocron.engine.memory import State
from django_gocron.engine.requeueing import claims_of
from django_gocron.engine.settling import lock_free_states
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from django_gocron.clock import Clock
    from django_gocron.engine.external_locks import ExternalLocks
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry, Memory
    from django_gocron.engine.refusals import Refusals

RACES = 3
"""How often the plain way is tried when others take locks at the same time."""


class Starts:
    """Begins runs. Called from the timer's thread only."""

    def __init__(
        self,
        using: str,
        clock: Clock,
        lease: Lease,
        memory: Memory,
        locks: ExternalLocks,
        refusals: Refusals,
    ) -> None:
        self._locks = locks
        self._using = using
        self._clock = clock
        self._lease = lease
        self._memory = memory
        self._refusals = refusals
        self._locked: set[int] = set()  # runs that somebody else had locked, when last looked at

    def start(self, entries: Sequence[Entry], execute: Callable[[Entry], None]) -> list[Entry]:
        """Start what may start now, and hand it to ``execute`` in state ``hold``. Answers the entries whose lock is
        held, or refused, or whose job has ticks in the queue that come first.

        Raises ``DatabaseError`` when the database is away; then what was not handed over is ``held`` again.
        """
        self._locked &= {entry.run_id for entry in self._memory.held()}
        starting = [entry for entry in entries if self._memory.move(entry, State.HELD, State.STARTING)]
        try:
            candidates = self._refusals.refuse_late(starting)
            return self._start(
                [entry for entry in candidates if not self._is_of_another_life(entry)], execute
            )
        finally:
            self._locks.release(entry for entry in starting if entry.state is State.STARTING)
            for entry in starting:
                self._memory.move(entry, State.STARTING, State.HELD)

    def refuse(self, busy: list[Entry]) -> None:
        """Refuse those of the entries whose instant has come: step 5."""
        unlocked = {entry: refusal for entry in busy if (refusal := self._locks.refusal_of(entry))}
        self._refusals.refuse_unlocked(unlocked)
        self._refusals.refuse_overlapping([entry for entry in busy if entry not in unlocked])

    def meet_full(self, entries: list[Entry], *, drop: bool) -> None:
        """What becomes of entries whose instant comes while no slot is free: those that overlap are refused for that,
        and with ``drop`` the others for the limit."""
        if not entries:
            return
        busy = self._find_busy(entries)
        self._refusals.refuse_overlapping(busy)
        if drop:
            self._refusals.refuse_beyond_limit([entry for entry in entries if entry not in busy])

    def _is_of_another_life(self, entry: Entry) -> bool:
        """Whether it was claimed under an identity that has been declared dead since; then it is dropped."""
        if entry.instance_id == self._lease.instance_id:
            return False
        self._memory.forget([entry])
        return True

    def _start(self, candidates: list[Entry], execute: Callable[[Entry], None]) -> list[Entry]:
        """Steps 1 to 4; answers the entries that were set aside in step 1."""
        busy = self._find_busy(candidates)
        alone = _one_per_key(entry for entry in candidates if entry not in busy)
        free = self._locks.acquire(alone)
        counted = [entry for entry in free if entry.is_counted]
        locked = [entry for entry in free if entry.run_id in self._locked]
        moved = self._move([entry for entry in free if entry not in counted and entry not in locked])
        moved |= self._move_guarded(locked) | self._move_counted(counted)
        for entry in free:
            if entry.run_id in moved and self._memory.move(entry, State.STARTING, State.HOLD):
                execute(entry)
        return [*busy, *(entry for entry in alone if entry not in free)]

    def _find_busy(self, candidates: list[Entry]) -> list[Entry]:
        held, queued = held_keys(self._using, candidates), queued_keys(self._using, candidates)
        return [
            entry
            for entry in candidates
            if entry.lock_key in held or (entry.must_queue and entry.lock_key in queued)
        ]

    def _move(self, entries: list[Entry]) -> set[int]:
        """Steps 2 to 4; answers the ids of the runs that are running and ours."""
        for _ in range(RACES):
            if not entries:
                return set()
            try:
                count = statement(self._using, partial(self._update, entries), attempts=2)
            except IntegrityError:
                busy = held_keys(self._using, entries)
                entries = [entry for entry in entries if entry.lock_key not in busy]
            except OperationalError as error:
                if connections[self._using].in_atomic_block or not is_contention(error):
                    raise
                break
            else:
                barriers.reach("start.after", entries)
                return (
                    {entry.run_id for entry in entries} if count == len(entries) else self._read_back(entries)
                )
        return self._move_guarded(entries)

    def _update(self, entries: Sequence[Entry]) -> int:
        barriers.reach("start.before", entries)
        claimed = claims_of(self._using, entries).filter(status=Status.CLAIMED)
        with _savepoint(self._using):
            return claimed.filter(lease_is_valid(OuterRef("instance"))).update(
                status=Status.RUNNING,
                reason=Reason.NONE,
                held_lock=NullIf(F("lock_key"), Value("")),
                started_at=Greatest(F("available_at"), Value(self._clock.now(), Run.started_at.field)),
            )

    def _read_back(self, entries: Sequence[Entry]) -> set[int]:
        """Which of the runs are running and ours; those that are neither running nor claimed are dropped."""
        found = read(self._using, lambda: dict(claims_of(self._using, entries).values_list("pk", "status")))
        ours = (Status.RUNNING, Status.CLAIMED)
        self._memory.forget([entry for entry in entries if found.get(entry.run_id) not in ours])
        return {pk for pk, status in found.items() if status == Status.RUNNING}

    def _move_guarded(self, entries: Sequence[Entry]) -> set[int]:
        """Under the state rows that nobody else has locked. The other runs are looked at again, in this way at once: an
        edit may stay open for long, and each wait for it would make other starts late."""
        if not entries:
            return set()
        moved = unit(self._using, lambda: self._move_free(entries))
        self._locked.update(entry.run_id for entry in entries)
        self._locked -= moved
        return moved

    def _move_free(self, entries: Sequence[Entry]) -> set[int]:
        """Answers nothing moved when somebody takes a lock even now."""
        states = lock_free_states(self._using, {entry.job_id for entry in entries})
        busy = held_keys(self._using, entries)
        free = [entry for entry in entries if entry.job_id in states and entry.lock_key not in busy]
        try:
            self._update(free)
        except IntegrityError:
            return set()
        return self._read_back(entries)

    def _move_counted(self, entries: list[Entry]) -> set[int]:
        """Runs that count against a limit: the start and the count are one transaction."""
        if not entries:
            return set()
        moved, beyond = unit(self._using, lambda: self._count_and_move(entries))
        self._refusals.end(beyond, Status.SKIPPED, Reason.LIMIT)
        return moved

    def _count_and_move(self, entries: list[Entry]) -> tuple[set[int], list[Entry]]:
        """Answers the ids of the runs that are running and ours, and the entries for which the limit leaves no room.

        A run that is running already was started, and counted, by a write whose answer got lost.
        """
        states = lock_free_states(self._using, {entry.job_id for entry in entries})
        counts = Counter({pk: state.run_count for pk, state in states.items()})
        running = self._read_back(entries)
        within: list[Entry] = []
        beyond: list[Entry] = []
        for entry in entries:
            if entry.run_id in running or entry.job_id not in counts:
                continue
            (within if counts[entry.job_id] < (entry.max_runs or 0) else beyond).append(entry)
            counts[entry.job_id] += 1
        moved = self._move(within)
        self._count(Counter(entry.job_id for entry in within if entry.run_id in moved))
        return running | moved, beyond

    def _count(self, started: Counter[int]) -> None:
        by_number: dict[int, list[int]] = defaultdict(list)
        for job_id, number in started.items():
            by_number[number].append(job_id)
        for number, ids in by_number.items():
            JobState.objects.using(self._using).filter(pk__in=ids).update(run_count=F("run_count") + number)


def _one_per_key(entries: Iterable[Entry]) -> list[Entry]:
    """The first entry of each lock key, in the order of the keys, and all that have none."""
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.lock_key or f"run {entry.run_id}", entry)
    return [first[key] for key in sorted(first)]


def _savepoint(using: str) -> AbstractContextManager[object]:
    """Inside a transaction a refused statement must not spoil it; outside, the statement stands alone."""
    return transaction.atomic(using=using) if connections[using].in_atomic_block else nullcontext()
