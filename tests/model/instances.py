"""The instances: what each sends, what it makes of the answers, and what it does without the database."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.clauses import Case
from tests.model.database import NOTHING, OWNED, Started, holder
from tests.model.states import (
    ABSENT,
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
)

Local = tuple[str, Entry | None, State]
"""What an instance does by itself, with which entry, and the state after."""

BEGUN = (Hold.ENTERING, Hold.EXECUTING)


class Instances:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._clauses = case.clauses

    def sends(self, state: State, process: Process) -> Iterator[tuple[Process, Write]]:
        """Each write that the instance may send next, and the instance as it sends it."""
        if process.is_free("loop"):
            yield from self._loop_sends(state, process)
        if process.is_free("timer") and process.life == Life.UP:
            yield from self._timer_sends(state, process)
        if process.heart == Heart.SLOW and process.is_free("heart"):
            yield process, self._renewal(process)

    def urgent_sends(self, process: Process) -> Iterator[tuple[Process, Write]]:
        """Writes whose threads have nothing else to do, nor a reason to wait."""
        if process.life >= Life.FROZEN:
            return
        if process.heart == Heart.DUE and process.is_free("heart"):
            yield process, self._renewal(process)
        if process.is_free("writer"):
            for entry in process.entries:
                if entry.hold == Hold.DONE:
                    yield process, _about(Kind.FINISH, entry)

    def _renewal(self, process: Process) -> Write:
        return Write(Kind.RENEW, process.identity, number=self._case.trust)

    def _loop_sends(self, state: State, process: Process) -> Iterator[tuple[Process, Write]]:
        if process.life == Life.STOPPING:
            yield from self._stop_sends(process)
            return
        if process.trust > 0:
            yield from self._claim_sends(state, process)
        if process.heart == Heart.CALM or not self._clauses.reap_only_when_calm:
            for identity in self._find_gone(state, process.identity):
                yield process, Write(Kind.REAP, process.identity, identity)
        if self._clauses.audit:
            for number, row in enumerate(state.rows):
                if row.owner == process.identity and row.status in OWNED and not _knows(process, number):
                    yield process, Write(Kind.AUDIT, process.identity, number, row.claim)

    def _claim_sends(self, state: State, process: Process) -> Iterator[tuple[Process, Write]]:
        if 0 < state.job.next_tick <= min(self._case.ticks, state.now + 1):
            yield process, Write(Kind.CLAIM, process.identity)
        for number, row in enumerate(state.rows):
            if row.status == Status.QUEUED and row.tick <= state.now and not holder(state, number):
                yield process, Write(Kind.TAKE, process.identity, number)
                break

    def _find_gone(self, state: State, me: int) -> Iterator[int]:
        for identity, left in enumerate(state.leases):
            is_late = ABSENT < left < 0 and self._clauses.reap_finds_late and _owns(state, identity)
            if is_late or (left == 0 and identity != me):
                yield identity

    def _stop_sends(self, process: Process) -> Iterator[tuple[Process, Write]]:
        """Give back, flush, resign: the last with what still executes."""
        unbegun = [entry for entry in process.entries if entry.hold <= Hold.HOLD]
        for entry in unbegun:
            if process.is_free("timer"):
                yield process.placing(entry, None), _about(Kind.GIVE_BACK, entry)
        if not self._clauses.stop_spares_begun:
            for entry in process.entries:
                if entry.hold in BEGUN:
                    yield process, _about(Kind.GIVE_BACK, entry)
        is_flushed = all(entry.hold in BEGUN for entry in process.entries)
        if is_flushed and process.is_free("timer") and process.is_free("writer"):
            yield process._replace(trust=0), Write(Kind.RESIGN, process.identity)

    def _timer_sends(self, state: State, process: Process) -> Iterator[tuple[Process, Write]]:
        for entry in process.entries:
            if entry.hold != Hold.HELD:
                continue
            tick = state.rows[entry.row].tick
            if holder(state, entry.row) is None:
                if process.trust > 0 and tick <= state.now + 1:
                    yield process, _about(Kind.START, entry)
            elif tick <= state.now and not any(other.hold == Hold.DONE for other in process.entries):
                yield process, _about(Kind.REFUSE, entry)

    def hear(self, state: State, number: int, process: Process, write: Write, answer: int) -> State:
        """The answer to a write has come; the write is not among the instance's any more."""
        match write.kind:
            case Kind.CLAIM if answer != NOTHING:
                process = _holding(process, Entry(answer, 1, write.owner, Hold.HELD))
            case Kind.TAKE if answer != NOTHING:
                process = _holding(process, Entry(write.target, answer, write.owner, Hold.HELD))
            case Kind.START | Kind.REFUSE:
                process = _hear_start(process, write, answer)
            case Kind.FINISH:
                process = process.placing(_entry_of(write, Hold.DONE), None)
            case Kind.RENEW:
                return self._hear_renewal(state, number, process, write, answer)
            case Kind.RESIGN:
                process = _exited(process)
            case _:
                pass
        return state.with_process(number, process)

    def _hear_renewal(
        self, state: State, number: int, process: Process, write: Write, is_renewed: int
    ) -> State:
        if not is_renewed:
            return self._start_anew(state, number, process)
        trust = write.number if self._clauses.trust_from_start else self._case.trust
        return state.with_process(number, process._replace(heart=Heart.FRESH, trust=trust))

    def _start_anew(self, state: State, number: int, process: Process) -> State:
        """Reaped: a new identity, of which there are as many as it takes."""
        identity = process.identity + 2
        if identity >= len(state.leases):
            state = state._replace(leases=(*state.leases, ABSENT, ABSENT))
        entries = process.entries
        if self._clauses.drops_unbegun:
            entries = tuple(entry for entry in entries if entry.hold > Hold.HOLD)
        anew = process._replace(identity=identity, entries=entries, heart=Heart.FRESH, trust=self._case.trust)
        return state.with_lease(identity, self._case.lease).with_process(number, anew)

    def miss(self, process: Process, write: Write) -> Process:
        """The answer to a write got lost: whether it worked is not known."""
        match write.kind:
            case Kind.START if not self._clauses.start_reads_back:
                return process.placing(_entry_of(write, Hold.HELD), Hold.HOLD)
            case Kind.FINISH if not self._clauses.finish_reads_back:
                return process.placing(_entry_of(write, Hold.DONE), None)
            case Kind.RESIGN:
                return _exited(process)
            case _:
                return process

    def acts(self, state: State, number: int, process: Process) -> Iterator[Local]:
        """What happens in an instance by itself: user code begins, and ends."""
        for entry in process.entries:
            match entry.hold:
                case Hold.HOLD if self._may_begin(state, process, entry):
                    yield self._look(state, number, process, entry)
                case Hold.ENTERING:
                    began = state.with_process(number, process.placing(entry, Hold.EXECUTING))
                    yield "begins", entry, _note_begun(began, entry)
                case Hold.EXECUTING:
                    yield "ends", entry, state.with_process(number, process.placing(entry, Hold.DONE))
                case _:
                    pass

    def _look(self, state: State, number: int, process: Process, entry: Entry) -> Local:
        """The last look before user code, which follows at once, or as a step of its own."""
        row = state.rows[entry.row]
        if row.status != Status.RUNNING or row.owner != entry.owner or row.claim != entry.claim:
            state = state.breaking("owned")
        if self._case.open_begins:
            return "looks at", entry, state.with_process(number, process.placing(entry, Hold.ENTERING))
        began = state.with_process(number, process.placing(entry, Hold.EXECUTING))
        return "begins", entry, _note_begun(began, entry)

    def _may_begin(self, state: State, process: Process, entry: Entry) -> bool:
        is_trusted = process.trust > 0 or not self._clauses.begin_checks_trust
        return is_trusted and state.rows[entry.row].tick <= state.now


def _note_begun(state: State, entry: Entry) -> State:
    tick = state.rows[entry.row].tick
    if state.ledger[tick - 1] == Ledger.BEGUN:
        state = state.breaking("once")
    return state.with_ledger(tick, Ledger.BEGUN)


def _hear_start(process: Process, write: Write, answer: int) -> Process:
    entry = _entry_of(write, Hold.HELD)
    match answer:
        case Started.RUNNING if write.kind == Kind.START:
            return process.placing(entry, Hold.HOLD)
        case Started.DROPPED:
            return process.placing(entry, None)
        case _:
            return process


def _about(kind: Kind, entry: Entry) -> Write:
    return Write(kind, entry.owner, entry.row, entry.claim)


def _entry_of(write: Write, hold: Hold) -> Entry:
    return Entry(write.target, write.number, write.owner, hold)


def _owns(state: State, identity: int) -> bool:
    return any(row.owner == identity and row.status in OWNED for row in state.rows)


def _knows(process: Process, row: int) -> bool:
    return any(entry.row == row for entry in process.entries)


def _holding(process: Process, entry: Entry) -> Process:
    """A newer claim of a row replaces an older one."""
    others = (other for other in process.entries if other.row != entry.row)
    return process._replace(entries=tuple(sorted((*others, entry))))


def _exited(process: Process) -> Process:
    return Process(life=Life.DEAD, identity=process.identity, heart=Heart.CALM, trust=0)
