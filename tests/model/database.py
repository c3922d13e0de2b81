"""The database: what each write does when it is executed, in one step, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from tests.model.clauses import Case
from tests.model.states import NOBODY, OPEN, REAPED, STOPPED, Job, Kind, Row, State, Status, Write

Executed = tuple[State, int]
OWNED = (Status.CLAIMED, Status.RUNNING)
ABOUT_ROWS = (Kind.START, Kind.REFUSE, Kind.FINISH, Kind.AUDIT, Kind.GIVE_BACK)
NOTHING = -1
"""The answer of a write that moved no row."""


class Started(IntEnum):
    """What a start answers. ``NOT_YET``: the lock is taken, or the lease is over; the row is mine still."""

    RUNNING = 0
    NOT_YET = 1
    DROPPED = 2


class Database:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._clauses = case.clauses
        self._writes: dict[Kind, Callable[[State, Write], Executed]] = {
            Kind.CLAIM: self._claim,
            Kind.TAKE: self._take,
            Kind.REAP: self._reap,
            Kind.AUDIT: self._audit,
            Kind.GIVE_BACK: self._requeue,
            Kind.RESIGN: self._resign,
            Kind.START: self._start,
            Kind.REFUSE: self._refuse,
            Kind.FINISH: self._finish,
            Kind.RENEW: self._renew,
        }

    def execute(self, state: State, write: Write) -> Executed:
        return self._writes[write.kind](state, write)

    def may_execute(self, state: State, write: Write) -> bool:
        """Whether it does not wait for the lock of the state row."""
        waits = write.kind in (Kind.CLAIM, Kind.REFUSE, Kind.FINISH) and write.stage != OPEN
        return not (waits and self.is_locked(state))

    def is_spent(self, state: State, write: Write) -> bool:
        """Whether a write can do nothing any more, now or later, if all clauses hold."""
        row = state.rows[write.target] if write.kind in ABOUT_ROWS else None
        match write.kind:
            case Kind.START | Kind.REFUSE:
                return not (row and row.status == Status.CLAIMED and self._is_mine(row, write))
            case Kind.FINISH:
                return not (row and row.status == Status.RUNNING and self._is_mine(row, write))
            case Kind.AUDIT | Kind.GIVE_BACK:
                return not (row and row.status in OWNED and self._is_mine(row, write))
            case Kind.RENEW | Kind.RESIGN | Kind.TAKE:
                return state.leases[write.owner] < 0
            case Kind.CLAIM:
                return state.leases[write.owner] < 0 and write.stage != OPEN
            case Kind.REAP:
                return False

    def is_locked(self, state: State) -> bool:
        """Whether a claim holds the lock of the state row."""
        if not self._case.open_claims:
            return False
        first, second = state.processes
        return any(write.stage == OPEN for write in (*first.writes, *second.writes, *state.wild))

    def may_claim(self, state: State, write: Write) -> bool:
        is_due = 0 < state.job.next_tick <= min(self._case.ticks, state.now + 1)
        return is_due and (state.leases[write.owner] > 0 or not self._clauses.claim_needs_lease)

    def _claim(self, state: State, write: Write) -> Executed:
        if write.stage != OPEN and not self.may_claim(state, write):
            return state, NOTHING
        tick = write.number if write.stage == OPEN else state.job.next_tick
        job = Job(tick + 1, max(tick, state.job.planned_through), state.job.paused)
        has_row = any(row.tick == tick and row.status < Status.GONE for row in state.rows)
        if has_row and self._clauses.unique_key:
            return state._replace(job=job), NOTHING
        row = Row(tick, Status.CLAIMED, write.owner, 1)
        return state._replace(job=job, rows=(*state.rows, row)), len(state.rows)

    def _take(self, state: State, write: Write) -> Executed:
        row = state.rows[write.target]
        is_allowed = state.leases[write.owner] > 0 or not self._clauses.claim_needs_lease
        if row.status != Status.QUEUED or not is_allowed:
            return state, NOTHING
        taken = row._replace(status=Status.CLAIMED, owner=write.owner, claim=row.claim + 1)
        return state.with_row(write.target, taken), taken.claim

    def _audit(self, state: State, write: Write) -> Executed:
        if not self._clauses.audit_by_claim:
            write = write._replace(number=state.rows[write.target].claim)
        return self._requeue(state, write)

    def _is_mine(self, row: Row, write: Write) -> bool:
        return row.owner == write.owner and (row.claim == write.number or not self._clauses.claim_ids)

    def _requeue(self, state: State, write: Write) -> Executed:
        row = state.rows[write.target]
        if row.status not in OWNED or not self._is_mine(row, write):
            return state, NOTHING
        return state.with_row(write.target, _queued(row, state.job)), 0

    def _start(self, state: State, write: Write) -> Executed:
        row = state.rows[write.target]
        is_mine = self._is_mine(row, write)
        if is_mine and row.status == Status.RUNNING:
            return state, Started.RUNNING
        is_claim = is_mine and row.status == Status.CLAIMED
        if row.status >= Status.GONE or (not is_claim and self._clauses.start_is_conditional):
            return state, Started.DROPPED
        has_lease = state.leases[write.owner] > 0
        is_barred = holder(state, write.target) is not None and self._clauses.unique_lock
        if is_barred or (not has_lease and self._clauses.start_needs_lease):
            return state, Started.NOT_YET
        running = row._replace(status=Status.RUNNING, locked=True, overdue=not has_lease)
        state = state.with_row(write.target, running)
        return (state.breaking("paused") if state.job.paused else state), Started.RUNNING

    def _refuse(self, state: State, write: Write) -> Executed:
        row = state.rows[write.target]
        if row.status != Status.CLAIMED or not self._is_mine(row, write):
            return state, Started.RUNNING if row.status == Status.RUNNING else Started.DROPPED
        held = holder(state, write.target)
        if held is None:
            return state, Started.NOT_YET
        is_abandoned = state.leases[held.owner] <= 0
        if is_abandoned and self._clauses.reaps_expired_holder:
            return state, Started.NOT_YET
        state = state.with_row(write.target, _ended(row, Status.SKIPPED))
        return (state.breaking("skipped for the dead") if is_abandoned else state), Started.DROPPED

    def _finish(self, state: State, write: Write) -> Executed:
        row = state.rows[write.target]
        if row.status == Status.RUNNING and self._is_mine(row, write):
            return state.with_row(write.target, _ended(row, Status.SUCCEEDED)), 0
        if self._clauses.finish_is_conditional or row.status >= Status.GONE:
            return state, NOTHING
        state = state.with_row(write.target, _ended(row, Status.SUCCEEDED))
        return (state.breaking("overwritten") if row.status == Status.LOST else state), 0

    def _renew(self, state: State, write: Write) -> Executed:
        if state.leases[write.owner] >= 0:
            return state.with_lease(write.owner, self._case.lease), 1
        return state, 0 if self._clauses.renewal_is_conditional else 1

    def _reap(self, state: State, write: Write) -> Executed:
        left = state.leases[write.target]
        if left > 0 and self._clauses.reap_checks_expiry:
            return state, NOTHING
        if left >= 0:
            state = state.with_lease(write.target, REAPED)
        return self._release(state, write.target), 0

    def _resign(self, state: State, write: Write) -> Executed:
        if state.leases[write.owner] < 0:
            return state, NOTHING
        return self._release(state.with_lease(write.owner, STOPPED), write.owner), 0

    def _release(self, state: State, identity: int) -> State:
        """What has not begun is queued, the rest lost. Rows of a job whose state is locked are left for the next
        look."""
        if self.is_locked(state):
            return state
        for number, row in enumerate(state.rows):
            if row.owner == identity and row.status in OWNED:
                state = self._release_row(state, number, row)
        return state

    def _release_row(self, state: State, number: int, row: Row) -> State:
        if row.status == Status.CLAIMED or not self._clauses.reap_loses_running:
            return state.with_row(number, _queued(row, state.job))
        lost = row._replace(status=Status.LOST, locked=row.locked and not self._clauses.reap_frees_locks)
        state = state.with_row(number, lost._replace(overdue=False))
        return state.breaking("lost without need") if row.overdue else state


def holder(state: State, number: int) -> Row | None:
    """Another row than this that holds the job's lock."""
    for other, row in enumerate(state.rows):
        if row.locked and other != number:
            return row
    return None


def _queued(row: Row, job: Job) -> Row:
    """Back to the queue; the run of a job that has been paused meanwhile ends instead."""
    status = Status.SKIPPED if job.paused else Status.QUEUED
    return row._replace(status=status, owner=NOBODY, locked=False, overdue=False)


def _ended(row: Row, status: Status) -> Row:
    return row._replace(status=status, locked=False, overdue=False)
