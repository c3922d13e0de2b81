"""What is explored: the clauses of the protocol, each of which can be left out, and the size of the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tests.model.states import Heart, Job, Ledger, Life, Process, State

DRIFT = 1
"""Units that may pass between the look at the clock and user code, or by which clocks may have drifted apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """Each is part of the protocol; False leaves it out."""

    claim_ids: bool = True
    """A row is mine by the instance and the claim."""
    finish_reads_back: bool = True
    """A finish whose answer got lost is repeated; else it is taken to have worked."""
    start_reads_back: bool = True
    """A start whose answer got lost is repeated; else it is taken to have worked."""
    audit: bool = True
    """Rows that are mine and unknown to me go back to the queue."""
    audit_by_claim: bool = True
    """The audit, too, knows rows by the claim."""
    margin: bool = True
    """Trust ends before the lease does."""
    trust_from_start: bool = True
    """Trust counts from when the renewal was sent, not from its answer."""
    planned_through: bool = True
    """No tick that has had a row is planned again."""
    unique_key: bool = True
    """A tick has one row."""
    claim_needs_lease: bool = True
    unique_lock: bool = True
    """Two rows cannot hold the job's lock."""
    start_is_conditional: bool = True
    """Only a row that is claimed, and mine, starts."""
    start_needs_lease: bool = True
    begin_checks_trust: bool = True
    reaps_expired_holder: bool = True
    """Whoever meets a lock whose holder's lease is over does not skip its tick for it."""
    finish_is_conditional: bool = True
    """Only what is running, and mine, is finished."""
    renewal_is_conditional: bool = True
    """An instance that was reaped cannot renew."""
    drops_unbegun: bool = True
    """An instance that was reaped forgets what it has not begun."""
    reap_checks_expiry: bool = True
    reap_loses_running: bool = True
    """What was running is lost, not queued."""
    reap_frees_locks: bool = True
    reap_finds_late: bool = True
    """The reaper looks for runs whose instance is gone, whether or not that was reaped before."""
    reap_only_when_calm: bool = True
    """An instance reaps when its own renewals have gone well for a while."""
    stop_spares_begun: bool = True
    """A stop gives back only what has not begun."""
    edit_withdraws_later_only: bool = True
    """An edit leaves the rows of ticks whose instant has come."""
    edit_spares_running: bool = True
    edit_takes_lock: bool = True
    """Edits and pauses lock the state row."""


class Fault(StrEnum):
    """What may happen, as often as the budget says: faults of the world, and what people do."""

    KILL = "is killed"
    FREEZE = "freezes"
    SLOW = "is slow to renew"
    LOSE = "gets no answer to"
    OUTAGE = "the database is away"
    LATE = "has no slot and sends"
    STOP = "is to stop"
    EDIT = "somebody edits the job"
    PAUSE = "somebody pauses the job"
    BACK = "the clock is set back"
    PRUNE = "retention prunes a row"


HARMFUL = frozenset({Fault.KILL, Fault.FREEZE, Fault.SLOW, Fault.STOP})
"""Without these no run may be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    faults: frozenset[Fault]
    budget: int = 1
    ticks: int = 1
    lease: int = 1
    open_claims: bool = False
    """Whether a claim's look at the lease and its commit are two steps, between which others may move."""
    open_begins: bool = False
    """Whether the last look before user code and its first line are two steps, between which a process may freeze."""
    is_reduced: bool = True
    """Whether steps and states that make no difference are left out; without, there is more to explore and no more to
    find."""
    clauses: Clauses = field(default_factory=Clauses)

    @property
    def trust(self) -> int:
        """For how long user code may begin after a renewal was sent, in the worst case of the clocks."""
        return self.lease + (0 if self.clauses.margin else DRIFT)

    def initial(self) -> State:
        return State(
            now=0,
            job=Job(next_tick=1, planned_through=0),
            rows=(),
            leases=(self.lease, self.lease),
            processes=(self._process(0), self._process(1)),
            wild=(),
            ledger=(Ledger.OPEN,) * self.ticks,
            budget=self.budget,
        )

    def _process(self, identity: int) -> Process:
        return Process(life=Life.UP, identity=identity, heart=Heart.CALM, trust=self.trust)
