"""What the schedulers are doing, read once for a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django_gocron.conf import get_settings
from django_gocron.models import Instance, Run
from django_gocron.models.alias import database
from django_gocron.models.choices import Status
from django_gocron.models.now import database_now

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.http import HttpRequest

    from django_gocron.models import Job

RECENT = 50
"""Instances looked at; the live ones have the latest heartbeats."""

ORPHANED_AFTER = timedelta(minutes=15)
"""What an instance declared counts for so long after its last heartbeat: instances that are replaced one by one, or
restarted, orphan nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executing:
    """A run that executes now. ``job_id`` is None when its job was deleted meanwhile."""

    run_id: int
    job_id: int | None
    instance_id: UUID | None
    started_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """At ``now`` (the database's instant): the live instances, those ``heard`` of lately, the latest heartbeat of any,
    and what executes."""

    now: datetime
    live: tuple[Instance, ...]
    heard: tuple[Instance, ...]
    latest: Instance | None
    executing: tuple[Executing, ...]

    @property
    def known_tasks(self) -> frozenset[str]:
        """The tasks that some live instance can run."""
        return frozenset(name for instance in self.live for name in _names(instance.tasks))

    @property
    def declared_keys(self) -> frozenset[str] | None:
        """The keys of the jobs that some instance heard of lately declares; None where there is none to ask."""
        if not self.heard:
            return None
        return frozenset(key for instance in self.heard for key in _names(instance.declares))

    def is_orphan(self, key: str | None) -> bool:
        """Whether a job with this key was declared by code, and by none that runs."""
        return key is not None and self.declared_keys is not None and key not in self.declared_keys

    def first_start(self, job_id: int) -> Executing | None:
        """The run of a job that has executed longest, or None when none does."""
        return next((run for run in self.executing if run.job_id == job_id), None)

    def able(self, job: Job) -> list[Instance]:
        """The live instances that know the job's task and serve its label."""
        return [
            instance
            for instance in self.live
            if job.task in _names(instance.tasks) and (not job.label or job.label in _names(instance.labels))
        ]

    @property
    def leader(self) -> Instance | None:
        """The live instance of the greatest term; None where none leads."""
        leading = [instance for instance in self.live if instance.term is not None]
        return max(leading, key=lambda instance: instance.term or 0, default=None)

    @property
    def has_election(self) -> bool:
        """Whether the instances elect a leader, as far as the settings here or their rows tell."""
        return get_settings().has_elector or self.leader is not None

    def find_name(self, instance_id: UUID) -> str:
        """The name of an instance that was heard of lately; "" of any other."""
        known = {instance.pk: instance.name for instance in (*self.heard, *self.live)}
        return known.get(instance_id, "")

    def count_on(self, instance_id: UUID) -> int:
        """How many runs an instance executes."""
        return sum(run.instance_id == instance_id for run in self.executing)


def situation_of(request: HttpRequest) -> Situation:
    """The situation when this request first asked."""
    known: Situation | None = getattr(request, "gocron_situation", None)
    if known is None:
        known = read_situation(database())
        request.gocron_situation = known  # type: ignore[attr-defined]
    return known


def read_situation(using: str) -> Situation:
    """Two queries, and one more where the database's clock has to be asked."""
    now = database_now(using)
    recent = list(Instance.objects.using(using).order_by("-heartbeat_at")[:RECENT])
    return Situation(
        now=now,
        live=tuple(instance for instance in recent if is_live(instance, now)),
        heard=tuple(instance for instance in recent if now - instance.heartbeat_at <= ORPHANED_AFTER),
        latest=recent[0] if recent else None,
        executing=_read_executing(using),
    )


def is_live(instance: Instance, now: datetime) -> bool:
    """Whether the instance holds its lease."""
    gone = instance.stopped_at or instance.reaped_at
    return not gone and instance.lease_expires_at > now


def _read_executing(using: str) -> tuple[Executing, ...]:
    rows = (
        Run.objects.using(using)
        .filter(status=Status.RUNNING)
        .order_by("started_at")
        .values_list("pk", "job_id", "instance_id", "started_at")
    )
    return tuple(
        Executing(run_id=pk, job_id=job, instance_id=instance, started_at=started)
        for pk, job, instance, started in rows
    )


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
