"""Runs that go back to the queue before they have begun, for whoever is free to have at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Case, F, Q, Value, When

from django_gocron.engine.unbegun import tell_skipped
from django_gocron.engine.wakeup import notify
from django_gocron.models import Job, Run
from django_gocron.models.choices import Origin, Reason, Status
from django_gocron.models.now import DatabaseNow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

    from django_gocron.engine.memory import Entry

OWNED = (Status.CLAIMED, Status.RUNNING)
"""The statuses of a run that an instance has."""


def claims_of(using: str, entries: Sequence[Entry]) -> QuerySet[Run]:
    """The rows of the entries, as far as the claims they came from still own them."""
    return Run.objects.using(using).filter(
        pk__in=[entry.run_id for entry in entries],
        instance__in={entry.instance_id for entry in entries},
        claim_id__in={entry.claim_id for entry in entries},
    )


def give_back(using: str, entries: Sequence[Entry], reason: Reason = Reason.GIVEN_BACK) -> int:
    """Return runs that have certainly not begun to the queue, as far as they are still ours. Answers
    how many."""
    return requeue(claims_of(using, entries).filter(status__in=OWNED), reason) if entries else 0


def hand_over(using: str, entries: Sequence[Entry]) -> None:
    """Give back, and tell the others, who take it at once."""
    if give_back(using, entries):
        notify(using)


def requeue(runs: QuerySet[Run], reason: Reason) -> int:
    """Leave the runs without an owner, their locks free. Answers how many.

    What was queued for a reason of its own keeps that. A run whose job is gone, or has been stopped meanwhile, ends
    instead, unless it was started by hand.
    """
    jobs = Job.objects.using(runs.db).filter(pk__in=runs.order_by().values("job_id"))
    is_paused = Q(paused_at__isnull=False, paused_until__isnull=True)
    stopped = jobs.filter(Q(enabled=False) | is_paused | Q(state__quarantined_at__isnull=False))
    ids = list(
        stopped.values_list("pk", flat=True)
    )  # read first: a join would write without looking at the rows again
    _end(runs.filter(Q(job__isnull=True) | (Q(job__in=ids) & ~Q(origin=Origin.MANUAL))))
    own = When(reason__in=(Reason.OVERLAP, Reason.RETRY, Reason.MANUAL), then=F("reason"))
    reasons = Case(own, default=Value(reason.value))
    return runs.update(
        status=Status.QUEUED, reason=reasons, instance=None, claim_id=None, held_lock=None, started_at=None
    )


def _end(runs: QuerySet[Run]) -> None:
    ending = list(runs.values_list("pk", flat=True))
    if ending:
        ended = {"status": Status.SKIPPED, "reason": Reason.PAUSED}
        runs.filter(pk__in=ending).update(**ended, finished_at=DatabaseNow(), held_lock=None)
        tell_skipped(Run.objects.using(runs.db).filter(pk__in=ending, **ended))
