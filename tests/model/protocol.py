"""The protocol as a whole: every step that can come next, and what must hold in every state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.clauses import HARMFUL, Case, Clauses
from tests.model.database import NOTHING, Database
from tests.model.environment import Environment
from tests.model.instances import Instances
from tests.model.states import (
    ANSWERED,
    OPEN,
    SENT,
    Entry,
    Heart,
    Hold,
    Kind,
    Ledger,
    Life,
    Process,
    State,
    Status,
    Write,
    canonical,
)


class Step(NamedTuple):
    """``who`` is an instance, or None. Faults are what need not happen."""

    verb: str
    who: int | None
    about: Write | Entry | None
    after: State
    is_fault: bool = False


class Protocol:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._database = Database(case)
        self._instances = Instances(case)
        self._environment = Environment(case, self._database, self._instances)
        self._is_complete = case.clauses == Clauses()
        self._may_lose = bool(case.faults & HARMFUL)

    def steps(self, state: State) -> Iterator[Step]:
        """Every step that can come next. Where a send is urgent it alone: what the others could do before it they can
        do after it, and it stays in flight for as long as it takes."""
        urgent = list(self._urgent_steps(state))
        if urgent and self._case.is_reduced:
            yield urgent[0]
            return
        yield from urgent
        yield from self._free_steps(state)

    def _urgent_steps(self, state: State) -> Iterator[Step]:
        for number, process in enumerate(state.processes):
            for sender, write in self._instances.urgent_sends(process):
                yield Step("sends", number, write, state.with_process(number, sender.sending(write)))

    def _free_steps(self, state: State) -> Iterator[Step]:
        for number, process in enumerate(state.processes):
            if process.life == Life.DEAD:
                continue
            for write in process.writes:
                yield from self._go_on(state, number, process, write)
            if process.life == Life.FROZEN:
                yield Step("thaws", number, None, self._thaw(state, number, process))
            else:
                yield from self._act(state, number, process)
        for write in state.wild:
            yield from self._go_wild(state, write)
        after = self._environment.passes(state)
        if after is not None and after != state:
            yield Step("time passes", None, None, after)
        for verb, who, about, after in self._environment.faults(state):
            yield Step(verb, who, about, after, is_fault=True)

    def _act(self, state: State, number: int, process: Process) -> Iterator[Step]:
        for sender, write in self._instances.sends(state, process):
            yield Step("sends", number, write, state.with_process(number, sender.sending(write)))
        for verb, entry, after in self._instances.acts(state, number, process):
            yield Step(verb, number, entry, after)

    def _go_on(self, state: State, number: int, process: Process, write: Write) -> Iterator[Step]:
        """The database executes a write. Its answer is heard at once, or when the process is thawed: the time between
        is nothing that others could notice."""
        if write.stage >= ANSWERED:
            return
        if self._opens(state, write):
            opened = process.without(write).sending(self._open(state, write))
            yield Step("opens", number, write, state.with_process(number, opened))
        elif self._database.may_execute(state, write):
            yield Step("executes", number, write, self._execute(state, number, process, write))
        if write.stage == OPEN and process.life == Life.FROZEN:
            ended = process.without(write).sending(_answered(write, NOTHING))
            yield Step("is rolled back", number, write, state.with_process(number, ended))

    def _execute(self, state: State, number: int, process: Process, write: Write) -> State:
        state, answer = self._database.execute(state, write)
        rest = process.without(write)
        if process.life == Life.FROZEN:
            return state.with_process(number, rest.sending(_answered(write, answer)))
        return self._instances.hear(state, number, rest, write, answer)

    def _opens(self, state: State, write: Write) -> bool:
        is_claim = write.kind == Kind.CLAIM and write.stage == SENT and self._case.open_claims
        return is_claim and not self._database.is_locked(state) and self._database.may_claim(state, write)

    def _open(self, state: State, write: Write) -> Write:
        return write._replace(stage=OPEN, number=state.job.next_tick)

    def _go_wild(self, state: State, write: Write) -> Iterator[Step]:
        others = tuple(other for other in state.wild if other is not write)
        rest = state._replace(wild=others)
        if self._opens(state, write):
            opened = rest._replace(wild=tuple(sorted((*others, self._open(state, write)))))
            yield Step("late: opens", None, write, opened)
        elif self._database.may_execute(state, write):
            after, _answer = self._database.execute(rest, write)
            yield Step("late: executes", None, write, after)
        if write.stage == OPEN:
            yield Step("is rolled back", None, write, rest)

    def _thaw(self, state: State, number: int, process: Process) -> State:
        """Whatever was answered meanwhile is heard; the lease may be over."""
        heard = [write for write in process.writes if write.stage >= ANSWERED]
        thawed = process._replace(life=Life.UP, heart=Heart.DUE)
        for write in heard:
            thawed = thawed.without(write)
        state = state.with_process(number, thawed)
        for write in heard:
            answer = write.stage - ANSWERED - 1
            state = self._instances.hear(state, number, state.processes[number], write, answer)
        return state

    def simplify(self, state: State) -> State:
        """Of a state and its mirror image the one that stands for both, without writes that can do nothing any more."""
        if not self._case.is_reduced:
            return state
        if state.wild and self._is_complete:
            wild = tuple(write for write in state.wild if not self._database.is_spent(state, write))
            state = state._replace(wild=wild)
        return canonical(state)

    def find_broken(self, state: State) -> str:
        """The property that a state violates, or ""."""
        if state.broken:
            return state.broken
        if any(row.locked and row.status > Status.RUNNING for row in state.rows):
            return "lock"
        ticks = [row.tick for row in state.rows if row.status < Status.GONE]
        if len(set(ticks)) < len(ticks):
            return "one row"
        if self._executing(state) > 1:
            return "overlap"
        if not self._may_lose and any(row.status == Status.LOST for row in state.rows):
            return "lost without need"
        return ""

    def _executing(self, state: State) -> int:
        """How many runs execute user code under a row that says so."""
        return sum(
            entry.hold == Hold.EXECUTING and state.rows[entry.row].status == Status.RUNNING
            for process in state.processes
            for entry in process.entries
        )

    def is_settled(self, state: State) -> bool:
        """Whether every tick has had its time, and has one row, which is over."""
        return (
            state.now == self._case.ticks
            and all(row.status > Status.RUNNING for row in state.rows)
            and all(self._is_recorded(state, tick) for tick in range(1, self._case.ticks + 1))
        )

    def _is_recorded(self, state: State, tick: int) -> bool:
        has_row = any(row.tick == tick and row.status != Status.GONE for row in state.rows)
        return has_row or state.ledger[tick - 1] == Ledger.EXCUSED

    def has_a_future(self, state: State) -> bool:
        """Whether an instance is there to settle everything."""
        return any(process.life in (Life.UP, Life.FROZEN) for process in state.processes)


def _answered(write: Write, answer: int) -> Write:
    return write._replace(stage=ANSWERED + 1 + answer)
