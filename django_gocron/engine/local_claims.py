"""Local claims: this instance's own ticks of the jobs that every instance runs.

Each instance plans them for itself, in memory, and inserts them with its id as their scope, claimed; from there they go
the way of all runs. On each pass:

1. One query says which of these jobs have ticks, and the version of their plans.
2. Jobs that are new here, or have another version, are read, and their courses set. A course begins when the instance
   does: ``first_run="immediately"`` runs at each start. A changed job begins anew; where only the manner of running
   changed, its course goes on, and ticks that the edit has withdrawn are planned again.
3. Ticks within reach are inserted in one transaction: under the locks of the jobs' state rows, which an edit holds
   while it withdraws such rows; the version is compared there, and the lease too. A state row that somebody else has
   locked is looked at again.

After a lost lease the courses begin anew, from then on: what the former id has claimed, others end. A crash loses the
memory; the rows that it leaves are ended by whoever reaps the instance (see recovery).

A tick that has not begun a second after its instant is given back as all are, but nobody else may have it: it waits in
the queue for this instance, which asks the misfire policy about it there (see overdue).
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import JSONField, Q, Value

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.courses import Course, timing_of
from django_gocron.engine.database import skips_locked, unit
from django_gocron.engine.drafts import Draft, budget_of, count_open, fault_of
from django_gocron.engine.everywhere import jobs_everywhere, scope_of
from django_gocron.engine.lease import lease_is_valid
from django_gocron.engine.replanning import PLANNED, break_state, replan, save_states
from django_gocron.engine.runnable import my_jobs
from django_gocron.engine.settling import lock_free_states
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import LIVE, Origin
from django_gocron.planning import PUNCTUAL, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from django.db.models import QuerySet

    from django_gocron.engine.lease import Lease
    from django_gocron.engine.memory import Entry
    from django_gocron.exceptions import GocronError

BATCH = 500
"""Jobs claimed in one transaction, at most."""


class _Found(NamedTuple):
    """A job that every instance runs, as step 1 reads it."""

    pk: int
    version: int
    finished_at: datetime | None
    max_runs: int | None
    run_count: int

    @property
    def is_used_up(self) -> bool:
        return self.max_runs is not None and self.run_count >= self.max_runs


class LocalClaims:
    """Called from the loop's thread only."""

    def __init__(self, using: str, lease: Lease, *, ahead: timedelta) -> None:
        self._using = using
        self._lease = lease
        self._ahead = ahead
        self._courses: dict[int, Course] = {}
        self._met: set[int] = set()  # jobs that have had a course in this process
        self._is_starting = True
        self._looked_at: datetime | None = None
        self._id: UUID | None = None

    def claim(self, now: datetime, *, room: int) -> list[Entry]:
        """Claim this instance's own ticks due within ``ahead`` of ``now``, of at most ``room`` jobs; answer the runs.

        Raises ``DatabaseError`` when the database is away: then nothing is forgotten, and the next call tries again.
        """
        if not self._lease.is_trusted:
            return []
        if self._id != self._lease.instance_id:
            self._id = self._lease.instance_id
            self._courses.clear()
        self._look(now)
        due = self._find_due(now + self._ahead)[: min(room, BATCH)] if room > 0 else []
        return self._claim(due, now) if due else []

    @property
    def next_due_at(self) -> datetime | None:
        """When to look at the next of these ticks."""
        return min((course.look_at for course in self._courses.values() if course.look_at), default=None)

    @property
    def awaits_ends(self) -> bool:
        """Whether a tick counts from the end of a run that has not ended."""
        return any(course.awaited for course in self._courses.values())

    def _look(self, now: datetime) -> None:
        """Steps 1 and 2."""
        rows = self._jobs().values_list(
            "pk", "state__version", "state__finished_at", "max_runs", "state__run_count"
        )
        found = {row[0]: _Found(*row) for row in rows}
        running = {pk for pk, job in found.items() if not job.is_used_up}
        self._courses = {pk: course for pk, course in self._courses.items() if pk in running}
        versions = {pk: course.version for pk, course in self._courses.items()}
        self._set_courses([pk for pk in running if versions.get(pk) != found[pk].version], now)
        self._follow_completions(now)
        self._is_starting, self._looked_at = False, now
        over = {pk for pk, course in self._courses.items() if course.is_over(now)}
        ended = [pk for pk in found if found[pk].finished_at is None and (pk in over or pk not in running)]
        if ended:
            replan(self._using, ended, force=True)

    def _jobs(self) -> QuerySet[Job]:
        """Those that have ticks, and are ours."""
        is_paused = Q(paused_at__isnull=False, paused_until__isnull=True)
        mine = (my_jobs(self._lease) & jobs_everywhere()).using(self._using)
        return (
            mine.filter(enabled=True, schedule__isnull=False)
            .exclude(schedule=Value(None, JSONField()))
            .exclude(is_paused)
            .filter(state__anchor_at__isnull=False, state__quarantined_at__isnull=True, state__broken_code="")
        )

    def _set_courses(self, changed: Collection[int], now: datetime) -> None:
        if changed:
            jobs = Job.objects.using(self._using).select_related("state").filter(pk__in=changed)
            self._lay(jobs, partial(self._choose, now=now), now)

    def _choose(self, job: Job, *, now: datetime) -> Course:
        course = self._courses.get(job.pk)
        if course is not None and course.timing == timing_of(job.state):
            return course.go_on(job, self._find_withdrawn(job, course))
        is_new = job.pk not in self._met and (self._is_starting or job.state.planned_through is None)
        begun = Course.begin(job, now, is_first=is_new)
        if course is not None and course.awaited and job.interval_from_completion:
            return begun.wait_for(course.awaited)
        return begun

    def _lay(
        self, jobs: Collection[Job] | QuerySet[Job], choose: Callable[[Job], Course], now: datetime
    ) -> None:
        """Give each of the jobs the course that is chosen for it. Those whose schedule raises are broken."""
        faults: dict[int, tuple[Job, GocronError]] = {}
        for job in jobs:
            try:
                self._courses[job.pk] = choose(job)
                self._met.add(job.pk)
            except Exception as error:  # noqa: BLE001 - whatever the schedule of one job raises, the others go on
                faults[job.pk] = (job, fault_of(error))
        if faults:
            self._publish(unit(self._using, lambda: self._break(faults, now)))

    def _break(self, faults: Mapping[int, tuple[Job, GocronError]], now: datetime) -> list[events.Event]:
        """As far as nobody has planned them anew meanwhile."""
        free = lock_free_states(self._using, faults)
        states = [state for pk, state in free.items() if state.version == faults[pk][0].state.version]
        facts: list[events.Event] = [break_state(state, *faults[state.pk], now) for state in states]
        if states:
            save_states(self._using, states, PLANNED)
        return facts

    def _find_withdrawn(self, job: Job, course: Course) -> list[datetime]:
        """Which of its ticks have no row any more, of those that were still to come when last looked at."""
        assert self._looked_at is not None
        ticks = {tick.scheduled_for for tick in course.ticks_due_after(self._looked_at - PUNCTUAL)}
        rows = self._own_ticks([job.pk], ticks) if ticks else Run.objects.none()
        return sorted(ticks - set(rows.values_list("scheduled_for", flat=True)))

    def _own_ticks(self, job_ids: Collection[int], ticks: Collection[datetime]) -> QuerySet[Run]:
        assert self._id is not None
        own = Run.objects.using(self._using).filter(scope=scope_of(self._id), origin=Origin.SCHEDULE)
        return own.filter(job__in=job_ids, scheduled_for__in=ticks)

    def _follow_completions(self, now: datetime) -> None:
        """Where the awaited tick has ended, retries included, the next counts from there."""
        awaited = {pk: course.awaited for pk, course in self._courses.items() if course.awaited}
        if not awaited:
            return
        ends: dict[int, list[datetime | None]] = defaultdict(list)
        rows = self._own_ticks(awaited, set(awaited.values()))
        for job_id, tick, status, finished_at in rows.values_list(
            "job_id", "scheduled_for", "status", "finished_at"
        ):
            if tick == awaited[job_id]:
                ends[job_id].append(None if status in LIVE else finished_at)
        ended = {pk: [end or now for end in ends[pk]] for pk in awaited if None not in ends[pk]}
        jobs = Job.objects.using(self._using).select_related("state").filter(pk__in=ended)
        self._lay(
            jobs if ended else [],
            lambda job: self._courses[job.pk].go_on_from_completion(job, max(ended[job.pk], default=now)),
            now,
        )

    def _find_due(self, horizon: datetime) -> list[int]:
        """Soonest first."""
        due = [
            (course.look_at, pk)
            for pk, course in self._courses.items()
            if course.look_at and course.look_at <= horizon
        ]
        return [pk for _look_at, pk in sorted(due)]

    def _claim(self, due: Sequence[int], now: datetime) -> list[Entry]:
        """Step 3."""
        barriers.reach("claim.before")
        draft, courses = unit(self._using, lambda: self._claim_due(due, now))
        barriers.reach("claim.after")
        self._courses |= courses
        self._publish(draft.facts)
        return draft.read_back(self._using) if draft.runs else []

    def _claim_due(self, due: Sequence[int], now: datetime) -> tuple[Draft, dict[int, Course]]:
        assert self._id is not None
        draft, courses = Draft(instance_id=self._id, is_local=True), {}
        states = self._lock_current(due)
        jobs = Job.objects.using(self._using).defer("description", "tags", "declared").in_bulk(list(states))
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

    def _lock_current(self, due: Sequence[int]) -> dict[int, JobState]:
        """The state rows that nobody else has locked, and that are still what the courses were planned from."""
        rows = JobState.objects.using(self._using).defer("outcomes").filter(pk__in=due)
        valid = rows.filter(lease_is_valid(self._id)) if self._id else rows.none()
        free = valid.order_by("pk").select_for_update(skip_locked=skips_locked(self._using))
        states: dict[int, JobState] = {}
        for state in free:
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

    def _publish(self, facts: Sequence[events.Event]) -> None:
        for fact in facts:
            events.publish(fact)
