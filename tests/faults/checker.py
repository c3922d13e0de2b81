"""The six invariants, checked on what is left when all is over: the ledger, and the trace of what was executed.

    I1  every expected tick has exactly one row, or stands in one that says how many
    I2  none has two runs that succeeded, and no attempt is begun twice, or begun without a record
    I3  a job that may not overlap has never had two runs that were live at the same time
    I4  a fencing token that was asked for when another had been given is greater
    I5  jobs that the fault does not concern kept their schedule
    I6  everything has ended: nothing is claimed, running or locked any more

Each check answers sentences, one for each thing that is wrong.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Origin, Overlap, Status
from django_gocron.schedules import Every
from tests.faults.trace import Line, Trace

BUSY_MACHINE = float(
    os.environ.get("GOCRON_TEST_SLOWNESS") or max(3.0, os.getloadavg()[0] / (os.cpu_count() or 1))
)
"""How many times slower than a quiet machine this one may be: a test runs a dozen processes on a core or two, and
others may be at work beside it."""

ON_TIME = timedelta(seconds=2) * BUSY_MACHINE
"""How late a job may be that has nothing to do with a fault."""

CLOCKS_AGREE = timedelta(milliseconds=100)
"""How far the instants that two instances write may be apart for one moment."""

END_OF_TEST = 5
"""Rows of a job that need not have started any more when its instance was told to stop."""

BEGUN = (Status.RUNNING, Status.SUCCEEDED, Status.FAILED, Status.TIMED_OUT, Status.CANCELLED, Status.LOST)
"""What a run may be that user code has begun for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Jobs with ``Every`` schedules, with their states; their runs; what was written outside of the database."""

    jobs: Sequence[Job]
    runs: Sequence[Run]
    lines: Sequence[Line] = ()

    @classmethod
    def gather(cls, trace: Trace | None = None) -> Evidence:
        jobs = Job.objects.select_related("state")
        lines = trace.lines() if trace else []
        return cls(jobs=list(jobs), runs=list(Run.objects.order_by("scheduled_for", "pk")), lines=lines)

    def runs_of(self, job: Job) -> list[Run]:
        return [run for run in self.runs if run.job_id == job.pk]

    def said(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line["kind"] == kind]


def assert_invariants(evidence: Evidence, *, bystanders: Iterable[Job] = ()) -> None:
    wrong = [*all_wrong(evidence), *late(evidence, bystanders)]
    assert not wrong, "\n".join(["", *wrong[:40]])


def all_wrong(evidence: Evidence) -> list[str]:
    checks = (uncovered, run_twice, unrecorded, overlapping, decreasing, unended)
    return [sentence for check in checks for sentence in check(evidence)]


def ticks_of(run: Run, interval: timedelta) -> list[datetime]:
    """All that the row stands for."""
    return [run.scheduled_for + number * interval for number in range(run.count)]


def uncovered(evidence: Evidence) -> Iterator[str]:
    """I1: from the first tick of a job that has a row to the last before the one that is planned next."""
    for job in evidence.jobs:
        if isinstance(job.schedule, Every):
            for scope in {run.scope for run in evidence.runs_of(job)}:
                runs = [run for run in evidence.runs_of(job) if run.scope == scope]
                yield from _uncovered(job, job.schedule.interval, runs)


def _uncovered(job: Job, interval: timedelta, runs: list[Run]) -> Iterator[str]:
    scheduled = [run for run in runs if run.origin == Origin.SCHEDULE and run.attempt == 1]
    for run in scheduled:
        if run.window_end and ticks_of(run, interval)[-1] != run.window_end:
            yield f"I1 run {run.pk} of {job.name} counts {run.count} ticks, and its last is {run.window_end}"
    ticks = Counter(tick for run in scheduled for tick in ticks_of(run, interval))
    for tick, number in ticks.items():
        if number > 1:
            yield f"I1 tick {tick} of {job.name} has {number} rows"
    following = _next_tick(job)
    for tick, after in pairwise([*sorted(ticks), *([following] if ticks and following else [])]):
        if after - tick != interval:
            yield f"I1 after tick {tick} of {job.name} comes {after}, not {tick + interval}"


def _next_tick(job: Job) -> datetime | None:
    state: JobState | None = getattr(job, "state", None)
    return state.next_tick_at if state else None


def run_twice(evidence: Evidence) -> Iterator[str]:
    """I2, in the ledger and outside of it."""
    succeeded = Counter(
        (run.job_name, run.scheduled_for, run.scope)
        for run in evidence.runs
        if run.status == Status.SUCCEEDED
    )
    for (name, tick, _scope), number in succeeded.items():
        if number > 1:
            yield f"I2 tick {tick} of {name} has succeeded {number} times"
    scopes = {run.pk: run.scope for run in evidence.runs}
    begun = Counter(
        (line["name"], line["tick"], line["attempt"], scopes.get(line["run"]))
        for line in evidence.said("begin")
    )
    for (name, begun_tick, attempt, _scope), number in begun.items():
        if number > 1:
            yield f"I2 attempt {attempt} of tick {begun_tick} of {name} was begun {number} times"


def unrecorded(evidence: Evidence) -> Iterator[str]:
    """I2: no user code without a record of it, no success without user code."""
    rows = {run.pk: run for run in evidence.runs}
    begun = {line["run"] for line in evidence.said("begin")}
    ended = {line["run"] for line in evidence.said("end")}
    for pk in sorted(begun):
        if pk not in rows:
            yield f"I2 run {pk} was begun and has no row"
        elif rows[pk].status not in BEGUN:
            yield f"I2 run {pk} was begun and is {rows[pk].status}({rows[pk].reason})"
    if evidence.lines:
        for run in evidence.runs:
            if run.status == Status.SUCCEEDED and run.pk not in begun & ended:
                yield f"I2 run {run.pk} of {run.job_name} succeeded and was never executed"


def overlapping(evidence: Evidence) -> Iterator[str]:
    """I3: a run is live from its start to its end, or until it was declared lost."""
    for job in evidence.jobs:
        if job.overlap == Overlap.ALLOW:
            continue
        for scope in {run.scope for run in evidence.runs_of(job)}:
            yield from _overlapping(job, [run for run in evidence.runs_of(job) if run.scope == scope])


def _overlapping(job: Job, runs: list[Run]) -> Iterator[str]:
    live = [run for run in runs if run.started_at and run.finished_at and run.status in BEGUN]
    for first, second in pairwise(sorted(live, key=lambda run: run.started_at)):  # type: ignore[arg-type,return-value]
        assert first.finished_at is not None
        assert second.started_at is not None
        if first.finished_at - second.started_at > CLOCKS_AGREE:
            yield (
                f"I3 run {second.pk} of {job.name} started at {second.started_at}, run {first.pk}"
                f" ({first.status}) ended at {first.finished_at}"
            )


def decreasing(evidence: Evidence) -> Iterator[str]:
    """I4. A process may be frozen between its draw and its line: then the lines are not in the order of the draws."""
    given: dict[int, list[Line]] = defaultdict(list)
    for line in evidence.said("token"):
        given[line["job"]].append(line)
    for job_id, lines in given.items():
        for line in lines:
            earlier = (other["token"] for other in lines if other["boottime"] < line["asked_at"])
            if (greatest := max(earlier, default=0)) >= line["token"]:
                yield f"I4 job {job_id} drew token {line['token']} after {greatest}"


def late(evidence: Evidence, bystanders: Iterable[Job], bound: timedelta = ON_TIME) -> Iterator[str]:
    """I5: from one tick of the job to the next start of a run of it, however many ticks are passed over between."""
    for job in bystanders:
        runs = evidence.runs_of(job)
        starts = sorted(run.started_at for run in runs if run.started_at)
        for run in runs[:-END_OF_TEST]:
            after = next((start for start in starts if start >= run.scheduled_for), None)
            if after is None:
                yield f"I5 {job.name} did not run any more after {run.scheduled_for}"
            elif after - run.scheduled_for > bound:
                yield f"I5 {job.name} ran {after - run.scheduled_for} after its tick {run.scheduled_for}"


def unended(evidence: Evidence) -> Iterator[str]:
    """I6: when every instance has stopped, only what was given back at the stop still waits."""
    for run in evidence.runs:
        if run.status in (Status.CLAIMED, Status.RUNNING):
            yield f"I6 run {run.pk} of {run.job_name} for {run.scheduled_for} is still {run.status}"
        if run.held_lock is not None:
            yield f"I6 run {run.pk} of {run.job_name}, {run.status}, still holds its lock"
