"""Ticks that were claimed and have not begun in time: given back by a full instance, or recovered from one that died.

Having waited, they are overdue like any other, and the misfire policy is asked again. So their rows are deleted (none
of them has begun) and the job's next tick is the earliest of them again: the next claim plans them together with
whatever else is overdue. Ticks before one that has a row of its own cannot be planned again; of these the policy is
asked here, and so it is of ticks that an instance has for itself: they are planned in its memory, and no state knows
of them. The ticks of one scope have nothing to do with those of another.

All under the locks of the state rows; a job that somebody is editing is left for the next look.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import F, Max, Q

from django_gocron import events
from django_gocron.engine.database import unit
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.engine.replanning import PLANNED, is_active, save_states, set_next
from django_gocron.engine.settling import lock_free_states
from django_gocron.exceptions import ScheduleError
from django_gocron.models import Job, Run
from django_gocron.models.choices import Origin, Reason, Status
from django_gocron.models.definitions import read_definition
from django_gocron.planning import MICROSECOND, PUNCTUAL, Misfire, next_tick

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from django.db.models import QuerySet

    from django_gocron.models import JobState
    from django_gocron.planning import Definition


class _Line(NamedTuple):
    """Ticks that are judged together: of one job, in one scope."""

    job_id: int
    scope: str


class _Row(NamedTuple):
    pk: int
    job_id: int
    tick: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passed:
    """Rows of one line that do not run, and as what they end."""

    status: Status
    reason: Reason
    rows: Sequence[_Row]


def find_overdue(using: str, now: datetime) -> QuerySet[Run]:
    """Queued runs that are ticks, have not begun, and are later than any that is in time."""
    return Run.objects.using(using).filter(is_overdue(now))


def is_overdue(now: datetime) -> Q:
    """The condition for them."""
    return Q(
        status=Status.QUEUED,
        reason__in=(Reason.GIVEN_BACK, Reason.RECOVERED),
        origin=Origin.SCHEDULE,
        attempt=1,
        available_at__lt=now - PUNCTUAL,
    )


def plan_again(using: str, job_ids: Collection[int], now: datetime) -> set[int]:
    """Ask the misfire policy of these jobs again about their overdue ticks. Answers the runs that stay queued, and run
    late. Raises ``DatabaseError`` when the database is away."""
    kept, facts = unit(using, lambda: _plan_again(using, job_ids, now))
    for fact in facts:
        events.publish(fact)
    return kept


def _plan_again(using: str, job_ids: Collection[int], now: datetime) -> tuple[set[int], list[events.Event]]:
    states = lock_free_states(using, job_ids)
    jobs = Job.objects.using(using).in_bulk(list(states))
    rows = _read_rows(using, jobs, now)
    running = _find_running(using, rows)
    kept: set[int] = set()
    facts: list[events.Event] = []
    withdrawn: list[JobState] = []
    for line, mine in rows.items():
        job, state = jobs[line.job_id], states[line.job_id]
        is_planned = not line.scope and not runs_everywhere(job)
        movable = _withdraw(using, job, state, mine) if is_planned else []
        if movable:
            withdrawn.append(state)
        fixed = mine[: len(mine) - len(movable)]
        passed = _pass_over(job, fixed, now, running.get(line))
        if passed:
            facts.append(_end(using, job, passed, now))
        kept.update(row.pk for row in fixed if not passed or row not in passed.rows)
    if withdrawn:
        save_states(using, withdrawn, PLANNED)
    return kept, facts


def _read_rows(using: str, job_ids: Collection[int], now: datetime) -> dict[_Line, list[_Row]]:
    rows: dict[_Line, list[_Row]] = defaultdict(list)
    overdue = find_overdue(using, now).filter(job__in=job_ids).order_by("pk").select_for_update()
    columns = ("pk", "job_id", "scope", "scheduled_for", "available_at")
    for pk, job_id, scope, tick, due_at in overdue.values_list(*columns):
        rows[_Line(job_id, scope)].append(_Row(pk, job_id, tick, due_at or tick))
    return {line: sorted(mine, key=lambda row: row.tick) for line, mine in rows.items()}


def _find_running(using: str, rows: dict[_Line, list[_Row]]) -> dict[_Line, datetime]:
    """The latest other tick of each line that runs, or has run, or will."""
    ids = [row.pk for mine in rows.values() for row in mine]
    jobs, scopes = {line.job_id for line in rows}, {line.scope for line in rows}
    ticks = Run.objects.using(using).filter(job__in=jobs, scope__in=scopes, origin=Origin.SCHEDULE)
    others = ticks.exclude(pk__in=ids)
    passed_over = (Status.MISSED, Status.COALESCED, Status.SKIPPED)
    running = others.exclude(status__in=passed_over).order_by().values_list("job_id", "scope")
    latest = running.annotate(tick=Max("scheduled_for"))
    return {_Line(job_id, scope): tick for job_id, scope, tick in latest}


def _withdraw(using: str, job: Job, state: JobState, rows: Sequence[_Row]) -> Sequence[_Row]:
    """Let the next claim plan these ticks, as far as they can be planned again; answers which those are."""
    if not is_active(job, state) or state.broken_code:
        return []
    try:
        definition = read_definition(job)
        rows = _find_movable(definition, state, rows)
    except ScheduleError:
        return []
    if rows:
        Run.objects.using(using).filter(pk__in=[row.pk for row in rows]).delete()
        set_next(state, definition, rows[0].tick)
        state.planned_through = rows[0].tick - MICROSECOND
        state.finished_at = None
        state.version += 1
    return rows


def _find_movable(definition: Definition, state: JobState, rows: Sequence[_Row]) -> Sequence[_Row]:
    """The last of the rows, from which on every tick that has had a row is among them. Of others one cannot know what
    became: their rows may have been pruned."""
    place, following = len(rows), None
    while place:
        tick = rows[place - 1].tick
        if following is None and tick != state.planned_through:
            break
        if following and (
            state.anchor_at is None or next_tick(definition, anchor=state.anchor_at, after=tick) != following
        ):
            break
        place, following = place - 1, tick
    return rows[place:]


def _pass_over(job: Job, rows: Sequence[_Row], now: datetime, running: datetime | None) -> _Passed | None:
    """Those that the policy does not let run: all but the latest, or all where a later tick runs (``running``); or
    those that are later than the grace."""
    match job.misfire:
        case Misfire.RUN_ONCE:
            is_covered = bool(rows and running and running > rows[-1].tick)
            passed, status, reason = rows if is_covered else rows[:-1], Status.COALESCED, Reason.NONE
        case Misfire.SKIP:
            passed = [row for row in rows if row.due_at < now - job.misfire_grace]
            status, reason = Status.MISSED, Reason.GRACE
        case _:
            passed = []
    return _Passed(status=status, reason=reason, rows=passed) if passed else None


def _end(using: str, job: Job, passed: _Passed, now: datetime) -> events.Event:
    """A row each: other ticks may lie between them."""
    Run.objects.using(using).filter(pk__in=[row.pk for row in passed.rows]).update(
        status=passed.status, reason=passed.reason, window_end=F("scheduled_for"), finished_at=now
    )
    first, last, count = passed.rows[0].tick, passed.rows[-1].tick, len(passed.rows)
    span: dict[str, Any] = {"first": first, "last": last, "count": count}
    span |= {"at": now, "job_id": job.pk, "job_name": job.name}
    if passed.status is Status.COALESCED:
        return events.TicksCoalesced(**span)
    return events.TicksMissed(reason=passed.reason.value, **span)
