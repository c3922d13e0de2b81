"""The explorer: breadth first through every state that can be reached, so that the first trace found is a shortest.

Each state is looked at when it is found. When all are known, those from which no series of steps without faults leads
to a settled state are ``stuck``: there a tick stays without a row, or a row without an end, whatever happens.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

from tests.model.clauses import Case
from tests.model.protocol import Protocol
from tests.model.states import State
from tests.model.traces import describe

NOWHERE = -1
WANTED = "wanted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``violated`` is the property that does not hold, or ""; ``trace`` a shortest way there."""

    states: int
    violated: str = ""
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.violated:
            return f"{self.states} states, no violation"
        return "\n".join((f"{self.violated!r} is violated:", *self.trace))


class TooLarge(Exception):
    """A case has more states than were allowed."""


class Explorer:
    """Explores a case once."""

    def __init__(
        self, case: Case, *, at_most: int = 5_000_000, wanted: Callable[[State], bool] | None = None
    ) -> None:
        self._wanted = wanted
        self._case = case
        self._protocol = Protocol(case)
        self._at_most = at_most
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._parents = array("l")
        self._sources = array("l")
        self._targets = array("l")

    def explore(self) -> Found:
        """Raises ``TooLarge``."""
        self._add(self._protocol.simplify(self._case.initial()), NOWHERE)
        number = 0
        while number < len(self._states):
            if violated := self._visit(number):
                return self._found(len(self._states) - 1, violated)
            number += 1
        stuck = self._find_stuck()
        return Found(states=number) if stuck is None else self._found(stuck, "settled")

    def _visit(self, number: int) -> str:
        """Take every step from a state; answer what is violated in the last state found."""
        for step in self._protocol.steps(self._states[number]):
            after = self._protocol.simplify(step.after)
            known = self._numbers.get(after)
            if known is None:
                known = self._add(after, number)
                if violated := self._protocol.find_broken(after) or self._find_wanted(after):
                    return violated
            if not step.is_fault:
                self._sources.append(number)
                self._targets.append(known)
        return ""

    def _find_wanted(self, state: State) -> str:
        return WANTED if self._wanted and self._wanted(state) else ""

    def _add(self, state: State, parent: int) -> int:
        number = self._numbers[state] = len(self._states)
        if number >= self._at_most:
            raise TooLarge(f"More than {self._at_most} states.")
        self._states.append(state)
        self._parents.append(parent)
        return number

    def _find_stuck(self) -> int | None:
        hopeful = self._find_hopeful()
        for number, state in enumerate(self._states):
            if not hopeful[number] and self._protocol.has_a_future(state):
                return number
        return None

    def _find_hopeful(self) -> bytearray:
        """Which states lead to a settled one, without faults."""
        hopeful = bytearray(map(self._protocol.is_settled, self._states))
        before: list[list[int]] = [[] for _ in self._states]
        for source, target in zip(self._sources, self._targets, strict=True):
            before[target].append(source)
        waiting = [number for number, is_hopeful in enumerate(hopeful) if is_hopeful]
        while waiting:
            for source in before[waiting.pop()]:
                if not hopeful[source]:
                    hopeful[source] = True
                    waiting.append(source)
        return hopeful

    def _found(self, number: int, violated: str) -> Found:
        path = []
        while number != NOWHERE:
            path.append(self._states[number])
            number = self._parents[number]
        return Found(states=len(self._states), violated=violated, trace=self._retrace(path[-2::-1]))

    def _retrace(self, path: list[State]) -> tuple[str, ...]:
        """The steps along a path of canonical states, told of real ones: no instance changes its name on the way."""
        state, lines = self._case.initial(), []
        for wanted in path:
            step = next(
                step for step in self._protocol.steps(state) if self._protocol.simplify(step.after) == wanted
            )
            lines.append(describe(step))
            state = step.after
        return tuple(lines)


def explore(case: Case) -> Found:
    return Explorer(case).explore()


def find(case: Case, wanted: Callable[[State], bool]) -> Found:
    """A shortest way to a state that is wanted, as if it were a violation."""
    return Explorer(case, wanted=wanted).explore()
