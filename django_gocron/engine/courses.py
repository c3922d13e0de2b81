"""The course of a job that every instance runs for itself, as one instance keeps it: in memory only.

Nothing of it is stored. The grid of its ticks is shared, since they count from the anchor in the job's state row; how
far along it has come, each instance knows of itself. A restart begins the course anew, from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from django_gocron.engine.replanning import TIMING_LENGTH, is_active
from django_gocron.models.definitions import read_definition
from django_gocron.planning import MICROSECOND, PUNCTUAL, after_completion, due, first_tick, next_tick

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from django_gocron.models import Job, JobState
    from django_gocron.planning import Definition, Plan, Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """``next_tick_at`` is the first tick that is not settled, ``look_at`` when to look at it: when it is due, or later.
    ``awaited`` is the tick whose end the next one counts from. ``claimed`` are the ticks that may not have begun yet,
    the earliest first: an edit may withdraw their rows.
    ``version`` and ``timing`` say which plan of the job this is the course of."""

    version: int
    timing: str
    next_tick_at: datetime | None
    look_at: datetime | None
    awaited: datetime | None = None
    claimed: tuple[Tick, ...] = ()

    @classmethod
    def begin(cls, job: Job, now: datetime, *, is_first: bool) -> Self:
        """The course from ``now``, or from the end of a pause; ``is_first``: as if the job were new.

        Raises ``ScheduleError`` when the job cannot be read.
        """
        state, definition = job.state, _without_past_skip(read_definition(job), now)
        resumes_at = job.paused_until if job.is_paused_at(now) else None
        after = resumes_at - MICROSECOND if resumes_at else now
        if is_first:
            tick = first_tick(definition, anchor=state.anchor_at, now=after)
        else:
            tick = next_tick(definition, anchor=state.anchor_at, after=after)
        return cls._at(state, definition, max(tick, resumes_at) if tick and resumes_at else tick)

    @classmethod
    def _at(cls, state: JobState, definition: Definition, tick: datetime | None) -> Self:
        return cls(
            version=state.version,
            timing=timing_of(state),
            next_tick_at=tick,
            look_at=due(definition, tick) if tick else None,
        )

    def go_on(self, job: Job, withdrawn: Collection[datetime]) -> Self:
        """The same course where only the manner of running has changed: from the first tick that is not settled, those
        whose rows were ``withdrawn`` included."""
        if not withdrawn:
            return replace(self, version=job.state.version)
        known = [self.next_tick_at] if self.next_tick_at else []
        tick = min([*known, *withdrawn])
        claimed = tuple(earlier for earlier in self.claimed if earlier.scheduled_for < tick)
        return replace(self._at(job.state, read_definition(job), tick), claimed=claimed)

    def wait_for(self, tick: datetime) -> Self:
        """The same course, begun anew, of a job that counts from completion and of which a run is live."""
        return replace(self, next_tick_at=None, look_at=None, awaited=tick)

    def go_on_from_completion(self, job: Job, finished_at: datetime) -> Self:
        """The tick that was awaited has ended; the next counts from there."""
        definition = read_definition(job)
        tick = after_completion(_without_past_skip(definition, finished_at), finished_at=finished_at)
        return replace(self, next_tick_at=tick, look_at=due(definition, tick) if tick else None, awaited=None)

    def advance(self, job: Job, planned: Plan, now: datetime, *, is_exhausted: bool) -> Self:
        """The course after these ticks were claimed. Where the limit of runs leaves no room for the next one, it is
        looked at again in a while: others may not have begun theirs."""
        look_at = planned.next_due_at
        if is_exhausted and look_at:
            look_at = max(look_at, now + PUNCTUAL)
        waits = job.interval_from_completion and planned.next_tick_at is None and planned.ticks
        return replace(
            self,
            next_tick_at=planned.next_tick_at,
            look_at=look_at,
            awaited=planned.ticks[-1].scheduled_for if waits else None,
            claimed=(*self.claimed, *planned.ticks),
        )

    def claimed_before(self, moment: datetime) -> list[datetime]:
        """The claimed ticks that were due by then, and may have begun."""
        return [tick.scheduled_for for tick in self.claimed if tick.due_at < moment]

    def without(self, begun: Collection[datetime]) -> Self:
        """The same course once these ticks have begun."""
        return replace(self, claimed=tuple(tick for tick in self.claimed if tick.scheduled_for not in begun))

    @property
    def is_over(self) -> bool:
        """Whether no tick is to come, and the last has begun."""
        return self.next_tick_at is None and self.awaited is None and not self.claimed


def find_common_tick(job: Job, state: JobState, now: datetime) -> datetime | None:
    """The next tick of a job that every instance plans for itself, on the grid that they share: None where the job has
    no ticks. It asks no database. Raises ``ScheduleError`` when the job cannot be read."""
    if state.anchor_at is None or state.broken_code or state.finished_at or not is_active(job, state):
        return None
    after = job.paused_until - MICROSECOND if job.paused_until and job.is_paused_at(now) else now
    return next_tick(read_definition(job), anchor=state.anchor_at, after=after)


def timing_of(state: JobState) -> str:
    """A hash of what decides when the job runs."""
    return state.planned_hash[:TIMING_LENGTH]


def _without_past_skip(definition: Definition, now: datetime) -> Definition:
    """A tick that was skipped once keeps no later start of an instance from running the job at once."""
    is_past = definition.skip_until is not None and definition.skip_until < now
    return replace(definition, skip_until=None) if is_past else definition
