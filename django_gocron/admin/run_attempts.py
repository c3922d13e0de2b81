"""The attempts of a tick: which one a run is, and the ones before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils.translation import gettext as _

from django_gocron.models import Run

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """``which`` is "" for a tick that was tried once only, ``before`` and ``after`` are addresses or ""."""

    which: str
    before: str
    after: str


def read_attempts(run: Run, run_url: Callable[[int], str]) -> Attempts:
    """One query. ``run_url`` answers the address of a run by its key."""
    after = Q(parent=run.pk, attempt=run.attempt + 1)
    before = Q(pk=run.parent_id, attempt=run.attempt - 1)
    found = Run.objects.using(run._state.db).filter(after | before).values_list("attempt", "pk")
    pages = {attempt: run_url(pk) for attempt, pk in found}
    return Attempts(
        which=_which(run) if run.attempt > 1 or pages else "",
        before=pages.get(run.attempt - 1, ""),
        after=pages.get(run.attempt + 1, ""),
    )


def _which(run: Run) -> str:
    """ "2 of 4"; of a tick that was tried again since an instance died there may be more than the job's retries."""
    most = 1 + run.job.retries if run.job else 0
    if run.attempt > most:
        return str(run.attempt)
    return _("%(n)d of at most %(most)d") % {"n": run.attempt, "most": most}
