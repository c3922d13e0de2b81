"""How a job stands, in one word: the first of these that holds.

The conditions are stated once, for the database: lists are filtered and sorted by them, and rows carry the answer.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Case, IntegerChoices, Q, Value, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_gocron.admin.moments import ahead, in_zone, short, zone_of
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from django_gocron.admin.situation import Situation
    from django_gocron.models import Job, JobState

LATE_AFTER = timedelta(seconds=10)
"""A tick that has waited longer makes its job late; until then it is due."""

BAD = (Status.FAILED, Status.TIMED_OUT, Status.LOST)
"""Statuses of a last run that make a job failing."""


class Standing(IntegerChoices):
    """In the order in which they matter."""

    BROKEN = 0, gettext_lazy("Broken")
    ORPHANED = 1, gettext_lazy("Orphaned")
    QUARANTINED = 2, gettext_lazy("Quarantined")
    FAILING = 3, gettext_lazy("Failing")
    LATE = 4, gettext_lazy("Late")
    RUNNING = 5, gettext_lazy("Running")
    PAUSED = 6, gettext_lazy("Paused")
    DISABLED = 7, gettext_lazy("Disabled")
    FINISHED = 8, gettext_lazy("Finished")
    OK = 9, gettext_lazy("OK")
    NEW = 10, gettext_lazy("Not run yet")


def with_standing(jobs: QuerySet[Job], situation: Situation) -> QuerySet[Job]:
    """The jobs, each with ``standing``, a number of :class:`Standing`."""
    conditions = _conditions(situation)
    cases = [When(condition, then=Value(standing.value)) for standing, condition in conditions.items()]
    return jobs.annotate(standing=Case(*cases, default=Value(Standing.NEW.value)))


def _conditions(situation: Situation) -> dict[Standing, Q]:
    """In the order in which they are asked. Whatever else is wrong with an orphan, nobody runs it."""
    now = situation.now
    executing = {run.job_id for run in situation.executing if run.job_id is not None}
    paused = Q(paused_at__isnull=False) & (Q(paused_until__isnull=True) | Q(paused_until__gt=now))
    return {
        Standing.ORPHANED: _undeclared(situation),
        Standing.BROKEN: Q(state__broken_code__gt="") | _unknown_task(situation),
        Standing.QUARANTINED: Q(state__quarantined_at__isnull=False),
        Standing.FAILING: Q(state__failures_in_row__gt=0) | Q(state__last_status__in=BAD),
        Standing.LATE: Q(state__next_run_at__lt=now - LATE_AFTER),
        Standing.RUNNING: Q(pk__in=executing),
        Standing.PAUSED: paused,
        Standing.DISABLED: Q(enabled=False),
        Standing.FINISHED: Q(state__finished_at__isnull=False),
        Standing.OK: Q(state__last_status__gt=""),
    }


def _undeclared(situation: Situation) -> Q:
    """Declared jobs that no code declares any more; none while there is nobody to ask."""
    if situation.declared_keys is None:
        return Q(pk__in=[])
    return Q(key__isnull=False) & ~Q(key__in=situation.declared_keys)


def _unknown_task(situation: Situation) -> Q:
    """Jobs that nobody can run. While no instance is live there is nobody to ask, and the page says so."""
    return ~Q(task__in=situation.known_tasks) if situation.live else Q(pk__in=[])


def explain(job: Job, state: JobState, standing: Standing, situation: Situation) -> list[str]:
    """Why it stands so, and what else people should know, in a few words each."""
    reasons = [_reason(job, state, standing, situation)]
    if standing is not Standing.QUARANTINED and state.quarantined_at:
        reasons.append(_("Quarantined: %(why)s") % {"why": describe_crashes(state)})
    if standing is not Standing.PAUSED and job.is_paused_at(situation.now):
        reasons.append(
            _("Paused %(how)s") % {"how": describe_pause(job)} if describe_pause(job) else _("Paused")
        )
    if standing < Standing.DISABLED and not job.enabled:
        reasons.append(_("Disabled"))
    return [reason for reason in reasons if reason]


def _reason(job: Job, state: JobState, standing: Standing, situation: Situation) -> str:
    match standing:
        case Standing.BROKEN:
            return state.broken_text or _("No running instance knows the task %(task)s.") % {"task": job.task}
        case Standing.ORPHANED:
            return _("No running scheduler declares it, so it is not run. Declare it again, or delete it.")
        case Standing.QUARANTINED:
            return describe_crashes(state)
        case Standing.FAILING:
            return describe_failures(state)
        case Standing.LATE:
            return when_due(state.next_run_at, situation.now) if state.next_run_at else ""
        case Standing.RUNNING:
            return _running_for(job, situation)
        case Standing.PAUSED:
            return describe_pause(job)
        case Standing.FINISHED:
            return _("no further runs")
        case Standing.NEW if job.schedule is None:
            return _("by hand only")
        case _:
            return ""


def describe_failures(state: JobState) -> str:
    failures = state.failures_in_row
    if not failures:
        return str(Status(state.last_status).label)
    return ngettext("%(n)d failure", "%(n)d failures in a row", failures) % {"n": failures}


def describe_crashes(state: JobState) -> str:
    crashes = state.crashes_in_row
    text = ngettext(
        "%(n)d run was lost with its instance", "%(n)d runs in a row were lost with their instances", crashes
    )
    return text % {"n": crashes}


def when_due(due_at: datetime, now: datetime) -> str:
    """ "in 14 minutes", "due now", "late by 2 min 5 s": never negative."""
    if now - due_at > LATE_AFTER:
        return _("late by %(duration)s") % {"duration": short(now - due_at)}
    return ahead(due_at - now)


def _running_for(job: Job, situation: Situation) -> str:
    run = situation.first_start(job.pk)
    if run is None or run.started_at is None:
        return ""
    return _("for %(duration)s") % {"duration": short(max(timedelta(0), situation.now - run.started_at))}


def describe_pause(job: Job) -> str:
    """ "by anna until Wed 2 Dec 2026 08:00 CET: database maintenance"."""
    parts = []
    if job.paused_by:
        parts.append(_("by %(who)s") % {"who": job.paused_by})
    if job.paused_until:
        parts.append(_("until %(moment)s") % {"moment": in_zone(job.paused_until, zone_of(job))})
    text = " ".join(parts)
    return ": ".join(filter(None, (text, job.pause_reason)))
