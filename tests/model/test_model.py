"""The protocol, explored: nothing is violated with all its clauses, and something is without any one of them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.model.clauses import Case, Clauses, Fault
from tests.model.explorer import WANTED, Explorer, TooLarge, explore, find
from tests.model.states import Hold, Ledger, Life, State, Status

EVERY_FAULT = frozenset(Fault)
OF_THE_WORLD = frozenset({Fault.KILL, Fault.FREEZE, Fault.SLOW, Fault.LOSE})

nightly = pytest.mark.skipif(
    not os.environ.get("GOCRON_TEST_NIGHTLY"), reason="takes minutes: set GOCRON_TEST_NIGHTLY to explore it"
)


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name.lower())
def test_any_one_fault_in_two_ticks_violates_nothing(fault):
    found = explore(Case(faults=frozenset({fault}), ticks=2))

    assert not found.violated, str(found)


def test_any_one_fault_around_a_claim_in_two_steps_violates_nothing():
    found = explore(Case(faults=EVERY_FAULT, ticks=2, open_claims=True))

    assert not found.violated, str(found)


def test_any_two_faults_in_one_tick_violate_nothing():
    found = explore(Case(faults=EVERY_FAULT, budget=2, open_claims=True, open_begins=True))

    assert not found.violated, str(found)


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name.lower())
def test_any_one_fault_violates_nothing_where_every_step_is_explored(fault):
    found = explore(Case(faults=frozenset({fault}), open_claims=True, is_reduced=False))

    assert not found.violated, str(found)


def test_two_faults_and_a_lease_of_several_units_violate_nothing():
    found = explore(Case(faults=OF_THE_WORLD, budget=2, lease=2))

    assert not found.violated, str(found)


LARGE = {
    "two faults of processes in two ticks": Case(
        faults=frozenset({Fault.KILL, Fault.LOSE, Fault.STOP, Fault.EDIT}), budget=2, ticks=2
    ),
    "three faults of the world": Case(faults=OF_THE_WORLD, budget=3),
    "two faults of the world in two ticks": Case(faults=OF_THE_WORLD, budget=2, ticks=2),
}


@nightly
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("case", LARGE.values(), ids=LARGE)
def test_a_large_case_violates_nothing(case):
    found = explore(case)

    print(found)
    assert not found.violated, str(found)


LEFT_OUT = {
    "claim_ids": ("owned", Case(faults=frozenset({Fault.LATE, Fault.LOSE}), budget=2)),
    "finish_reads_back": ("once", Case(faults=frozenset({Fault.LOSE}))),
    "start_reads_back": ("owned", Case(faults=frozenset({Fault.LOSE}))),
    "audit": ("settled", Case(faults=frozenset({Fault.LOSE}))),
    "audit_by_claim": ("owned", Case(faults=frozenset({Fault.LOSE}), budget=2)),
    "margin": ("owned", Case(faults=frozenset({Fault.SLOW}))),
    "trust_from_start": ("owned", Case(faults=frozenset({Fault.SLOW, Fault.FREEZE}), budget=2)),
    "planned_through": ("once", Case(faults=frozenset({Fault.EDIT, Fault.PRUNE}), budget=2)),
    "unique_lock": ("overlap", Case(faults=frozenset(), ticks=2)),
    "start_is_conditional": ("paused", Case(faults=frozenset({Fault.PAUSE}))),
    "start_needs_lease": ("lost without need", Case(faults=frozenset({Fault.KILL}))),
    "begin_checks_trust": ("owned", Case(faults=frozenset({Fault.FREEZE}))),
    "reaps_expired_holder": ("skipped for the dead", Case(faults=frozenset({Fault.KILL}), ticks=2)),
    "finish_is_conditional": ("overwritten", Case(faults=frozenset({Fault.FREEZE}))),
    "renewal_is_conditional": ("owned", Case(faults=frozenset({Fault.SLOW}))),
    "drops_unbegun": ("owned", Case(faults=frozenset({Fault.FREEZE}))),
    "reap_checks_expiry": ("owned", Case(faults=frozenset({Fault.SLOW}))),
    "reap_loses_running": ("once", Case(faults=frozenset({Fault.KILL}))),
    "reap_frees_locks": ("lock", Case(faults=frozenset({Fault.KILL}))),
    "reap_finds_late": ("settled", Case(faults=frozenset({Fault.FREEZE}), open_claims=True)),
    "reap_only_when_calm": ("lost without need", Case(faults=frozenset({Fault.OUTAGE}))),
    "stop_spares_begun": ("once", Case(faults=frozenset({Fault.STOP}))),
    "edit_withdraws_later_only": ("settled", Case(faults=frozenset({Fault.EDIT}))),
    "edit_spares_running": ("owned", Case(faults=frozenset({Fault.EDIT}))),
    "edit_takes_lock": ("paused", Case(faults=frozenset({Fault.PAUSE}), open_claims=True)),
}
"""By clause: the property that falls with it, and a case that shows it."""

IN_PAIRS = {
    ("unique_key", "planned_through"): ("one row", Case(faults=frozenset({Fault.EDIT}))),
    ("claim_needs_lease", "reap_finds_late"): ("settled", Case(faults=frozenset({Fault.FREEZE}))),
}
"""Clauses either of which is enough in the case."""


def _without(case: Case, *clauses: str) -> Case:
    return replace(case, clauses=Clauses(**dict.fromkeys(clauses, False)))


def test_every_clause_is_left_out_by_a_test():
    tested = {*LEFT_OUT, *(clause for pair in IN_PAIRS for clause in pair)}

    assert tested == set(Clauses.__slots__)


@pytest.mark.parametrize("clause", LEFT_OUT)
def test_a_property_falls_with_its_clause(clause):
    violated, case = LEFT_OUT[clause]

    found = explore(_without(case, clause))

    assert found.violated == violated, str(found)
    assert found.trace


@pytest.mark.parametrize("clause", LEFT_OUT)
def test_the_case_that_shows_a_clause_violates_nothing_with_it(clause):
    _violated, case = LEFT_OUT[clause]

    found = explore(case)

    assert not found.violated, str(found)


@pytest.mark.parametrize("clause", LEFT_OUT)
def test_the_same_property_falls_where_every_step_is_explored(clause):
    violated, case = LEFT_OUT[clause]

    found = explore(replace(_without(case, clause), is_reduced=False))

    assert found.violated == violated, str(found)


@pytest.mark.parametrize("pair", IN_PAIRS, ids="-".join)
def test_a_property_falls_with_both_of_a_pair_of_clauses(pair):
    violated, case = IN_PAIRS[pair]

    found = explore(_without(case, *pair))

    assert found.violated == violated, str(found)
    assert found.trace


@pytest.mark.parametrize("pair", IN_PAIRS, ids="-".join)
@pytest.mark.parametrize("place", [0, 1], ids=["without the first", "without the second"])
def test_either_of_a_pair_of_clauses_is_enough(pair, place):
    _violated, case = IN_PAIRS[pair]

    found = explore(_without(case, pair[place]))

    assert not found.violated, str(found)


def _executes_lost(state: State) -> bool:
    """A frozen instance has begun what was declared lost, while the next tick executes elsewhere."""
    executing = [
        (process.life, state.rows[entry.row].status)
        for process in state.processes
        for entry in process.entries
        if entry.hold == Hold.EXECUTING
    ]
    return sorted(executing) == [(Life.UP, Status.RUNNING), (Life.FROZEN, Status.LOST)]


def test_a_frozen_instance_may_still_execute_what_was_declared_lost():
    found = find(Case(faults=frozenset({Fault.FREEZE}), ticks=2), _executes_lost)

    assert found.violated == WANTED


def _begins_lost(state: State) -> bool:
    """User code is about to run for a row that was declared lost, and for the first time."""
    return any(
        entry.hold == Hold.ENTERING
        and state.rows[entry.row].status == Status.LOST
        and process.life == Life.UP
        and state.ledger[state.rows[entry.row].tick - 1] == Ledger.OPEN
        for process in state.processes
        for entry in process.entries
    )


def test_a_process_frozen_between_its_last_look_and_user_code_may_begin_what_was_declared_lost():
    found = find(Case(faults=frozenset({Fault.FREEZE}), open_begins=True), _begins_lost)

    assert found.violated == WANTED


def test_a_trace_tells_each_step_and_what_it_leaves():
    case = _without(Case(faults=frozenset({Fault.KILL})), "reap_loses_running")

    found = explore(case)

    assert found.trace[0].startswith("A sends claim of A0 ")
    assert found.trace[-1].startswith("B begins row 0 ")
    assert "row 0 (tick 1) running B0#2, locked" in found.trace[-1]


def test_a_case_that_is_too_large_is_not_taken_for_explored():
    with pytest.raises(TooLarge):
        Explorer(Case(faults=EVERY_FAULT), at_most=100).explore()
