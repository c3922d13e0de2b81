"""What ``runscheduler`` warns of when it starts: things outside the project that only a running scheduler can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connections

from django_gocron.checks import sqlite
from django_gocron.engine.heartbeat import offset_of
from django_gocron.models import Instance
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django_gocron.engine.scheduler import Scheduler

GREATEST_SKEW = 1.0
"""Seconds by which the clocks of two hosts that follow a time server never differ."""


def find_warnings(scheduler: Scheduler) -> Iterator[str]:
    """One sentence or two each; nothing where all is well."""
    using = scheduler.options.using
    yield from _find_skew(offset_of(scheduler.clock))
    if connections[using].vendor == "sqlite":
        yield from _find_sqlite_troubles(using)
        yield from _find_other_hosts(using)


def _find_skew(offset: float) -> Iterator[str]:
    if abs(offset) > GREATEST_SKEW:
        direction = "behind" if offset > 0 else "ahead of"
        yield (
            f"The clock of this host is {abs(offset):.1f} s {direction} the database's. Jobs start by the database's"
            " clock, but tasks and logs read this host's: let both follow a time server."
        )


def _find_sqlite_troubles(using: str) -> Iterator[str]:
    troubles = list(sqlite.find_troubles(connections[using]))
    yield from (f"{trouble.msg} ({trouble.id})" for trouble in troubles)
    yield from dict.fromkeys(trouble.hint for trouble in troubles if trouble.hint)


def _find_other_hosts(using: str) -> Iterator[str]:
    alive = Instance.objects.using(using).unreaped().filter(lease_expires_at__gt=DatabaseNow())
    hosts = sorted(set(alive.values_list("host", flat=True)))
    if len(hosts) > 1:
        yield (
            f"Schedulers on {len(hosts)} hosts share this SQLite file ({', '.join(hosts)}). Its locks do not work over"
            " a network file system: ticks may run twice and the file may be damaged. Use PostgreSQL or MariaDB."
        )
