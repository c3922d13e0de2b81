"""The courses of this instance's own jobs, kept in step with the database: on each pass one query says which jobs have
ticks, and the version of their plans; only those that are new here, or have another version, are read.

A course begins when the instance does: ``first_run="immediately"`` runs at each start. A changed job begins anew; where
only the manner of running changed, its course goes on, and ticks that the edit has withdrawn are planned again. So a
tick stays known as claimed until its row has been seen begun, however long an edit stays open. After a lost lease all
begin anew, from then on: what the former id has claimed, others end.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import JSONField, Q, Value

from django_gocron import events
from django_gocron.engine.courses import Course, timing_of
from django_gocron.engine.database import DATABASE_ERRORS, unit
from django_gocron.engine.drafts import fault_of
from django_gocron.engine.everywhere import jobs_everywhere, scope_of
from django_gocron.engine.replanning import PLANNED, break_state, replan, save_states
from django_gocron.engine.runnable import my_jobs
from django_gocron.engine.settling import lock_free_states
from django_gocron.models import Job, Run
from django_gocron.models.choices import LIVE, Origin, Status
from django_gocron.planning import PUNCTUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import datetime
    from uuid import UUID

    from django.db.models import QuerySet

    from django_gocron.engine.lease import Lease
    from django_gocron.exceptions import GocronError


UNBEGUN = (Status.CLAIMED, Status.QUEUED)

TELL_AGAIN = timedelta(minutes=1)
"""After which a job that is at its end here is declared to be so once more."""


class _Found(NamedTuple):
    """A job that has ticks, as the query of each pass reads it."""

    pk: int
    version: int
    finished_at: datetime | None
    max_runs: int | None
    run_count: int

    @property
    def is_used_up(self) -> bool:
        return self.max_runs is not None and self.run_count >= self.max_runs


class Courses:
    """By job. Called from the loop's thread only. A crash loses them, and nothing else."""

    def __init__(self, using: str, lease: Lease) -> None:
        self._using = using
        self._lease = lease
        self._by_job: dict[int, Course] = {}
        self._met: set[int] = set()  # jobs that have had a course in this process
        self._instance_id: UUID | None = None
        self._looked_at: datetime | None = None
        self._told_at: dict[int, datetime] = {}  # when a job was last declared to be at its end

    def __getitem__(self, job_id: int) -> Course:
        return self._by_job[job_id]

    def update(self, courses: Mapping[int, Course]) -> None:
        """Put these in the place of what the jobs had."""
        self._by_job.update(courses)

    def find_due(self, horizon: datetime) -> list[int]:
        """The jobs to look at by then, the soonest first."""
        looks = {pk: course.look_at for pk, course in self._by_job.items() if course.look_at}
        return sorted((pk for pk, look_at in looks.items() if look_at <= horizon), key=looks.__getitem__)

    @property
    def next_due_at(self) -> datetime | None:
        """When to look at the next tick."""
        return min((course.look_at for course in self._by_job.values() if course.look_at), default=None)

    @property
    def awaits_ends(self) -> bool:
        """Whether a tick counts from the end of a run that has not ended."""
        return any(course.awaited for course in self._by_job.values())

    def follow(self, instance_id: UUID, now: datetime) -> None:
        """Bring the courses up to date, as those of that instance. Raises ``DatabaseError`` when the database is away:
        then nothing is forgotten."""
        if self._instance_id != instance_id:
            self._instance_id = instance_id
            self._by_job.clear()
        rows = self._read_claimed(now)
        found = {job.pk: job for job in self._find_jobs()}
        running = {pk for pk, job in found.items() if not job.is_used_up}
        self._by_job = {pk: course for pk, course in self._by_job.items() if pk in running}
        versions = {pk: course.version for pk, course in self._by_job.items()}
        changed = {pk for pk in running if versions.get(pk) != found[pk].version}
        self._drop_begun(rows, changed)
        self._set(changed, now)
        self._looked_at = now
        self._follow_completions(now)
        over = found.keys() - {pk for pk in running if not self._is_over(pk)}
        self._finish([pk for pk in over if found[pk].finished_at is None], now)

    def _read_claimed(self, now: datetime) -> dict[int, dict[datetime, str | None]]:
        """The status of the rows of claimed ticks that are past; None: there is none. Read before the versions are:
        where an edit has deleted the row, the version tells."""
        past = {pk: course.claimed_before(now - PUNCTUAL) for pk, course in self._by_job.items()}
        ticks = [tick for mine in past.values() for tick in mine]
        if not ticks:
            return {}
        own = self._own_ticks([pk for pk, mine in past.items() if mine], min(ticks), max(ticks))
        found = {
            (job, tick): status for job, tick, status in own.values_list("job_id", "scheduled_for", "status")
        }
        return {pk: {tick: found.get((pk, tick)) for tick in mine} for pk, mine in past.items() if mine}

    def _drop_begun(
        self, rows: Mapping[int, Mapping[datetime, str | None]], changed: Collection[int]
    ) -> None:
        """What has begun no edit can withdraw. A row that is gone without an edit has been pruned."""
        for pk in rows.keys() & self._by_job.keys():
            over = [
                tick
                for tick, status in rows[pk].items()
                if status not in UNBEGUN and (status is not None or pk not in changed)
            ]
            self._by_job[pk] = self._by_job[pk].without(over)

    def _find_jobs(self) -> list[_Found]:
        """Those that every instance runs, that have ticks, and are ours."""
        is_paused = Q(paused_at__isnull=False, paused_until__isnull=True)
        mine = (my_jobs(self._lease) & jobs_everywhere()).using(self._using).order_by()
        active = (
            mine.filter(enabled=True, schedule__isnull=False)
            .exclude(schedule=Value(None, JSONField()))
            .exclude(is_paused)
            .filter(state__anchor_at__isnull=False, state__quarantined_at__isnull=True, state__broken_code="")
        )
        rows = active.values_list(
            "pk", "state__version", "state__finished_at", "max_runs", "state__run_count"
        )
        return [_Found(*row) for row in rows]

    def _set(self, changed: Collection[int], now: datetime) -> None:
        if changed:
            self._lay(self._read(changed), partial(self._choose, now=now), now)

    def _read(self, job_ids: Iterable[int]) -> QuerySet[Job]:
        return Job.objects.using(self._using).select_related("state").filter(pk__in=job_ids)

    def _choose(self, job: Job, *, now: datetime) -> Course:
        course = self._by_job.get(job.pk)
        if course is not None and course.timing == timing_of(job.state):
            return course.go_on(job, self._find_withdrawn(job, course))
        is_new = self._looked_at is None or job.state.planned_through is None
        is_first = is_new and job.pk not in self._met
        since = max(self._looked_at, job.state.anchor_at) if is_first and self._looked_at else now
        begun = Course.begin(
            job, min(since, now), is_first=is_first
        )  # it may have been made since the last look
        if course is not None and course.awaited and job.interval_from_completion:
            return begun.wait_for(course.awaited)
        return begun

    def _lay(self, jobs: Iterable[Job], choose: Callable[[Job], Course], now: datetime) -> None:
        """Give each of the jobs the course that is chosen for it. Those whose schedule raises are broken."""
        faults: dict[int, tuple[Job, GocronError]] = {}
        for job in jobs:
            try:
                self._by_job[job.pk] = choose(job)
                self._met.add(job.pk)
            except DATABASE_ERRORS:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the schedule of one job raises, the others go on
                faults[job.pk] = (job, fault_of(error))
        if faults:
            for fact in unit(self._using, lambda: self._break(faults, now)):
                events.publish(fact)

    def _break(self, faults: Mapping[int, tuple[Job, GocronError]], now: datetime) -> list[events.Event]:
        """As far as nobody has planned them anew meanwhile."""
        free = lock_free_states(self._using, faults)
        states = [state for pk, state in free.items() if state.version == faults[pk][0].state.version]
        facts: list[events.Event] = [break_state(state, *faults[state.pk], now) for state in states]
        if states:
            save_states(self._using, states, PLANNED)
        return facts

    def _find_withdrawn(self, job: Job, course: Course) -> list[datetime]:
        """Which of its claimed ticks have no row any more."""
        ticks = {tick.scheduled_for for tick in course.claimed}
        if not ticks:
            return []
        rows = self._own_ticks([job.pk], min(ticks), max(ticks))
        return sorted(ticks - set(rows.values_list("scheduled_for", flat=True)))

    def _own_ticks(self, job_ids: Collection[int], first: datetime, last: datetime) -> QuerySet[Run]:
        assert self._instance_id is not None
        own = Run.objects.using(self._using).filter(scope=scope_of(self._instance_id), origin=Origin.SCHEDULE)
        return own.filter(job__in=job_ids, scheduled_for__gte=first, scheduled_for__lte=last)

    def _follow_completions(self, now: datetime) -> None:
        """Where the awaited tick has ended, retries included, the next counts from there."""
        awaited = {pk: course.awaited for pk, course in self._by_job.items() if course.awaited}
        if not awaited:
            return
        ends: dict[int, list[datetime | None]] = defaultdict(list)
        rows = self._own_ticks(awaited, min(awaited.values()), max(awaited.values()))
        for job_id, tick, status, finished_at in rows.values_list(
            "job_id", "scheduled_for", "status", "finished_at"
        ):
            if tick == awaited[job_id]:
                ends[job_id].append(None if status in LIVE else finished_at or now)
        ended = {pk: max(filter(None, ends[pk]), default=now) for pk in awaited if None not in ends[pk]}
        if ended:
            self._lay(
                self._read(ended),
                lambda job: self._by_job[job.pk].go_on_from_completion(job, ended[job.pk]),
                now,
            )

    def _is_over(self, job_id: int) -> bool:
        return job_id in self._by_job and self._by_job[job_id].is_over

    def _finish(self, job_ids: Collection[int], now: datetime) -> None:
        """Their states are to say that no tick is to come: on any instance, since all have the same. Those that
        somebody is editing are left for later, as are those of which the state says otherwise: it counts from no
        completion."""
        told = {pk for pk, told_at in self._told_at.items() if now - told_at < TELL_AGAIN}
        if due := set(job_ids) - told:
            unit(
                self._using, lambda: replan(self._using, list(lock_free_states(self._using, due)), force=True)
            )
            self._told_at.update(dict.fromkeys(due, now))
