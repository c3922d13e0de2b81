"""What becomes of overdue ticks."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from django_gocron.planning.backlogs import MOST
from django_gocron.planning.ticks import due
from django_gocron.planning.values import Misfire, Passed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from django_gocron.planning.backlogs import Backlog
    from django_gocron.planning.values import Definition

PUNCTUAL = timedelta(seconds=1)
"""Several overdue ticks all run while the earliest of them is no later than this."""


def pass_over(definition: Definition, backlog: Backlog, *, now: datetime) -> Passed | None:
    """The row for the oldest of the overdue ticks that the policy does not let run, or None when all run."""
    match definition.misfire:
        case Misfire.RUN_ONCE:
            is_punctual = now - due(definition, backlog.first) <= PUNCTUAL
            return None if is_punctual else backlog.row("coalesced", "", backlog.before(backlog.last))
        case Misfire.RUN_ALL:
            return _catch_up(definition, backlog, now=now)
        case Misfire.SKIP:
            return backlog.row(
                "missed", "grace", _latest_late(definition, backlog, now - definition.misfire_grace)
            )


def _catch_up(definition: Definition, backlog: Backlog, *, now: datetime) -> Passed | None:
    """The newest ``max_catchup`` ticks inside the window run."""
    window = definition.catchup_window
    outside = None if window is None else _latest_late(definition, backlog, now - window)
    beyond = backlog.before(backlog.newest(min(definition.max_catchup, MOST)))
    if beyond and (outside is None or outside < beyond):
        return backlog.row("missed", "cap", beyond)
    return backlog.row("missed", "window", outside)


def _latest_late(definition: Definition, backlog: Backlog, moment: datetime) -> datetime | None:
    """The last of the oldest ticks that were all due before ``moment``, or None."""
    late = backlog.before(moment - definition.jitter)
    for tick in islice(backlog.ticks(after=late), MOST):
        if due(definition, tick) >= moment:
            break
        late = tick
    return late


def expire(definition: Definition, ticks: Iterable[datetime], *, now: datetime) -> Passed | None:
    """The row for the oldest of these ticks that may not start any more, however they came to be late, or None."""
    deadline = definition.starting_deadline
    if deadline is None:
        return None
    late = list(takewhile(lambda tick: due(definition, tick) + deadline < now, ticks))
    if not late:
        return None
    return Passed(status="missed", reason="deadline", first=late[0], last=late[-1], count=len(late))
