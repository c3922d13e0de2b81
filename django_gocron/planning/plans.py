"""The plan of a job: which ticks run, which do not, and which is the next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django_gocron.planning.backlogs import find_backlog
from django_gocron.planning.misfires import expire, pass_over
from django_gocron.planning.ticks import after_completion, due, next_tick
from django_gocron.planning.values import Plan, Tick

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.planning.values import Definition, Passed, Progress

BATCH = 1000
"""At most this many ticks of one job are planned in one go; the rest are planned in the next."""


def plan(definition: Definition, progress: Progress, *, now: datetime, horizon: datetime) -> Plan:
    """Settle every tick that is due by ``horizon``: those overdue at ``now`` by the misfire policy, the rest run.

    Without a budget nothing is settled: the ticks wait for the limit to be raised.
    """
    if progress.budget == 0:
        return _answer(definition, progress, None, [], progress.next_tick_at, now=now)
    backlog = find_backlog(definition, progress, now=now)
    passed = pass_over(definition, backlog, now=now) if backlog else None
    if definition.interval_from_completion:
        return _plan_one(definition, progress, passed, now=now)
    ticks: list[datetime] = []
    following = _following(definition, progress, passed.last) if passed else progress.next_tick_at
    while following and len(ticks) < BATCH and due(definition, following) <= horizon:
        ticks.append(following)
        following = _following(definition, progress, following)
    return _answer(definition, progress, passed, ticks, following, now=now)


def _plan_one(definition: Definition, progress: Progress, passed: Passed | None, *, now: datetime) -> Plan:
    """A job whose interval counts from completion has one tick at a time: the next is known when this one has ended,
    by being passed over too."""
    planned = _answer(definition, progress, passed, [] if passed else [progress.next_tick_at], None, now=now)
    if not planned.passed:
        return planned
    following = after_completion(definition, finished_at=now)
    return replace(planned, next_tick_at=following, next_due_at=following and due(definition, following))


def _following(definition: Definition, progress: Progress, tick: datetime) -> datetime | None:
    return next_tick(definition, anchor=progress.anchor_at, after=tick)


def _answer(
    definition: Definition,
    progress: Progress,
    passed: Passed | None,
    ticks: list[datetime],
    following: datetime | None,
    *,
    now: datetime,
) -> Plan:
    """Ticks beyond the budget of ``max_runs`` stay unsettled."""
    expired = expire(definition, ticks, now=now)
    if expired:
        ticks = ticks[expired.count :]
    if progress.budget is not None and len(ticks) > progress.budget:
        following, ticks = ticks[progress.budget], ticks[: progress.budget]
    return Plan(
        ticks=tuple(Tick(scheduled_for=tick, due_at=due(definition, tick)) for tick in ticks),
        passed=tuple(filter(None, (passed, expired))),
        next_tick_at=following,
        next_due_at=due(definition, following) if following else None,
    )
