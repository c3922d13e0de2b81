"""The row of a job, and its lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import router
from django.utils.translation import gettext as _

from django_gocron.engine.replanning import lock_states
from django_gocron.exceptions import OperationError
from django_gocron.models import Job
from django_gocron.models.alias import database

if TYPE_CHECKING:
    import uuid

    from django_gocron.models import JobState


def edit(job: Job, **values: Any) -> None:
    for name, value in values.items():
        setattr(job, name, value)
    job.save(using=database_of(job), update_fields=list(values))


def lock_state(using: str, job: Job) -> JobState:
    """The state row of the job, made where it lacks. Raises ``OperationError`` (``job_deleted``)."""
    states = lock_states(using, [job.pk])
    if not states:
        raise OperationError(_("The job has been deleted."), code="job_deleted")
    return states[0]


def database_of(job: Job | uuid.UUID | str) -> str:
    """The alias of the database that a row is from; of what is looked up, that of the schedulers."""
    return router.db_for_write(Job, instance=job) if isinstance(job, Job) else database()
