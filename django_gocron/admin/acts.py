"""What people do to a job, or a run of it, by a button: one operation each, with the sentence that tells what came of
it.

The same sentence is the message on the screen and the entry in the job's history. Raises ``GocronError`` where the
job cannot do it now.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from django_gocron import registry
from django_gocron.admin.everywhere import find_predecessor
from django_gocron.admin.job_list import state_of
from django_gocron.admin.moments import ago, in_zone, short, zone_of
from django_gocron.declarations import reset_to_code
from django_gocron.exceptions import OperationError, UnknownTaskError
from django_gocron.operations import CancelAnswer

if TYPE_CHECKING:
    from datetime import datetime

    from django_gocron.admin.situation import Situation
    from django_gocron.models import Job, Run

PRESSED_TWICE = timedelta(seconds=5)
"""A run that the same button of the same page asked for longer ago is an old one."""


def run(job: Job, situation: Situation, *, by: str, press: str) -> tuple[Run, str]:
    """Queue a run. ``press`` tells one rendering of a page from another: pressing its button twice is one request."""
    refuse_orphan(job, situation)
    refuse_unknown_task(job, situation)
    queued = job.run_now(by=by, idempotency_key=press)
    if situation.now - queued.scheduled_for > PRESSED_TWICE:
        when = ago(situation.now - queued.scheduled_for)
        message = _("%(job)s was asked to run from this page already, by %(who)s, %(when)s.")
        facts = {"job": job.name, "who": queued.requested_by, "when": when}
        raise OperationError(message % facts, code="already_requested")
    return queued, " ".join(_what_happens(job, situation))


def refuse_orphan(job: Job, situation: Situation) -> None:
    """Raise ``OperationError`` for a declared job whose run would wait for ever."""
    if situation.is_orphan(job.key):
        raise OperationError(_("No running scheduler declares it, so none would run it."), code="orphaned")


def refuse_unknown_task(job: Job, situation: Situation) -> None:
    """Raise ``UnknownTaskError`` for a job whose run would wait for ever."""
    if registry.find_task(job.task) is None and job.task not in situation.known_tasks:
        message = _("No running instance knows the task %(task)s.") % {"task": job.task}
        raise UnknownTaskError(message, code="task_unknown", field="task")


def _what_happens(job: Job, situation: Situation) -> list[str]:
    sentences = [_start(job, situation)]
    if state_of(job).quarantined_at:
        sentences.append(_("It is in quarantine; a run by hand does not release it."))
    if job.is_paused_at(situation.now):
        sentences.append(_("It is paused; a run by hand does not resume it."))
    elif not job.enabled:
        sentences.append(_("It is disabled; a run by hand does not enable it."))
    return sentences


def _start(job: Job, situation: Situation) -> str:
    if not situation.live:
        return _("%(job)s is queued. No scheduler is running, so it will start when one does.") % {
            "job": job.name
        }
    earlier = find_predecessor(job, situation)
    if earlier and earlier.started_at:
        elapsed = short(situation.now - earlier.started_at)
        message = _(
            "%(job)s is queued. A run of it has been going for %(elapsed)s; the new one waits for its end."
        )
        return message % {"job": job.name, "elapsed": elapsed}
    return _("%(job)s will start within 2 seconds.") % {"job": job.name}


def cancel(run: Run, *, by: str) -> str:
    if run.cancel(by=by) == CancelAnswer.CANCELLED:
        return _("Cancelled the run of %(job)s.") % {"job": run.job_name}
    return _("Asked the run of %(job)s to end.") % {"job": run.job_name}


def pause(job: Job, *, by: str, reason: str = "", until: datetime | None = None) -> str:
    job.pause(reason=reason, until=until, by=by)
    if until:
        sentence = _("Paused %(job)s until %(until)s.") % {
            "job": job.name,
            "until": in_zone(until, zone_of(job)),
        }
    else:
        sentence = _("Paused %(job)s.") % {"job": job.name}
    return f"{sentence} {_('Reason: %(reason)s.') % {'reason': reason.rstrip('.')}}" if reason else sentence


def resume(job: Job) -> str:
    job.resume()
    return _("Resumed %(job)s. What it slept through is not made up for.") % {"job": job.name}


def release(job: Job, *, now: datetime) -> str:
    if not job.release():
        raise OperationError(_("It is not in quarantine."), code="not_quarantined")
    sentence = _("Released %(job)s from quarantine. Its crashes are counted anew.") % {"job": job.name}
    return f"{sentence} {_('It is still paused.')}" if job.is_paused_at(now) else sentence


def skip(job: Job, *, by: str) -> str:
    tick = job.skip_next(by=by)
    message = _("%(job)s will skip its run of %(moment)s.")
    return message % {"job": job.name, "moment": in_zone(tick, zone_of(job))}


def reset(job: Job, *, by: str) -> str:
    fields = reset_to_code(job, by=by)
    if not fields:
        return _("%(job)s follows the code already.") % {"job": job.name}
    names = [str(job._meta.get_field(name).verbose_name) for name in fields]  # type: ignore[union-attr]
    message = _("%(job)s follows the code again in: %(fields)s.")
    return message % {"job": job.name, "fields": get_text_list(names, _("and"))}
