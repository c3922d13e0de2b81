"""What a claim is about to write: the rows of ticks that are planned, and what there is to tell of them.

The unique key of a run is the last word: a tick that has a row gets no second one. So after the commit the rows that
are really ours are read back by the claim's own id, and only those are held in memory.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django_gocron import events
from django_gocron.engine import barriers
from django_gocron.engine.database import read
from django_gocron.engine.entries import instance_key, make_entry, new_run
from django_gocron.engine.everywhere import scope_of
from django_gocron.engine.identities import job_identity
from django_gocron.engine.replanning import break_state, check_shape
from django_gocron.exceptions import GocronError, ScheduleError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Status
from django_gocron.models.definitions import read_definition
from django_gocron.planning import Progress, plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from django_gocron.engine.memory import Entry
    from django_gocron.planning import Passed, Plan


def fault_of(error: Exception) -> GocronError:
    """What is wrong with a job whose planning raised this: whatever that is, the others go on."""
    if isinstance(error, GocronError):
        return error
    return ScheduleError(f"Planning raised {type(error).__name__}: {error}", code="planning_failed")


def count_open(using: str, jobs: Mapping[int, Job]) -> Counter[int]:
    """First attempts that are claimed or queued, of the jobs that have a limit of runs."""
    limited = [pk for pk, job in jobs.items() if job.max_runs is not None]
    if not limited:
        return Counter()
    waiting = Run.objects.using(using).filter(
        job__in=limited, attempt=1, status__in=(Status.CLAIMED, Status.QUEUED)
    )
    return Counter(waiting.values_list("job_id", flat=True))


def budget_of(job: Job, state: JobState, open_runs: int) -> int | None:
    """How many more first attempts may be claimed; None: any number."""
    return None if job.max_runs is None else max(0, job.max_runs - state.run_count - open_runs)


@dataclass(slots=True, kw_only=True)
class Draft:
    """Made within the transaction of a claim by ``instance_id``; ``is_local``: of ticks that this instance has for
    itself."""

    instance_id: uuid.UUID
    is_local: bool = False
    claim_id: uuid.UUID = field(default_factory=uuid.uuid4)
    states: list[JobState] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    missed: dict[tuple[int, datetime], tuple[datetime, datetime, int]] = field(default_factory=dict)
    facts: list[events.Event] = field(default_factory=list)

    def plan(
        self, job: Job, state: JobState, progress: Progress, *, now: datetime, horizon: datetime
    ) -> Plan | None:
        """Plan a job, and take down the rows of its ticks. A job that cannot be planned is broken: None."""
        try:
            check_shape(job)
            planned = plan(read_definition(job), progress, now=now, horizon=horizon)
        except Exception as error:  # noqa: BLE001 - whatever the schedule of one job raises, the others go on
            self.facts.append(break_state(state, job, fault_of(error), now))
            return None
        for row in planned.passed:
            self._note_passed(job, row, planned, now)
        for tick in planned.ticks:
            run = self._new_run(
                job, status=Status.CLAIMED, scheduled_for=tick.scheduled_for, available_at=tick.due_at
            )
            run.instance_id, run.claim_id, run.claimed_at = self.instance_id, self.claim_id, now
        return planned

    def insert(self, using: str) -> None:
        """Write the rows, as far as their ticks have none."""
        barriers.reach("record.before")
        Run.objects.using(using).bulk_create(self.runs, ignore_conflicts=True)
        barriers.reach("record.after")

    def read_back(self, using: str) -> list[Entry]:
        """The runs that are really ours."""
        mine = Run.objects.using(using).filter(
            instance=self.instance_id, claim_id=self.claim_id, status=Status.CLAIMED
        )
        rows = read(using, lambda: list(mine.values_list("pk", "job_id", "scheduled_for")))
        keys = {(job_id, tick): pk for pk, job_id, tick in rows}
        entries: list[Entry] = []
        for run in self.runs:
            key = (run.job_id, run.scheduled_for)
            if run.job is not None and key in keys:
                run.pk = keys[key]
                entries.append(make_entry(run, run.job, missed=self.missed.get(key)))
        return entries

    def _new_run(self, job: Job, **values: Any) -> Run:
        run = new_run(job, **values)
        if self.is_local:
            run.scope = scope_of(self.instance_id)
            run.lock_key = run.lock_key and instance_key(job.pk, self.instance_id)
        self.runs.append(run)
        return run

    def _note_passed(self, job: Job, row: Passed, planned: Plan, now: datetime) -> None:
        run = self._new_run(job, status=row.status, reason=row.reason, scheduled_for=row.first)
        run.count, run.window_end, run.finished_at = row.count, row.last, now
        span = {"count": row.count, "first": row.first, "last": row.last}
        fact: dict[str, Any] = {"at": now, **span, **job_identity(job)}
        if row.status == Status.COALESCED:
            for tick in planned.ticks[:1]:
                self.missed[job.pk, tick.scheduled_for] = (row.first, row.last, row.count)
            self.facts.append(events.TicksCoalesced(**fact))
        else:
            self.facts.append(events.TicksMissed(reason=row.reason, **fact))
