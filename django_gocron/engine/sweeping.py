"""The sweep: finds what edits have left behind, a little on every pass of the loop.

Jobs edited through Django have a newer ``plan_version`` than their plan: looked for on every pass. Edits that went
round Django show only in the definition itself: the rows are read in slices and their fingerprints compared, so often
that it costs no more than a few per cent of the time, yet each row at least once a minute as far as that allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_gocron.conf import get_settings
from django_gocron.engine.replanning import find_changed, find_idle, replan
from django_gocron.models import Job, JobState
from django_gocron.models.definitions import fingerprint

if TYPE_CHECKING:
    from django_gocron.engine.clock import Clock

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

    def start(self) -> None:
        """What a starting scheduler looks at again: jobs that were broken, since the code may have changed."""
        broken = JobState.objects.using(self._using).exclude(broken_code="").values_list("pk", flat=True)
        replan(self._using, list(broken), force=True)

    def step(self) -> None:
        """One pass. Raises ``DatabaseError`` when the database is away."""
        replan(self._using, find_changed(self._using))
        began = self._clock.boottime()
        if began < self._next_slice:
            return
        replan(self._using, find_idle(self._using), force=True)
        replan(self._using, self._find_edited_in_slice())
        cost = self._clock.boottime() - began
        self._next_slice = began + min(max(cost / SHARE, SHORTEST_PERIOD), LONGEST_PERIOD)

    def _find_edited_in_slice(self) -> list[int]:
        zone_name = get_settings().time_zone
        jobs = Job.objects.using(self._using).filter(pk__gt=self._after).order_by("pk")[:SLICE]
        rows = list(jobs.select_related("state"))
        self._after = rows[-1].pk if len(rows) == SLICE else 0
        return [
            job.pk
            for job in rows
            if hasattr(job, "state") and job.state.planned_hash != fingerprint(job, job.timezone or zone_name)
        ]
