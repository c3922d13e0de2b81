"""The instance's identity and its lease.

States of an instance row: live (lease in the future) -> expired -> reaped, or live -> stopped. The heartbeat thread
renews; any other instance reaps what has expired; the instance itself stops. A renewal that finds the row reaped
gives this process a new identity: what it had not begun is somebody else's now.

Expiry is computed and compared on the database's clock. What this process trusts is computed on its own clock since
boot, from before the renewal was sent, less a margin: past ``trust_until`` nothing begins.
"""

from __future__ import annotations

import os
import platform
import socket
import uuid
from typing import TYPE_CHECKING

import django
from django.db.models import Exists, OuterRef

import django_gocron
from django_gocron import registry
from django_gocron.engine import barriers
from django_gocron.engine.database import read, statement
from django_gocron.models import Instance
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from datetime import timedelta

    from django_gocron.clock import Clock

LEAST_MARGIN = 1.0
"""Seconds by which trust ends before the lease does, at least; a tenth of the lease when that is more."""


def lease_is_valid(instance_id: uuid.UUID | OuterRef) -> Exists:
    """A condition for statements that only an instance with a lease may make; ``OuterRef``: the instance of the row."""
    valid = Instance.objects.unreaped().filter(pk=instance_id, lease_expires_at__gt=DatabaseNow())
    return Exists(valid)


class Lease:
    """This process's claim to be alive. ``renew`` is called from the heartbeat thread, the rest from any."""

    def __init__(
        self,
        using: str,
        clock: Clock,
        *,
        duration: timedelta,
        name: str,
        labels: tuple[str, ...],
        workers: int,
    ) -> None:
        self.instance_id = uuid.uuid4()
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.labels = labels
        self.workers = workers
        self._using = using
        self._clock = clock
        self._duration = duration
        self._trust_until = 0.0

    @property
    def is_trusted(self) -> bool:
        """Whether this process may believe that nobody has declared it dead. No I/O."""
        return self._clock.boottime() < self._trust_until

    def register(self) -> None:
        """Write a row under a fresh id, with a full lease."""
        self.instance_id = uuid.uuid4()
        asked_at = self._clock.boottime()
        row = Instance(
            id=self.instance_id,
            name=self.name,
            host=socket.gethostname(),
            pid=os.getpid(),
            versions=_versions(),
            labels=list(self.labels),
            workers=self.workers,
            tasks=[task.name for task in registry.tasks()],
            declares=list(registry.declared_keys()),
            started_at=DatabaseNow(),
            heartbeat_at=DatabaseNow(),
            lease_expires_at=DatabaseNow(self._duration),
        )
        statement(self._using, lambda: row.save(using=self._using, force_insert=True))
        self._trust_from(asked_at)

    def renew(self, *, clock_offset: float = 0.0) -> bool:
        """Extend the lease; False when the row has been reaped. ``clock_offset`` is in seconds."""
        asked_at = self._clock.boottime()
        mine = Instance.objects.using(self._using).unreaped().filter(pk=self.instance_id)
        barriers.reach("renew.before")
        renewed = statement(
            self._using,
            lambda: mine.update(
                heartbeat_at=DatabaseNow(),
                lease_expires_at=DatabaseNow(self._duration),
                clock_offset=clock_offset,
            ),
        )
        barriers.reach("renew.after")
        if renewed:
            self._trust_from(asked_at)
        return bool(renewed)

    @property
    def seconds(self) -> float:
        """How long a renewal lasts."""
        return self._duration.total_seconds()

    def is_asked_to_stop(self) -> bool:
        """Whether somebody has asked this instance to stop, through its row."""
        asked = Instance.objects.using(self._using).filter(
            pk=self.instance_id, stop_requested_at__isnull=False
        )
        return read(self._using, asked.exists)

    def distrust(self) -> None:
        """Begin nothing more."""
        self._trust_until = 0.0

    def _trust_from(self, asked_at: float) -> None:
        self._trust_until = asked_at + self.seconds - max(LEAST_MARGIN, self.seconds / 10)


def _versions() -> dict[str, str]:
    return {
        "django-gocron": django_gocron.__version__,
        "django": django.get_version(),
        "python": platform.python_version(),
    }
