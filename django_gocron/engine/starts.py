"""Starts: from claimed to running, before any user code.

A run's entry is ``held`` when it comes here, and leaves as ``hold`` (running in the database, ours to execute),
``held`` again (its lock is taken: to be looked at again at its instant), or forgotten (refused, or not ours any more).

1. One run of each lock key, in the order of the keys. The keys that are held are read, and those runs set aside.
2. One statement moves the others: still claimed, claimed by us, our lease valid. It takes their locks too.
3. Fewer moved than asked: read back which. Running and ours: it worked. Claimed and ours: our lease is over. Else
   the row was withdrawn, and is dropped.
4. Somebody took a lock between 1 and 2: nothing has moved. Again from 1, at last under the state rows' locks.
5. A run whose lock is still held at its instant is refused (see refusals).

Step 2 is one statement in autocommit: the server completes it even if this process freezes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from django.db import IntegrityError, connections, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest, NullIf

from django_gocron.engine.database import read, statement, unit
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.memory import State
from django_gocron.engine.refusals import Refusals, claims_of
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django_gocron.engine.clock import Clock
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry, Memory

RACES = 3
"""How often the plain way is tried when others take locks at the same time."""


class Starts:
    """Begins runs. Called from the timer's thread only."""

    def __init__(self, using: str, clock: Clock, lease: Lease, memory: Memory) -> None:
        self._using = using
        self._clock = clock
        self._lease = lease
        self._memory = memory
        self._refusals = Refusals(using, clock, memory)

    def start(self, entries: Sequence[Entry]) -> list[Entry]:
        """Start what may start now; answer the entries that are to be executed, in state ``hold``.

        Raises ``DatabaseError`` when the database is away; then every entry is ``held`` again.
        """
        starting = [entry for entry in entries if self._memory.move(entry, State.HELD, State.STARTING)]
        try:
            return self._start(starting)
        finally:
            for entry in starting:
                self._memory.move(entry, State.STARTING, State.HELD)

    def _start(self, starting: list[Entry]) -> list[Entry]:
        candidates = self._refusals.refuse_late(starting)
        busy = held_keys(self._using, candidates)
        free = _one_per_key(entry for entry in candidates if entry.lock_key not in busy)
        moved = self._move([entry for entry in free if not entry.is_counted])
        moved |= self._move_counted([entry for entry in free if entry.is_counted])
        self._refusals.refuse_overlapping([entry for entry in candidates if entry.lock_key in busy])
        return [entry for entry in free if entry.run_id in moved and self._hold(entry)]

    def _hold(self, entry: Entry) -> bool:
        return self._memory.move(entry, State.STARTING, State.HOLD)

    def _move(self, entries: list[Entry]) -> set[int]:
        """Steps 2 to 4; answers the ids of the runs that are running and ours."""
        for _ in range(RACES):
            if not entries:
                return set()
            try:
                count = statement(self._using, lambda: self._update(entries))
            except IntegrityError:
                busy = held_keys(self._using, entries)
                entries = [entry for entry in entries if entry.lock_key not in busy]
            else:
                return {entry.run_id for entry in entries} if count == len(entries) else self._read_back(entries)
        return unit(self._using, lambda: self._move_guarded(entries))

    def _update(self, entries: Sequence[Entry]) -> int:
        claimed = claims_of(self._using, entries).filter(status=Status.CLAIMED)
        with _savepoint(self._using):
            return claimed.filter(lease_is_valid(self._lease.instance_id)).update(
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
        """Under the state rows that nobody else has locked; the other runs are looked at again, and so are all when
        somebody takes a lock even now."""
        skip_locked = connections[self._using].features.has_select_for_update_skip_locked
        states = JobState.objects.using(self._using).select_for_update(skip_locked=skip_locked)
        locked = set(states.filter(pk__in={entry.job_id for entry in entries}).values_list("pk", flat=True))
        busy = held_keys(self._using, entries)
        ours = [entry for entry in entries if entry.job_id in locked and entry.lock_key not in busy]
        try:
            self._update(ours)
        except IntegrityError:
            return set()
        return self._read_back(ours)

    def _move_counted(self, entries: list[Entry]) -> set[int]:
        """Runs that count against a limit: the start and the count are one transaction."""
        return unit(self._using, lambda: self._count_and_move(entries)) if entries else set()

    def _count_and_move(self, entries: list[Entry]) -> set[int]:
        ids = {entry.job_id for entry in entries}
        states = JobState.objects.using(self._using).select_for_update().filter(pk__in=ids).order_by("pk")
        counts = Counter(dict(states.values_list("pk", "run_count")))
        within: list[Entry] = []
        beyond: list[Entry] = []
        for entry in entries:
            (within if counts[entry.job_id] < (entry.max_runs or 0) else beyond).append(entry)
            counts[entry.job_id] += 1
        moved = self._move(within)
        self._count(Counter(entry.job_id for entry in within if entry.run_id in moved))
        self._refusals.end(beyond, Status.SKIPPED, Reason.LIMIT)
        return moved

    def _count(self, started: Counter[int]) -> None:
        by_number: dict[int, list[int]] = defaultdict(list)
        for job_id, number in started.items():
            by_number[number].append(job_id)
        for number, ids in by_number.items():
            JobState.objects.using(self._using).filter(pk__in=ids).update(run_count=F("run_count") + number)


def held_keys(using: str, entries: Sequence[Entry]) -> set[str]:
    """Which of the entries' lock keys another run holds now. An entry that holds its own was started by a write whose
    answer got lost: it is started again, and found to be running."""
    keys = {entry.lock_key for entry in entries if entry.lock_key}
    if not keys:
        return set()
    ours = [entry.run_id for entry in entries]
    held = Run.objects.using(using).filter(held_lock__in=keys).exclude(pk__in=ours)
    return {key for key in read(using, lambda: list(held.values_list("held_lock", flat=True))) if key}


def _one_per_key(entries: Iterable[Entry]) -> list[Entry]:
    """The first entry of each lock key, in the order of the keys, and all that have none."""
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.lock_key or f"run {entry.run_id}", entry)
    return [first[key] for key in sorted(first)]


def _savepoint(using: str) -> AbstractContextManager[object]:
    """Inside a transaction a refused statement must not spoil it; outside, the statement stands alone."""
    return transaction.atomic(using=using) if connections[using].in_atomic_block else nullcontext()
