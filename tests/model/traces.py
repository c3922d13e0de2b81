"""Traces for people: one line a step, with what it leaves behind."""

from __future__ import annotations

from tests.model.protocol import Step
from tests.model.states import NOBODY, Entry, Kind, Row, State, Write


def describe(step: Step) -> str:
    """A step, then the instant, the rows and the leases after it."""
    who = "" if step.who is None else f"{'AB'[step.who]} "
    line = f"{who}{step.verb} {_subject(step.about)}".rstrip()
    return f"{line:44} | {_world(step.after)}"


def _subject(about: Write | Entry | None) -> str:
    match about:
        case Entry():
            return f"row {about.row}"
        case Write(kind=Kind.REAP):
            return f"reap of {name(about.target)}"
        case Write(kind=Kind.CLAIM | Kind.RENEW | Kind.RESIGN):
            return f"{about.kind.name.lower()} of {name(about.owner)}"
        case Write():
            return f"{about.kind.name.lower()} of row {about.target} for {name(about.owner)}"
        case None:
            return ""


def name(identity: int) -> str:
    """``A0`` is A's first identity, ``A1`` the next."""
    return "nobody" if identity == NOBODY else f"{'AB'[identity % 2]}{identity // 2}"


def _world(state: State) -> str:
    rows = "; ".join(_row(number, row) for number, row in enumerate(state.rows))
    leases = " ".join(f"{name(identity)}:{left}" for identity, left in enumerate(state.leases) if left > -3)
    return f"at {state.now}, next {state.job.next_tick}, leases {leases}, {rows or 'no rows'}"


def _row(number: int, row: Row) -> str:
    lock = ", locked" if row.locked else ""
    return f"row {number} (tick {row.tick}) {row.status.name.lower()} {name(row.owner)}#{row.claim}{lock}"
