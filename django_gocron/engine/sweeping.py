"""The sweep: finds what edits have left behind, a little on every pass of the loop.

Jobs edited through Django have a newer ``plan_version`` than their plan: looked for on every pass. Edits that went
round Django show only in the definition itself: the rows are read in slices and their fingerprints compared, so often
that it costs no more than a few per cent of the time, yet each row at least once a minute as far as that allows. The
first time round after a start they are also looked at for plans that newer rules of a time zone have moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.conf import get_settings
from django_gocron.engine.replanning import find_changed, find_idle, replan
from django_gocron.models import Job, JobState
from django_gocron.models.choices import Coordination
from django_gocron.models.definitions import fingerprint, read_definition
from django_gocron.planning import MICROSECOND, FirstRun, next_tick
from django_gocron.schedules import EveryRandom

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.clock import Clock

SLICE = 5000
"""Rows read in one step."""

SHARE = 0.02
"""Of the time that reading slices may take."""

SHORTEST_PERIOD, LONGEST_PERIOD = 1.0, 60.0
"""Seconds between two slices."""


class Sweep:
    """Called from the loop's thread only."""

    def __init__(self, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._after = 0
        self._next_slice = 0.0
        self._is_first_round = True

    def start(self) -> None:
        """What a starting scheduler looks at again: jobs that were broken, since the code may have changed, and those
        that run everywhere or not as the settings say."""
        broken = JobState.objects.using(self._using).exclude(broken_code="").values_list("pk", flat=True)
        replan(self._using, list(broken), force=True)
        unlocked = Job.objects.using(self._using).filter(coordination=Coordination.UNLOCKED)
        replan(self._using, list(unlocked.values_list("pk", flat=True)))

    def step(self) -> None:
        """One pass. Raises ``DatabaseError`` when the database is away."""
        replan(self._using, find_changed(self._using))
        began = self._clock.boottime()
        if began < self._next_slice:
            return
        replan(self._using, find_idle(self._using), force=True)
        self._sweep_slice()
        cost = self._clock.boottime() - began
        self._next_slice = began + min(max(cost / SHARE, SHORTEST_PERIOD), LONGEST_PERIOD)

    def _sweep_slice(self) -> None:
        zone_name, now = get_settings().time_zone, self._clock.now()
        jobs = Job.objects.using(self._using).filter(pk__gt=self._after).order_by("pk")[:SLICE]
        rows = list(jobs.select_related("state"))
        planned = [job for job in rows if hasattr(job, "state")]
        edited = {
            job.pk for job in planned if job.state.planned_hash != fingerprint(job, job.timezone or zone_name)
        }
        replan(self._using, edited)
        if self._is_first_round:
            replan(self._using, {job.pk for job in planned if _has_moved(job, now)} - edited, force=True)
        self._after = rows[-1].pk if len(rows) == SLICE else 0
        self._is_first_round &= self._after != 0


def _has_moved(job: Job, now: datetime) -> bool:
    """Whether the next tick of a job, still to come, is none by the rules its time zone has now. Not asked where it
    need not be on the schedule: at a first run out of turn, after a pause, or counted from a completion or from the
    tick before."""
    tick: datetime | None = job.state.next_tick_at
    anchor: datetime | None = job.state.anchor_at
    if tick is None or tick <= now or anchor is None or job.paused_at or job.interval_from_completion:
        return False
    if isinstance(job.schedule, EveryRandom) or job.first_run != FirstRun.ON_SCHEDULE:
        return False
    try:
        return next_tick(read_definition(job), anchor=anchor, after=tick - MICROSECOND) != tick
    except Exception:  # noqa: BLE001 - whatever the schedule of one job raises; planning says what is wrong with it
        return False
