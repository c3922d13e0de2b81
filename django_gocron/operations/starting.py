"""Starting a run by hand."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from django_gocron import registry
from django_gocron.engine.database import unit
from django_gocron.engine.entries import lock_key, new_run
from django_gocron.engine.wakeup import notify
from django_gocron.exceptions import ArgumentsError
from django_gocron.models import Run
from django_gocron.models.choices import Origin, Reason, Status
from django_gocron.models.now import database_now
from django_gocron.operations.rows import database_of, lock_state
from django_gocron.signatures import check_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django_gocron.models import Job


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
    using = database_of(job)
    scope = f"m:{uuid.uuid5(job.identifier, idempotency_key) if idempotency_key else uuid.uuid4()}"

    def write() -> Run:
        lock_state(using, job)
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
