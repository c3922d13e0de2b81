"""That runs were skipped by an edit, or went back to the queue of a job that has been stopped: as a fact to tell."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction

from django_gocron import events
from django_gocron.engine.identities import run_identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from django_gocron.models import Run


def tell_skipped(rows: QuerySet[Run]) -> None:
    """Read the rows, which have just been skipped, and tell of each once that is committed."""
    facts = [_fact(run) for run in rows.select_related("job").order_by("pk")]
    transaction.on_commit(partial(_publish, facts), using=rows.db, robust=True)


def _fact(run: Run) -> events.RunSkipped:
    assert run.finished_at is not None
    return events.RunSkipped(at=run.finished_at, reason=run.reason, **run_identity(run))


def _publish(facts: Iterable[events.Event]) -> None:
    for fact in facts:
        events.publish(fact)
