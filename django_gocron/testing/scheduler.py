"""A scheduler that a test drives by hand: on a clock that the test moves, in the thread of the test."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from django.db.models import Max

from django_gocron import clock as real_clock
from django_gocron import events
from django_gocron.declarations import sync as sync_declared
from django_gocron.engine.audience import Audience
from django_gocron.engine.options import read_options
from django_gocron.engine.parts import assemble
from django_gocron.engine.recovery import stop_instance
from django_gocron.engine.replanning import find_idle, replan
from django_gocron.engine.scheduler import check_ready
from django_gocron.exceptions import OperationError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import LIVE, Status
from django_gocron.models.now import replaced_by
from django_gocron.scheduler import JobBook
from django_gocron.testing.clock import FakeClock
from django_gocron.testing.executor import CallingThreadExecutor

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from django_gocron.listeners import Listeners
    from django_gocron.monitors.base import Monitor

AT_ONCE = 500
"""Runs that are started in one go, where no limit says otherwise."""

MOST_PASSES = 10_000
"""At one instant; a task that starts itself again and again has no end."""


class HandDrivenScheduler(JobBook):
    """``with HandDrivenScheduler(now=...) as scheduler: ...``; all happens in the calling thread, so within the
    transaction of a ``TestCase`` too, and nothing happens but by ``advance`` and ``run_due``.

    ``now`` is where its clock begins (default: the present), or ``clock`` is a ``FakeClock``, which several may share.
    Until the end of the block that clock stands for the database's, for everything in this process: saving a job,
    ``run_now()``, pauses and previews go by it. Jobs that are there already, and have never run, are planned as if they
    had been made at the beginning of the block. ``sync`` writes the jobs that code declares to their rows first.

    The other arguments are those of ``Scheduler``; lockers and an elector are left out. As tests have one thread,
    ``limit`` says how many runs begin before the first of them is executed, and no two overlap.
    """

    def __init__(
        self,
        *,
        now: datetime | None = None,
        clock: FakeClock | None = None,
        sync: bool = False,
        using: str = "",
        limit: int | None = None,
        limit_mode: str | None = None,
        labels: Sequence[str] = (),
        name: str = "by hand",
        listeners: Listeners | None = None,
        monitors: Sequence[Monitor] = (),
        logger: logging.Logger | None = None,
        job_defaults: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        time_zone: str | None = None,
    ) -> None:
        options = read_options(
            using=using,
            workers=max(AT_ONCE, limit or 0),
            limit=limit,
            limit_mode=limit_mode,
            labels=labels,
            name=name,
            ahead=timedelta(0),
            listeners=listeners,
        )
        self.using = options.using
        self.clock = clock or FakeClock(now or real_clock.host_now())
        self.set_defaults(job_defaults, time_zone)
        self._sync = sync
        self._audience = Audience(logger, monitors)
        self._executor = CallingThreadExecutor(self.clock)
        self._parts = assemble(replace(options, lockers=None, elector=None), self.clock, self._executor)
        self._heartbeat = options.heartbeat.total_seconds()
        self._beat_at: float | None = None
        self._block = ExitStack()

    @property
    def now(self) -> datetime:
        """The instant, aware UTC."""
        return self.clock.now()

    def __enter__(self) -> Self:
        """Raises ``NotReadyError`` (``tables_missing``)."""
        check_ready(self.using)
        with ExitStack() as block:
            block.enter_context(replaced_by(self.clock.now))
            self._audience.come()
            block.callback(self._audience.leave)
            if self._sync:
                sync_declared(self.using)
            self._plan_from_now()
            self._begin()
            self._block = block.pop_all()
        return self

    def _begin(self) -> None:
        lease = self._parts.lease
        lease.register()
        self._beat_at = self.clock.boottime()
        events.publish(events.SchedulerStarted(at=self.now, instance=lease.instance_id, name=lease.name))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._beat_at = None
        lease = self._parts.lease
        with self._block:
            for fact in stop_instance(self.using, lease.instance_id, self.now):
                events.publish(fact)
            events.publish(events.SchedulerStopped(at=self.now, name=lease.name, abandoned=0))
            events.publish(events.SchedulerShutdown(at=self.now, name=lease.name))

    def run_due(self) -> list[Run]:
        """Run what is due now, and what comes to be due by that; answer the runs that have come to their end, missed
        and skipped ones too. The clock moves only where a task moves it.

        Raises ``OperationError`` (``not_started``) outside of the block, or (``no_end``) when a task keeps starting
        runs at one instant.
        """
        return self.advance(timedelta(0))

    def advance(self, by: timedelta | float | None = None, **units: float) -> list[Run]:
        """Let time pass: a duration, a number of seconds, or ``days=``, ``hours=`` and so on. Each run begins at its
        own instant, in the order of time. Answers and raises like ``run_due``."""
        if self._beat_at is None:
            message = "Nothing runs outside of the block: with HandDrivenScheduler() as scheduler: ..."
            raise OperationError(message, code="not_started")
        step = (
            timedelta(**units) if by is None else by if isinstance(by, timedelta) else timedelta(seconds=by)
        )
        target = self.now + step
        highest, live = self._look()
        self._run_until(target)
        return self._find_ended(highest, live)

    def _run_until(self, target: datetime) -> None:
        """A task that takes its time may carry the clock beyond the target; then that is the end."""
        while self.now <= target:
            if self._run_instant():
                continue
            instant = min(self._next_instant() or target, target)
            if instant == self.now:
                return
            self.clock.advance(instant - self.now)

    def _plan_from_now(self) -> None:
        """What was planned on another clock, and has not run."""
        new = JobState.objects.using(self.using).filter(run_count=0, planned_through__isnull=True)
        new.update(anchor_at=None)
        replan(self.using, list(Job.objects.using(self.using).values_list("pk", flat=True)), force=True)

    def _run_instant(self) -> bool:
        """Run what is due; answer whether a task has moved the clock."""
        self._parts.sweep.step()
        instant = self.now
        for _ in range(MOST_PASSES):
            if not self._pass():
                replan(self.using, find_idle(self.using), force=True)  # of which some have had their last run
            elif self.now == instant:
                continue
            return self.now != instant
        raise OperationError(f"There is no end to what runs at {self.now}.", code="no_end")

    def _keep_alive(self) -> None:
        assert self._beat_at is not None
        if self.clock.boottime() - self._beat_at >= self._heartbeat:
            self._parts.heartbeat.beat()
            self._beat_at = self.clock.boottime()

    def _pass(self) -> int:
        """Claim, start, execute and record; answer how much that was. The second look at what is due is for ticks that
        find no place."""
        self._keep_alive()
        claimed = self._parts.loop.claim(self.now)
        for _ in range(2):
            self._parts.timer.start_due(self.now)
        executed = self._executor.run() or len(self._executor.submitted)
        while self._parts.completions.flush():
            pass
        return claimed + executed

    def _next_instant(self) -> datetime | None:
        """The next at which there may be something to do, later than now."""
        queued = Run.objects.using(self.using).filter(status=Status.QUEUED, available_at__gt=self.now)
        first = queued.order_by("available_at").values_list("available_at", flat=True).first()
        instants = [first, self._parts.loop.next_due_at]
        return min((one for one in instants if one is not None and one > self.now), default=None)

    def _look(self) -> tuple[int, set[int]]:
        runs = Run.objects.using(self.using)
        highest: int = runs.aggregate(highest=Max("pk"))["highest"] or 0
        return highest, set(runs.filter(status__in=LIVE).values_list("pk", flat=True))

    def _find_ended(self, highest: int, live: set[int]) -> list[Run]:
        ended = Run.objects.using(self.using).exclude(status__in=LIVE)
        new = ended.filter(pk__gt=highest)
        old = ended.filter(pk__in=live) if live else ()
        return sorted([*new, *old], key=lambda run: (run.finished_at or self.now, run.pk))
