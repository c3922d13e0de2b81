"""The locks that are held now, as far as the database knows them: leases, and the ledger's own.

A lease is the lock of a ``DatabaseLocker``, or the leadership of a ``DatabaseElector``. The ledger's own locks are
held by runs, and are theirs until they end or their instances are reaped. Locks that a locker keeps elsewhere are not
known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from django_gocron.admin.moments import ago, ahead
from django_gocron.exceptions import OperationError
from django_gocron.models import Lease, Run
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django.db.models import QuerySet

    from django_gocron.admin.situation import Situation

MOST = 50
"""Locks in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockLine:
    """``version`` tells this holding of a lease from the next, and is "" for a lock that nobody but its run releases.
    ``page`` is the address of that run, or ""."""

    name: str
    kind: str
    holder: str
    since: str
    expires: str
    page: str = ""
    version: str = ""


def read_locks(
    using: str, situation: Situation, run_url: Callable[[int], str]
) -> tuple[list[LockLine], bool]:
    """The locks, leases first, and whether there are more. Two queries. ``run_url`` answers the address of a run."""
    now = situation.now
    leases = held_leases(using).filter(expires_at__gt=now).order_by("name")[: MOST + 1]
    lines = [_describe_lease(lease, now) for lease in leases]
    lines += [_describe_run(run, now, run_url(run.pk)) for run in _holding_runs(using)[: MOST + 1]]
    return lines[:MOST], len(lines) > MOST


def _holding_runs(using: str) -> QuerySet[Run]:
    """By their unique key: every database finds what is greater than "" there, and not all what is not NULL."""
    runs = Run.objects.using(using).filter(held_lock__gt="").select_related("instance")
    return runs.only("job_name", "started_at", "instance__name").order_by("started_at", "pk")


def held_leases(using: str) -> QuerySet[Lease]:
    """Those that somebody has; the time of some may be over."""
    return Lease.objects.using(using).exclude(token="")


def _describe_lease(lease: Lease, now: datetime) -> LockLine:
    return LockLine(
        name=lease.name,
        kind=_("leadership, term %(term)d") % {"term": lease.term} if lease.term else _("lock"),
        holder=lease.holder or "-",
        since=ago(now - lease.acquired_at) if lease.acquired_at else "-",
        expires=ahead(lease.expires_at - now) if lease.expires_at else "-",
        version=version_of(lease),
    )


def _describe_run(run: Run, now: datetime, page: str) -> LockLine:
    return LockLine(
        name=run.job_name,
        kind=_("the ledger's own lock"),
        holder=run.instance.name if run.instance else "-",
        since=ago(now - run.started_at) if run.started_at else "-",
        expires=_("when its run ends"),
        page=page,
    )


def version_of(lease: Lease) -> str:
    return lease.acquired_at.isoformat() if lease.acquired_at else ""


def holding_instance(lease: Lease) -> str:
    """The name of the instance that has the lease: a lock's holder is told with its run, "web-2, run 17"."""
    return lease.holder.rpartition(", run ")[0] or lease.holder


def get_lease(using: str, name: str, version: str) -> Lease:
    """The lease as it was shown. Raises ``OperationError`` (``not_held``) where its holder has it no longer."""
    lease = held_leases(using).filter(pk=name, expires_at__gt=DatabaseNow()).first()
    if lease is None or version_of(lease) != version:
        raise _not_held()
    return lease


def release(using: str, lease: Lease) -> str:
    """Take the lease from its holder, as if its time were over; answer a sentence. The row stays, so that terms go on.

    One write, which changes nothing where somebody else holds it by now: ``OperationError`` (``not_held``).
    """
    held = held_leases(using).filter(pk=lease.pk, token=lease.token)
    if not held.update(token="", holder="", expires_at=DatabaseNow()):
        raise _not_held()
    return _("Released %(lock)s, which %(holder)s held.") % {
        "lock": lease.name,
        "holder": lease.holder or "-",
    }


def _not_held() -> OperationError:
    return OperationError(_("It is free already, or somebody else has it by now."), code="not_held")
