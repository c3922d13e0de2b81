"""The scheduler for Python callers: it runs jobs in this process, and answers for those in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from django_gocron import operations
from django_gocron.conf import get_settings, read_argument
from django_gocron.engine import scheduler as engine
from django_gocron.engine.stopping import StopOutcome, StopReport
from django_gocron.operations.editing import KEEP

if TYPE_CHECKING:
    import uuid
    from collections.abc import Mapping, Sequence

    from django_gocron.models import Job
    from django_gocron.operations.editing import Task
    from django_gocron.options import JobOptions
    from django_gocron.schedules import Schedule

__all__ = ["JobBook", "Scheduler", "StopOutcome", "StopReport"]


class JobBook:
    """The jobs of a scheduler's database, for whatever has its alias in ``using``. Works before the start, too."""

    using: str
    _job_defaults: Mapping[str, Any]

    def set_defaults(self, job_defaults: Any, time_zone: str | None) -> None:
        """What jobs that are added here have unless they say otherwise, beside the settings' ``JOB_DEFAULTS``.

        Raises ``ConfigurationError`` (``bad_setting``)."""
        general = dict(get_settings().job_defaults)
        if time_zone is not None:
            general["timezone"] = read_argument("TIME_ZONE", "time_zone", time_zone)
        if job_defaults is not None:
            general |= read_argument("JOB_DEFAULTS", "job_defaults", job_defaults)
        self._job_defaults = general

    def jobs(self, *tags: str, match: str = "any") -> list[Job]:
        """All jobs by name, or those with any of the tags, or with ``match="all"`` with all of them."""
        return operations.jobs(*tags, match=match, using=self.using)

    def get_job(self, job: Job | uuid.UUID | str) -> Job:
        """The job as the database has it now. Raises ``JobNotFoundError``."""
        return operations.get_job(job, using=self.using)

    def add(
        self,
        schedule: Schedule | str | None,
        task: Task,
        *,
        identifier: uuid.UUID | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Make a job; see ``operations.add``."""
        return operations.add(
            schedule, task, identifier=identifier, defaults=self._job_defaults, using=self.using, **options
        )

    def update(
        self, job: Job | uuid.UUID | str, *, schedule: Any = KEEP, task: Any = KEEP, **options: Any
    ) -> Job:
        """Change what is named of a job; see ``operations.update``."""
        return operations.update(
            job, schedule=schedule, task=task, defaults=self._job_defaults, using=self.using, **options
        )

    def remove(self, job: Job | uuid.UUID | str) -> None:
        """Delete a job; see ``operations.remove``."""
        operations.remove(job, using=self.using)

    def remove_by_tags(self, *tags: str, match: str = "any") -> int:
        """Delete the jobs with any of the tags, or all of them; see ``operations.remove_by_tags``."""
        return operations.remove_by_tags(*tags, match=match, using=self.using)

    def jobs_waiting_in_queue(self) -> int:
        """How many runs wait for a free slot, of this scheduler or another on its database."""
        return operations.jobs_waiting_in_queue(using=self.using)


class Scheduler(JobBook, engine.Scheduler):
    """Also answers for the jobs of its database.

    ``job_defaults`` (a dictionary, or several of which the later win) and ``time_zone`` are for the jobs that are added
    through it; all else is said at ``django_gocron.engine.scheduler.Scheduler``.
    """

    def __init__(
        self,
        *,
        job_defaults: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        time_zone: str | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.set_defaults(job_defaults, time_zone)
