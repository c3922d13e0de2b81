"""What the model knows of the world, as immutable values: cheap to hash, to compare and to share.

Time is counted in units. A tick's number is its instant. Leases and trust are what is left of them, so that two states
that differ only in when they came about are one.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import NamedTuple


class Status(IntEnum):
    """Of a row. ``GONE``: withdrawn by an edit. ``PRUNED``: taken by retention; only the model remembers it."""

    CLAIMED = 0
    QUEUED = 1
    RUNNING = 2
    SUCCEEDED = 3
    LOST = 4
    SKIPPED = 5
    GONE = 6
    PRUNED = 7


class Life(IntEnum):
    UP = 0
    STOPPING = 1
    FROZEN = 2
    DEAD = 3


class Heart(IntEnum):
    """``CALM``: renews as time passes, and has done so for a while. ``FRESH``: has just renewed. ``DUE``: must renew
    before time passes. ``SLOW``: takes its time."""

    CALM = 0
    FRESH = 1
    DUE = 2
    SLOW = 3


class Hold(IntEnum):
    """Where an entry of an instance's memory stands. ``ENTERING``: the last look has been taken, user code comes
    next."""

    HELD = 0
    HOLD = 1
    ENTERING = 2
    EXECUTING = 3
    DONE = 4


class Kind(IntEnum):
    """Of a write. The thread that makes it has one under way at a time."""

    CLAIM = 0
    TAKE = 1
    REAP = 2
    AUDIT = 3
    GIVE_BACK = 4
    RESIGN = 5
    START = 6
    REFUSE = 7
    FINISH = 8
    RENEW = 9


THREADS = ("loop",) * 6 + ("timer",) * 2 + ("writer", "heart")
"""By kind of write."""


class Ledger(IntEnum):
    """What the model remembers of a tick. ``EXCUSED``: an edit or a pause came before it was planned."""

    OPEN = 0
    BEGUN = 1
    EXCUSED = 2


ABSENT, STOPPED, REAPED = -3, -2, -1
"""Of a lease, instead of what is left of it."""

NOBODY = -1
SENT, OPEN, ANSWERED = 0, 1, 100
"""Stages of a write. ``OPEN``: a claim that has looked at the lease and holds the lock of the state row. From
``ANSWERED`` on, the answer, on its way to a frozen process."""


class Row(NamedTuple):
    tick: int
    status: Status
    owner: int = NOBODY
    claim: int = 0
    locked: bool = False
    overdue: bool = False
    """Only the model's: it was started under a lease that was over."""


class Entry(NamedTuple):
    row: int
    claim: int
    owner: int
    hold: Hold


class Write(NamedTuple):
    """``target`` is a row, or the identity to reap; ``number`` the claim, the tick, or the trust that a renewal
    gives."""

    kind: Kind
    owner: int
    target: int = 0
    number: int = 0
    stage: int = SENT


class Process(NamedTuple):
    life: Life
    identity: int
    heart: Heart
    trust: int
    entries: tuple[Entry, ...] = ()
    writes: tuple[Write, ...] = ()

    def is_free(self, thread: str) -> bool:
        return all(THREADS[write.kind] != thread for write in self.writes)

    def without(self, write: Write) -> Process:
        return self._replace(writes=tuple(other for other in self.writes if other is not write))

    def sending(self, write: Write) -> Process:
        return self._replace(writes=tuple(sorted((*self.writes, write))))

    def placing(self, entry: Entry, hold: Hold | None) -> Process:
        """With the entry elsewhere; None: forgotten. An entry that is not there any more is left alone."""
        others = tuple(other for other in self.entries if other != entry)
        if hold is None or len(others) == len(self.entries):
            return self._replace(entries=others)
        return self._replace(entries=tuple(sorted((*others, entry._replace(hold=hold)))))


class Job(NamedTuple):
    """``next_tick`` is 0 where there is none."""

    next_tick: int
    planned_through: int
    paused: bool = False


class State(NamedTuple):
    """``wild``: writes whose sender does not listen any more; the database may have them still. ``broken``: the
    property that the last step violated."""

    now: int
    job: Job
    rows: tuple[Row, ...]
    leases: tuple[int, ...]
    processes: tuple[Process, Process]
    wild: tuple[Write, ...]
    ledger: tuple[Ledger, ...]
    budget: int
    broken: str = ""

    def with_process(self, number: int, process: Process) -> State:
        first, second = self.processes
        return self._replace(processes=(first, process) if number else (process, second))

    def with_row(self, number: int, row: Row) -> State:
        return self._replace(rows=(*self.rows[:number], row, *self.rows[number + 1 :]))

    def with_lease(self, identity: int, left: int) -> State:
        return self._replace(leases=(*self.leases[:identity], left, *self.leases[identity + 1 :]))

    def with_ledger(self, tick: int, what: Ledger) -> State:
        return self._replace(ledger=(*self.ledger[: tick - 1], what, *self.ledger[tick:]))

    def breaking(self, name: str) -> State:
        return self._replace(broken=self.broken or name)


def canonical(state: State) -> State:
    """The two instances are alike: of a state and its mirror image, one stands for both."""
    first, second = state.processes
    mirrored = state._replace(
        rows=_mirror_rows(state.rows),
        leases=_mirror_leases(state.leases),
        processes=(_mirror_process(second), _mirror_process(first)),
        wild=_mirror_writes(state.wild),
    )
    return min(state, mirrored)


def _other(identity: int) -> int:
    """Identities of the one instance are even, of the other odd."""
    return identity if identity == NOBODY else identity ^ 1


@cache
def _mirror_rows(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple(row._replace(owner=_other(row.owner)) for row in rows)


@cache
def _mirror_leases(leases: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(leases[identity ^ 1] for identity in range(len(leases)))


@cache
def _mirror_process(process: Process) -> Process:
    return process._replace(
        identity=_other(process.identity),
        entries=tuple(sorted(entry._replace(owner=_other(entry.owner)) for entry in process.entries)),
        writes=_mirror_writes(process.writes),
    )


@cache
def _mirror_writes(writes: tuple[Write, ...]) -> tuple[Write, ...]:
    return tuple(sorted(_mirror_write(write) for write in writes))


def _mirror_write(write: Write) -> Write:
    target = _other(write.target) if write.kind == Kind.REAP else write.target
    return write._replace(owner=_other(write.owner), target=target)
