"""The use cases that the admin, the commands and Python callers share.

Each is one transaction on the database of the job, answers what came of it, and works whether a scheduler is running
or not. ``by`` is who asked, as text. Instants are aware UTC.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import router, transaction
from django.utils.translation import gettext as _

from django_gocron import events, registry
from django_gocron.engine.courses import find_common_tick
from django_gocron.engine.database import unit
from django_gocron.engine.entries import lock_key, new_run
from django_gocron.engine.everywhere import runs_everywhere
from django_gocron.engine.replanning import lock_states, replan
from django_gocron.engine.settling import settle
from django_gocron.engine.wakeup import notify
from django_gocron.exceptions import ArgumentsError, OperationError
from django_gocron.models import Job, JobState, Run
from django_gocron.models.choices import Origin, Reason, Status
from django_gocron.models.definitions import read_definition
from django_gocron.models.now import database_now
from django_gocron.planning import due, next_tick
from django_gocron.signatures import check_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

LONGEST_REASON = 200

CANCELLED = ("status", "reason", "held_lock", "cancel_requested_at", "finished_at", "error_message")
"""The columns of a run that its cancellation writes."""


def run_now(
    job: Job,
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    force: bool = False,
    by: str = "",
    idempotency_key: str = "",
) -> Run:
    """Queue a run by hand; answer its row at once. A scheduler that is free starts it within its poll interval.

    Works on paused and disabled jobs, and changes nothing about their schedule. ``args`` and ``kwargs`` replace the
    job's own. While a run of the job is live it waits, unless ``force`` lets it start beside that one. The same
    ``idempotency_key`` of a job gives the same run. Whether the arguments fit is only known where the task is: a run
    of a task that this process does not know waits for one that does. Raises ``ArgumentsError``, ``OperationError``
    (``job_deleted``).
    """
    args, kwargs = _read_arguments(job, args, kwargs)
    using = _database_of(job)
    scope = f"m:{uuid.uuid5(job.identifier, idempotency_key) if idempotency_key else uuid.uuid4()}"

    def write() -> Run:
        _lock_state(using, job)
        earlier = Run.objects.using(using).filter(job=job, scope=scope).first()
        if earlier is not None:
            return earlier
        now = database_now(using)
        run = new_run(job, status=Status.QUEUED, reason=Reason.MANUAL, scheduled_for=now, available_at=now)
        run.origin, run.scope, run.requested_by = Origin.MANUAL, scope, by[:200]
        run.args, run.kwargs = args, kwargs
        run.lock_key = "" if force else lock_key(job)
        run.save(using=using)
        notify(using)
        return run

    return unit(using, write)


def _read_arguments(
    job: Job, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None
) -> tuple[list[Any], dict[str, Any]]:
    args = job.args if args is None else args
    kwargs = job.kwargs if kwargs is None else kwargs
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        field = "kwargs" if isinstance(args, list | tuple) else "args"
        message = _("The arguments of %(job)s are not a JSON list and a JSON object.") % {"job": job.name}
        raise ArgumentsError(message, code="arguments_not_json", field=field)
    task = registry.find_task(job.task)
    if task is not None:
        task.check_arguments(list(args), dict(kwargs))
    else:
        check_json(args, kwargs)
    return list(args), dict(kwargs)


def pause(job: Job, *, reason: str = "", until: datetime | None = None, by: str = "") -> None:
    """Stop the job's ticks, for good or ``until`` an instant; what runs goes on, and a run by hand works.

    Raises ``OperationError`` (``until_not_later``, ``reason_too_long``).
    """
    using = _database_of(job)
    now = database_now(using)
    if until is not None and until <= now:
        raise OperationError(
            _("The end of a pause must be in the future."), code="until_not_later", field="until"
        )
    if len(reason) > LONGEST_REASON:
        message = _("Give a reason of at most %(most)d characters.") % {"most": LONGEST_REASON}
        raise OperationError(message, code="reason_too_long", field="reason")
    _edit(job, paused_at=now, paused_until=until, paused_by=by[:200], pause_reason=reason)


def resume(job: Job) -> None:
    """Let the job have ticks again, from now on: what it slept through is not made up for. Ends a quarantine too."""

    def write() -> None:
        release(job)
        _edit(job, paused_at=None, paused_until=None, paused_by="", pause_reason="")

    unit(_database_of(job), write)


def release(job: Job) -> bool:
    """End the job's quarantine, and count its crashes anew; a pause stays. Answers whether it was in quarantine.

    Raises ``OperationError`` (``job_deleted``).
    """
    using = _database_of(job)

    def write() -> bool:
        state = _lock_state(using, job)
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
    using = _database_of(job)

    def write() -> datetime:
        while tick := _find_next_tick(using, job, _lock_state(using, job), database_now(using)):
            _edit(job, skip_until=tick)
            row = new_run(job, status=Status.SKIPPED, reason=Reason.BY_USER, scheduled_for=tick)
            row.requested_by, row.finished_at = by[:200], database_now(using)
            Run.objects.using(using).bulk_create([row], ignore_conflicts=True)
            skipped = Run.objects.using(using).filter(job=job, scheduled_for=tick, reason=Reason.BY_USER)
            if skipped.exists():  # else the tick has begun meanwhile, and it is the one after it
                return tick
        raise OperationError(_("The job has no next run."), code="no_next_run")

    return unit(using, write)


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
    fact = events.RunCancelled(
        at=now,
        run_id=run.pk,
        job_id=run.job_id or 0,
        job_name=run.job_name,
        task=run.task,
        scheduled_for=run.scheduled_for,
        reason=Reason.BY_USER.value,
    )
    transaction.on_commit(partial(events.publish, fact), using=using, robust=True)


def next_runs(job: Job, n: int = 5, *, now: datetime | None = None) -> list[datetime]:
    """The next ``n`` instants after ``now`` (the database's own if None) at which the job is to run, jitter included;
    fewer when it ends before.

    A preview: an edit, a pause or a limit of runs changes it. Empty for a job that is disabled, paused without an
    end, broken or finished. Of a job that every instance runs, these are the instants that all have in common, as
    far as they do: an interval that counts from completion does so on each of them. Raises ``ScheduleError`` when the
    schedule cannot be read.
    """
    using = _database_of(job)
    state = JobState.objects.using(using).filter(pk=job.pk).first()
    tick = _find_next_tick(using, job, state, now or database_now(using)) if state else None
    if state is None or tick is None or state.anchor_at is None:
        return []
    definition = read_definition(job)
    left = n if job.max_runs is None else min(n, max(0, job.max_runs - state.run_count))
    instants: list[datetime] = []
    while tick is not None and len(instants) < left:
        instants.append(due(definition, tick))
        tick = next_tick(definition, anchor=state.anchor_at, after=tick)
    return instants


def _find_next_tick(using: str, job: Job, state: JobState, now: datetime) -> datetime | None:
    """The first tick that has not begun: claimed a moment ahead, or still to be claimed."""
    if runs_everywhere(job):
        return find_common_tick(job, state, now)
    waiting = Run.objects.using(using).filter(
        job=job, origin=Origin.SCHEDULE, status=Status.CLAIMED, scheduled_for__gt=now
    )
    claimed = waiting.order_by("scheduled_for").values_list("scheduled_for", flat=True).first()
    return claimed or state.next_tick_at


def _edit(job: Job, **values: Any) -> None:
    for name, value in values.items():
        setattr(job, name, value)
    job.save(using=_database_of(job), update_fields=list(values))


def _lock_state(using: str, job: Job) -> JobState:
    """The state row of the job, made where it lacks. Raises ``OperationError`` (``job_deleted``)."""
    states = lock_states(using, [job.pk])
    if not states:
        raise OperationError(_("The job has been deleted."), code="job_deleted")
    return states[0]


def _database_of(job: Job) -> str:
    return router.db_for_write(Job, instance=job)
