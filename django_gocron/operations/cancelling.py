"""Ending a run, or asking it to end."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from django.db import router, transaction
from django.utils.translation import gettext as _

from django_gocron import events
from django_gocron.engine.database import unit
from django_gocron.engine.identities import run_identity
from django_gocron.engine.replanning import lock_states
from django_gocron.engine.settling import settle
from django_gocron.engine.wakeup import notify
from django_gocron.exceptions import OperationError
from django_gocron.models import Run
from django_gocron.models.choices import Reason, Status
from django_gocron.models.now import database_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_gocron.models import JobState

CANCELLED = ("status", "reason", "held_lock", "cancel_requested_at", "finished_at", "error_message")
"""The columns of a run that its cancellation writes."""


class CancelAnswer(StrEnum):
    """What came of cancelling a run."""

    CANCELLED = "cancelled"
    REQUESTED = "requested"


def cancel(run: Run, *, by: str = "") -> CancelAnswer:
    """Cancel a run. One that has not begun ends at once: ``CANCELLED``. One that executes is asked to: ``REQUESTED``.

    Its instance learns of that within its poll interval. A coroutine is cancelled; a function sees it in
    ``current_run().cancelled``, and ends as it likes: it may have succeeded after all. Asked again, nothing changes.
    A run that is cancelled is not tried again, and counts as no failure. Raises ``OperationError`` (``not_live``).
    """
    using = router.db_for_write(Run, instance=run)

    def write() -> CancelAnswer:
        states = lock_states(using, [run.job_id] if run.job_id else [])
        live = Run.objects.using(using).live().select_for_update().filter(pk=run.pk).first()
        if live is None:
            raise OperationError(_("The run has ended already."), code="not_live")
        if live.status in (Status.QUEUED, Status.CLAIMED):
            _cancel_unbegun(using, live, states, by)
            return CancelAnswer.CANCELLED
        if live.cancel_requested_at is None:
            words = f"Its cancellation was requested by {by}." if by else "Its cancellation was requested."
            live.cancel_requested_at, live.error_message = database_now(using), words
            live.save(using=using, update_fields=["cancel_requested_at", "error_message"])
            notify(using)
        return CancelAnswer.REQUESTED

    answer = unit(using, write)
    run.refresh_from_db(using=using, fields=CANCELLED)
    return answer


def _cancel_unbegun(using: str, run: Run, states: Sequence[JobState], by: str) -> None:
    """In time: whoever would start it waits for this transaction, and then finds it cancelled."""
    now = database_now(using)
    run.status, run.reason, run.held_lock = Status.CANCELLED, Reason.BY_USER, None
    run.cancel_requested_at = run.finished_at = now
    run.error_message = f"Cancelled by {by}." if by else ""
    run.save(using=using, update_fields=CANCELLED)
    settle(using, [(state, Status.CANCELLED.value) for state in states], now)
    fact = events.RunCancelled(at=now, reason=Reason.BY_USER.value, **run_identity(run))
    transaction.on_commit(partial(events.publish, fact), using=using, robust=True)
