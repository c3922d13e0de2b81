"""What the engine does when rows change, wherever they are edited: in a view, a shell, the admin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db import transaction
from django.db.models.signals import post_save, pre_delete

from django_gocron import events
from django_gocron.engine.identities import job_identity
from django_gocron.engine.replanning import find_changed, lock_states, replan
from django_gocron.engine.unbegun import tell_skipped
from django_gocron.engine.wakeup import notify
from django_gocron.models import Job, Run, definition_changed
from django_gocron.models.choices import Origin, Reason, Status
from django_gocron.models.now import database_now

if TYPE_CHECKING:
    from collections.abc import Collection


def connect() -> None:
    """Called once, when Django has loaded its models. A receiver without a sender would slow down every deletion of
    the project; a proxy of ``Job`` is a sender of its own."""
    definition_changed.connect(_replan, dispatch_uid="gocron_replan")
    for model in apps.get_models():
        if issubclass(model, Job):
            post_save.connect(_replan_loaded, sender=model, dispatch_uid="gocron_replan_loaded")
            pre_delete.connect(_end_waiting, sender=model, dispatch_uid="gocron_end_waiting")


def _replan(sender: Any, using: str, job_ids: Collection[int] | None, **kwargs: Any) -> None:
    if job_ids is not None:
        replan(using, job_ids)
        return
    while changed := find_changed(using):
        replan(using, changed)


def _replan_loaded(sender: Any, instance: Job, raw: bool, using: str, **kwargs: Any) -> None:
    """Fixtures call neither ``save()`` nor a manager."""
    if raw:
        with transaction.atomic(using=using):
            replan(using, [instance.pk])


def _end_waiting(sender: Any, instance: Job, using: str, **kwargs: Any) -> None:
    """A deleted job has no run waiting, and no tick to come; one that executes goes on, and its history stays.

    Its state row is locked first, until the deletion is committed: nobody claims a tick of it meanwhile.
    """
    lock_states(using, [instance.pk])
    now = database_now(using)
    waiting = Run.objects.using(using).filter(job=instance.pk, status__in=(Status.QUEUED, Status.CLAIMED))
    waiting.filter(origin=Origin.SCHEDULE, attempt=1, available_at__gt=now).delete()
    ended = {"status": Status.SKIPPED, "reason": Reason.PAUSED, "finished_at": now}
    if waiting.update(**ended):
        tell_skipped(Run.objects.using(using).filter(job=instance.pk, **ended))
    notify(using)
    fact = events.JobUnregistered(at=now, **job_identity(instance))
    transaction.on_commit(partial(events.publish, fact), using=using, robust=True)
