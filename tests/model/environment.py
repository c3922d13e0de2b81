"""What happens to the instances and around them: time, faults, and what people do in the admin."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.model.clauses import Case, Fault
from tests.model.database import Database
from tests.model.instances import Instances
from tests.model.states import (
    ANSWERED,
    NOBODY,
    Heart,
    Hold,
    Job,
    Kind,
    Ledger,
    Life,
    Process,
    State,
    Status,
    Write,
)

Event = tuple[str, int | None, Write | None, State]
"""What happens, to which instance and with which write, and the state after."""


class Environment:
    def __init__(self, case: Case, database: Database, instances: Instances) -> None:
        self._case = case
        self._clauses = case.clauses
        self._database = database
        self._instances = instances
        around: dict[Fault, Callable[[State], Iterator[State]]] = {
            Fault.OUTAGE: self._outage,
            Fault.EDIT: self._edit,
            Fault.PAUSE: self._pause,
            Fault.BACK: self._set_back,
            Fault.PRUNE: self._prune,
        }
        within: dict[Fault, Callable[[Process], Iterator[tuple[Process, tuple[Write, ...]]]]] = {
            Fault.KILL: _kill,
            Fault.FREEZE: _freeze,
            Fault.SLOW: _slow,
            Fault.LOSE: self._lose,
            Fault.STOP: _stop,
        }
        self._around = {fault: happen for fault, happen in around.items() if fault in case.faults}
        self._within = {fault: happen for fault, happen in within.items() if fault in case.faults}

    def faults(self, state: State) -> Iterator[Event]:
        """Each takes one from the budget."""
        if not state.budget:
            return
        state = state._replace(budget=state.budget - 1)
        for fault, happen in self._around.items():
            for after in happen(state):
                yield fault, None, None, after
        for number, process in enumerate(state.processes):
            yield from self._process_faults(state, number, process)

    def _process_faults(self, state: State, number: int, process: Process) -> Iterator[Event]:
        for fault, strike in self._within.items():
            for struck, wild in strike(process):
                after = state.with_process(number, struck)
                if wild:
                    after = after._replace(wild=tuple(sorted((*state.wild, *wild))))
                yield fault, number, wild[0] if wild and fault == Fault.LOSE else None, after
        if Fault.LATE in self._case.faults and process.life == Life.UP:
            yield from self._give_back_late(state, number, process)

    def _give_back_late(self, state: State, number: int, process: Process) -> Iterator[Event]:
        if not (process.is_free("loop") and process.is_free("timer")):
            return
        for entry in process.entries:
            if entry.hold == Hold.HELD and state.rows[entry.row].tick <= state.now:
                write = Write(Kind.GIVE_BACK, entry.owner, entry.row, entry.claim)
                giving = process.placing(entry, None).sending(write)
                yield Fault.LATE, number, write, state.with_process(number, giving)

    def _lose(self, process: Process) -> Iterator[tuple[Process, tuple[Write, ...]]]:
        """Whether the database has the write, or gets it yet, the instance cannot know."""
        if process.life in (Life.UP, Life.STOPPING):
            for write in process.writes:
                yield self._instances.miss(process.without(write), write), (write,)

    def passes(self, state: State) -> State | None:
        """Time passes, by one unit; None while somebody must renew before. What is calm renews meanwhile."""
        alive = [process for process in state.processes if process.life < Life.FROZEN]
        if any(process.heart == Heart.DUE for process in alive):
            return None
        leases = [max(left - 1, 0) if left > 0 else left for left in state.leases]
        processes = [self._age(process, leases) for process in state.processes]
        return state._replace(
            now=min(state.now + 1, self._case.ticks),
            leases=tuple(leases),
            processes=(processes[0], processes[1]),
        )

    def _age(self, process: Process, leases: list[int]) -> Process:
        if process.life == Life.DEAD:
            return process
        if process.life == Life.FROZEN or process.heart == Heart.SLOW:
            return _distrusting(process, 1)
        if leases[process.identity] < 0:
            return _distrusting(process, 1)._replace(heart=Heart.DUE)
        leases[process.identity] = self._case.lease
        return process._replace(heart=Heart.CALM, trust=self._case.trust)

    def _outage(self, state: State) -> Iterator[State]:
        """Nobody reaches the database until every lease is over."""
        first, second = (self._after_outage(process) for process in state.processes)
        yield state._replace(leases=tuple(min(left, 0) for left in state.leases), processes=(first, second))

    def _after_outage(self, process: Process) -> Process:
        if process.life == Life.DEAD:
            return process
        return _distrusting(process, self._case.trust)._replace(heart=Heart.DUE)

    def _edit(self, state: State) -> Iterator[State]:
        """A change of the schedule: what is to begin later is withdrawn and planned anew, from now on."""
        if state.job.paused or (self._clauses.edit_takes_lock and self._database.is_locked(state)):
            return
        withdrawn = [number for number in range(len(state.rows)) if self._is_withdrawn(state, number)]
        ticks = [state.rows[number].tick for number in withdrawn]
        for number in withdrawn:
            row = state.rows[number]._replace(status=Status.GONE, owner=NOBODY, locked=False)
            state = state.with_row(number, row)
        kept = [row.tick for row in state.rows if row.status < Status.GONE and row.tick > state.now]
        through = max([min([state.job.planned_through, *(tick - 1 for tick in ticks)]), *kept])
        base = max(state.now, through) if self._clauses.planned_through else state.now
        state = _excuse(state, state.job.next_tick, base)
        yield state._replace(job=Job(base + 1, through))

    def _is_withdrawn(self, state: State, number: int) -> bool:
        row = state.rows[number]
        last = Status.QUEUED if self._clauses.edit_spares_running else Status.RUNNING
        is_later = row.tick > state.now or not self._clauses.edit_withdraws_later_only
        return row.status <= last and is_later

    def _pause(self, state: State) -> Iterator[State]:
        if state.job.paused or (self._clauses.edit_takes_lock and self._database.is_locked(state)):
            return
        for number, row in enumerate(state.rows):
            if row.status <= Status.QUEUED:
                state = state.with_row(number, row._replace(status=Status.SKIPPED, owner=NOBODY))
        state = _excuse(state, state.job.next_tick, self._case.ticks)
        yield state._replace(job=Job(0, state.job.planned_through, paused=True))

    def _set_back(self, state: State) -> Iterator[State]:
        if state.now > 0:
            yield state._replace(now=state.now - 1)

    def _prune(self, state: State) -> Iterator[State]:
        for number, row in enumerate(state.rows):
            if Status.RUNNING < row.status < Status.GONE and not row.locked:
                yield state.with_row(number, row._replace(status=Status.PRUNED))


def _kill(process: Process) -> Iterator[tuple[Process, tuple[Write, ...]]]:
    if process.life < Life.DEAD:
        dead = Process(life=Life.DEAD, identity=process.identity, heart=Heart.CALM, trust=0)
        yield dead, tuple(write for write in process.writes if write.stage < ANSWERED)


def _freeze(process: Process) -> Iterator[tuple[Process, tuple[Write, ...]]]:
    if process.life == Life.UP:
        yield process._replace(life=Life.FROZEN, heart=Heart.DUE), ()


def _slow(process: Process) -> Iterator[tuple[Process, tuple[Write, ...]]]:
    if process.life < Life.FROZEN and process.heart < Heart.SLOW:
        yield process._replace(heart=Heart.SLOW), ()


def _stop(process: Process) -> Iterator[tuple[Process, tuple[Write, ...]]]:
    if process.life == Life.UP:
        yield process._replace(life=Life.STOPPING), ()


def _distrusting(process: Process, units: int) -> Process:
    """With less trust left, and with less to come from the renewal under way."""
    writes = tuple(
        write._replace(number=max(write.number - units, 0)) if write.kind == Kind.RENEW else write
        for write in process.writes
    )
    return process._replace(trust=max(process.trust - units, 0), writes=writes)


def _excuse(state: State, first: int, last: int) -> State:
    """Ticks that have not been planned yet, and will not be."""
    for tick in range(first, last + 1) if first else ():
        if tick <= len(state.ledger) and state.ledger[tick - 1] == Ledger.OPEN:
            state = state.with_ledger(tick, Ledger.EXCUSED)
    return state
