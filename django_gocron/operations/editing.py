"""Making, changing and removing jobs, as staff does it in the admin."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils.translation import gettext as _

from django_gocron import registry
from django_gocron.conf import get_settings
from django_gocron.engine.database import unit
from django_gocron.exceptions import GocronError, JobError, JobNotFoundError
from django_gocron.merging import default_of
from django_gocron.models import Job
from django_gocron.models.alias import database
from django_gocron.operations.looking import get_job, tagged
from django_gocron.operations.rows import database_of, lock_state
from django_gocron.options import JobOptions, read_options, read_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django_gocron.schedules import Schedule

Task = Callable[..., Any] | str
"""A function, or the name of a task."""


class _Keep(Enum):
    """In place of a value that stays as it is."""

    KEEP = "keep"


KEEP = _Keep.KEEP


def add(
    schedule: Schedule | str | None,
    task: Task,
    *,
    identifier: uuid.UUID | None = None,
    defaults: Mapping[str, Any] | None = None,
    using: str | None = None,
    **options: Unpack[JobOptions],
) -> Job:
    """Make a job that runs ``task`` on ``schedule`` (a schedule, a cron expression, or None: by hand only).

    The function becomes a task as under ``@job``: other processes know it when they have imported it so, too. Options
    are those of ``@job``; what is not among them comes from ``defaults``, which are those of ``JOB_DEFAULTS`` unless
    given. The name is by default the function's, in words. Raises ``JobError`` with the code and field of the first
    fault: those of ``Job.full_clean()``, ``unknown_option``, ``bad_option``, ``identifier_nil``, ``bad_identifier``,
    and those of functions that cannot be tasks.
    """
    alias = using or database()
    values = _in_a_job(lambda: {**_defaults(defaults), **_read(schedule, task, options)})
    values.setdefault("name", registry.in_words(values["task"].rpartition(".")[2]))
    job = Job(identifier=_read_identifier(identifier), **values)
    unit(alias, lambda: _save(job, alias))
    return job


def update(
    job: Job | uuid.UUID | str,
    *,
    schedule: Schedule | str | _Keep | None = KEEP,
    task: Task | _Keep = KEEP,
    defaults: Mapping[str, Any] | None = None,
    using: str | None = None,
    **options: Any,
) -> Job:
    """Change what is named of a job, and nothing else; an option that is None goes back to its default: that of
    ``defaults``, which are those of ``JOB_DEFAULTS`` unless given, or that of jobs.

    All or nothing: a job that would not be valid stays as it is. It keeps its identifier and its history, what runs
    goes on, and its next run is planned anew where its timing has changed. Answers the job as it is now. Raises
    ``JobNotFoundError``, and ``JobError`` like ``add``.
    """
    alias = using or database_of(job)
    changes = _in_a_job(lambda: _read_changes(schedule, task, options, _defaults(defaults)))

    def write() -> Job:
        lock_state(alias, get_job(job, using=alias))
        row = get_job(job, using=alias)  # as it is now: nobody edits it meanwhile
        for name, value in changes.items():
            setattr(row, name, value)
        _save(row, alias, list(changes))
        return row

    return unit(alias, write)


def remove(job: Job | uuid.UUID | str, *, using: str | None = None) -> None:
    """Delete a job. What runs of it goes on, what waits ends, its history stays. Raises ``JobNotFoundError``."""
    alias = using or database_of(job)
    row = get_job(job, using=alias)
    if not unit(alias, lambda: Job.objects.using(alias).filter(pk=row.pk).delete())[0]:
        raise JobNotFoundError(
            _("There is no job %(job)s.") % {"job": job}, code="job_not_found", field="job"
        )


def remove_by_tags(*tags: str, match: str = "any", using: str | None = None) -> int:
    """Delete the jobs with any of the tags, or with ``match="all"`` with all of them; answer how many that were.

    Raises ``JobError`` (``no_tags``, ``match_unknown``).
    """
    if not tags:
        raise JobError(_("Name at least one tag."), code="no_tags", field="tags")
    alias = using or database()
    found = list(tagged(tags, match, alias).values_list("pk", flat=True))
    deleted = unit(alias, lambda: Job.objects.using(alias).filter(pk__in=found).delete())[1]
    return deleted.get(Job._meta.label, 0)


def _read(schedule: object, task: object, options: Mapping[str, Any]) -> dict[str, Any]:
    return {**read_options(options), "schedule": read_schedule(schedule), "task": _read_task(task)}


def _read_changes(
    schedule: object, task: object, options: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    changes = read_options(options)
    cleared = [name for name, value in options.items() if value is None]
    changes |= {name: defaults.get(name, default_of(name)) for name in cleared}
    if schedule is not KEEP:
        changes["schedule"] = read_schedule(schedule)
    if task is not KEEP:
        changes["task"] = _read_task(task)
    return changes


def _defaults(given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return get_settings().job_defaults if given is None else read_options(given)


def _read_task(task: Any) -> str:
    """What is neither a name nor a function, ``register`` refuses."""
    return registry.get_task(task).name if isinstance(task, str) else registry.register(task).name


def _read_identifier(identifier: uuid.UUID | None) -> uuid.UUID:
    if identifier is None:
        return uuid.uuid4()
    if not isinstance(identifier, uuid.UUID):
        message = _("identifier must be a UUID, not %(value)r.") % {"value": identifier}
        raise JobError(message, code="bad_identifier", field="identifier")
    if not identifier.int:
        raise JobError(_("The nil UUID identifies nothing."), code="identifier_nil", field="identifier")
    return identifier


def _in_a_job(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is wrong with an option is wrong with the job."""
    try:
        return read()
    except GocronError as error:
        raise JobError(error.message, code=error.code, field=error.field) from error


def _save(job: Job, using: str, fields: list[str] | None = None) -> None:
    """Raises ``JobError`` before anything is written."""
    try:
        job.full_clean(validate_unique=False)  # Django would ask another database than this one
        _refuse_taken(job, using)
        job.save(using=using, update_fields=fields)
    except ValidationError as error:
        raise _refusal(error) from None
    except IntegrityError as error:  # somebody else has taken its name meanwhile
        raise _taken("name") from error


def _refuse_taken(job: Job, using: str) -> None:
    others = Job.objects.using(using).exclude(pk=job.pk)
    for field in ("name", "identifier"):
        if others.filter(**{field: getattr(job, field)}).exists():
            raise _taken(field)


def _taken(field: str) -> JobError:
    message = _("Another job has this %(field)s already.") % {"field": field}
    return JobError(message, code="unique", field=field)


def _refusal(error: ValidationError) -> JobError:
    """With all faults in its message, each behind its field."""
    faults = [(field, fault) for field, several in error.error_dict.items() for fault in several]
    words = " ".join(f"{field}: {' '.join(fault.messages)}" for field, fault in faults)
    return JobError(words, code=faults[0][1].code or "invalid", field=faults[0][0])
