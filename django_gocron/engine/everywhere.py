"""Jobs that every instance runs for itself, and the scopes that keep the runs of one from those of another.

``node_local`` jobs run everywhere, ``unlocked`` ones where no leader is elected; with an elector these are planned as
all others are, and run by whoever claims them. A run's scope says who may have it: "" or ``m:<uuid>`` (runs by hand,
and their retries) any instance, the id of an instance that one alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q

from django_gocron.conf import get_settings
from django_gocron.models import Job
from django_gocron.models.choices import Coordination

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from django_gocron.models import Run

BY_HAND = "m:"
"""How the scopes of runs by hand begin."""


def runs_everywhere(job: Job) -> bool:
    """Whether every instance runs each tick of the job."""
    return job.coordination in _everywhere()


def jobs_everywhere() -> QuerySet[Job]:
    """The jobs that every instance runs. Not being locked is asked for as well: of that there is an index."""
    return Job.objects.exclude(coordination=Coordination.LOCKED).filter(coordination__in=_everywhere())


def _everywhere() -> tuple[Coordination, ...]:
    if get_settings().has_elector:
        return (Coordination.NODE_LOCAL,)
    return (Coordination.NODE_LOCAL, Coordination.UNLOCKED)


def scope_of(instance_id: UUID) -> str:
    return str(instance_id)


def is_of_an_instance(run: Run) -> bool:
    """Whether one instance alone may have the run."""
    return find_instance(run.scope) is not None


def find_instance(scope: str) -> UUID | None:
    """The instance that alone may have the runs of this scope, or None where any may."""
    try:
        return UUID(scope)
    except ValueError:
        return None


def may_have(instance_id: UUID, *, shared: bool = True) -> Q:
    """The condition for runs that the instance may have; without ``shared`` those that no other may."""
    own = Q(scope=scope_of(instance_id))
    return own | Q(scope="") | Q(scope__startswith=BY_HAND) if shared else own
