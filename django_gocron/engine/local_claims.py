"""Local claims: this instance's own ticks of the jobs that every instance runs.

Each instance plans them for itself, in memory (see courses), and inserts them with its id as their scope, claimed; from
there they go the way of all runs. Ticks within reach are inserted in one transaction: under the locks of the jobs'
state rows, which an edit holds while it withdraws such rows; the version is compared there, and the lease too. A state
row that somebody else has locked is looked at again.

A tick that has not begun a second after its instant is given back as all are, but nobody else may have it: it waits in
the queue for this instance, which asks the misfire policy about it there (see overdue). A crash leaves rows that are
ended by whoever reaps the instance (see recovery).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import skips_locked, unit
from django_gocron.engine.drafts import Draft, budget_of, count_open
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.local_courses import Courses
from django_gocron.engine.replanning import PLANNED, save_states
from django_gocron.models import Job, JobState
from django_gocron.planning import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from django_gocron.engine.courses import Course
    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry

BATCH = 500
"""Jobs claimed in one transaction, at most."""


class LocalClaims:
    """Called from the loop's thread only."""

    def __init__(self, using: str, lease: Lease, *, ahead: timedelta) -> None:
        self._using = using
        self._lease = lease
        self._ahead = ahead
        self._courses = Courses(using, lease)

    def claim(self, now: datetime, *, room: int) -> list[Entry]:
        """Claim this instance's own ticks due within ``ahead`` of ``now``, of at most ``room`` jobs; answer the runs.

        Raises ``DatabaseError`` when the database is away: then nothing is forgotten, and the next call tries again.
        """
        instance_id = self._lease.instance_id
        if not self._lease.is_trusted:
            return []
        self._courses.follow(instance_id, now)
        due = self._courses.find_due(now + self._ahead)[: max(0, min(room, BATCH))]
        return self._claim(due, instance_id, now) if due else []

    @property
    def next_due_at(self) -> datetime | None:
        """When to look at the next of these ticks."""
        return self._courses.next_due_at

    @property
    def awaits_ends(self) -> bool:
        """Whether a tick counts from the end of a run that has not ended."""
        return self._courses.awaits_ends

    def _claim(self, due: Sequence[int], instance_id: UUID, now: datetime) -> list[Entry]:
        barriers.reach("claim.before")
        draft, courses = unit(self._using, lambda: self._claim_due(due, instance_id, now))
        barriers.reach("claim.after")
        self._courses.update(courses)
        for fact in draft.facts:
            events.publish(fact)
        return draft.read_back(self._using) if draft.runs else []

    def _claim_due(
        self, due: Sequence[int], instance_id: UUID, now: datetime
    ) -> tuple[Draft, dict[int, Course]]:
        draft, courses = Draft(instance_id=instance_id, is_local=True), {}
        states = self._lock_current(due, instance_id)
        jobs = Job.objects.using(self._using).defer("description", "declared").in_bulk(list(states))
        open_runs = count_open(self._using, jobs)
        for pk, job in jobs.items():
            course = self._plan(draft, job, states[pk], open_runs[pk], now)
            if course is not None:
                courses[pk] = course
        if draft.states:
            save_states(self._using, draft.states, PLANNED)
        if draft.runs:
            draft.insert(self._using)
        return draft, courses

    def _lock_current(self, due: Sequence[int], instance_id: UUID) -> dict[int, JobState]:
        """The state rows that nobody else has locked, and that are still what the courses were planned from."""
        rows = JobState.objects.using(self._using).defer("outcomes").filter(pk__in=due)
        valid = rows.filter(lease_is_valid(instance_id)).order_by("pk")
        states: dict[int, JobState] = {}
        for state in valid.select_for_update(skip_locked=skips_locked(self._using)):
            state.outcomes = []  # neither read nor written here
            is_sound = state.quarantined_at is None and not state.broken_code
            if is_sound and state.version == self._courses[state.pk].version:
                states[state.pk] = state
        return states

    def _plan(self, draft: Draft, job: Job, state: JobState, open_runs: int, now: datetime) -> Course | None:
        course = self._courses[job.pk]
        assert course.next_tick_at is not None
        assert state.anchor_at is not None
        budget = budget_of(job, state, open_runs)
        progress = Progress(anchor_at=state.anchor_at, next_tick_at=course.next_tick_at, budget=budget)
        planned = draft.plan(job, state, progress, now=now, horizon=now + self._ahead)
        if planned is None:
            draft.states.append(state)
            return None
        is_exhausted = budget is not None and len(planned.ticks) >= budget
        return course.advance(job, planned, now, is_exhausted=is_exhausted)
