"""Why a run waits, or ended as it did, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.text import capfirst
from django.utils.translation import gettext_lazy

from django_gocron.models.choices import Reason, Status

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from django_gocron.models import Run

SENTENCES: dict[tuple[str, str], _StrPromise] = {
    (Status.QUEUED, Reason.OVERLAP): gettext_lazy("It waits for the end of the job's live run."),
    (Status.QUEUED, Reason.RETRY): gettext_lazy(
        "The attempt before it failed, timed out or was lost. This one begins when it is due."
    ),
    (Status.QUEUED, Reason.MANUAL): gettext_lazy("It was asked for by hand, and waits for a scheduler."),
    (Status.SKIPPED, Reason.QUEUE_FULL): gettext_lazy(
        "The previous run was still live, and as many ticks were waiting as the job allows."
    ),
    (Status.SKIPPED, Reason.SUPERSEDED): gettext_lazy(
        "It waited for the end of the previous run until a later tick took its place."
    ),
    (Status.SKIPPED, Reason.LOCK_BUSY): gettext_lazy(
        "Somebody else held the job's lock when it was due, so this tick was left out."
    ),
    (Status.SKIPPED, Reason.LOCK_ERROR): gettext_lazy(
        "The job's locker could not answer when it was due, and the job is not to run without a lock."
    ),
    (Status.SKIPPED, Reason.LIMIT): gettext_lazy(
        "The job had had its maximum of runs, or its scheduler was executing as many as it may at the same time."
    ),
    (Status.SKIPPED, Reason.PAUSED): gettext_lazy(
        "The job was paused, quarantined, disabled or deleted before it began."
    ),
}
"""What the words of a reason alone do not tell."""


def explain_reason(run: Run) -> str:
    """As a sentence where there is one; a word of a later release is shown as it is."""
    sentence = SENTENCES.get((run.status, run.reason))
    if sentence is not None:
        return str(sentence)
    return capfirst(str(Reason(run.reason).label)) if run.reason in Reason else run.reason
