"""Letting a job rest, and go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from django_gocron.engine.database import unit
from django_gocron.engine.entries import new_run
from django_gocron.engine.replanning import replan
from django_gocron.engine.unbegun import tell_skipped
from django_gocron.exceptions import OperationError
from django_gocron.models import JobState, Run
from django_gocron.models.choices import Reason, Status
from django_gocron.models.now import database_now
from django_gocron.operations.coming import find_next_tick
from django_gocron.operations.rows import database_of, edit, lock_state

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.models import Job

LONGEST_REASON = 200


def pause(job: Job, *, reason: str = "", until: datetime | None = None, by: str = "") -> None:
    """Stop the job's ticks, for good or ``until`` an instant; what runs goes on, and a run by hand works.

    Raises ``OperationError`` (``until_not_later``, ``reason_too_long``).
    """
    using = database_of(job)
    now = database_now(using)
    if until is not None and until <= now:
        raise OperationError(
            _("The end of a pause must be in the future."), code="until_not_later", field="until"
        )
    if len(reason) > LONGEST_REASON:
        message = _("Give a reason of at most %(most)d characters.") % {"most": LONGEST_REASON}
        raise OperationError(message, code="reason_too_long", field="reason")
    edit(job, paused_at=now, paused_until=until, paused_by=by[:200], pause_reason=reason)


def resume(job: Job) -> None:
    """Let the job have ticks again, from now on: what it slept through is not made up for. Ends a quarantine too."""

    def write() -> None:
        release(job)
        edit(job, paused_at=None, paused_until=None, paused_by="", pause_reason="")

    unit(database_of(job), write)


def release(job: Job) -> bool:
    """End the job's quarantine, and count its crashes anew; a pause stays. Answers whether it was in quarantine.

    Raises ``OperationError`` (``job_deleted``).
    """
    using = database_of(job)

    def write() -> bool:
        state = lock_state(using, job)
        if state.quarantined_at is None:
            return False
        JobState.objects.using(using).filter(pk=job.pk).update(quarantined_at=None, crashes_in_row=0)
        replan(using, [job.pk], force=True)
        return True

    return unit(using, write)


def skip_next(job: Job, *, by: str = "") -> datetime:
    """Leave out the job's next tick; answer which. The tick is recorded as skipped.

    Raises ``OperationError`` (``no_next_run``, ``job_deleted``).
    """
    using = database_of(job)

    def write() -> datetime:
        while tick := find_next_tick(using, job, lock_state(using, job), database_now(using)):
            edit(job, skip_until=tick)
            row = new_run(job, status=Status.SKIPPED, reason=Reason.BY_USER, scheduled_for=tick)
            row.requested_by, row.finished_at = by[:200], database_now(using)
            Run.objects.using(using).bulk_create([row], ignore_conflicts=True)
            skipped = Run.objects.using(using).filter(job=job, scheduled_for=tick, reason=Reason.BY_USER)
            if skipped.exists():  # else the tick has begun meanwhile, and it is the one after it
                tell_skipped(skipped)
                return tick
        raise OperationError(_("The job has no next run."), code="no_next_run")

    return unit(using, write)
