"""Which jobs this process can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from django_gocron import registry
from django_gocron.models import Job

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from django_gocron.engine.lease import Lease


def my_jobs(lease: Lease) -> QuerySet[Job]:
    """Jobs whose task this process has registered, whose label it serves, and, if code has declared them, which
    its code still declares: during a deploy the old process runs what only the old code has."""
    known = [task.name for task in registry.tasks()]
    mine = Q(key__isnull=True) | Q(key__in=registry.declared_keys())
    return Job.objects.filter(mine, task__in=known, label__in=("", *lease.labels))
