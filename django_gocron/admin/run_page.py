"""The page of one run: its life, what it was called with, and what it left behind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from django_gocron.admin import marks
from django_gocron.admin.job_facts import arguments_text
from django_gocron.admin.moments import short, to_the_millisecond, zone_of
from django_gocron.admin.run_reasons import explain_reason
from django_gocron.admin.run_scope import describe_scope
from django_gocron.models.choices import Origin, Status
from django_gocron.models.fields import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, tzinfo

    from django.utils.safestring import SafeString

    from django_gocron.admin.situation import Situation
    from django_gocron.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A moment in the life of a run; ``after`` is how long after it was due."""

    name: str
    moment: str
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """``output`` and what is beside it are empty for people who may not see what runs leave behind."""

    badge: SafeString
    explanation: str
    origin: str
    steps: Sequence[Step]
    may_see_output: bool
    arguments: str = ""
    traceback: str = ""
    output: str = ""
    result: str = ""


def make_run_page(run: Run, situation: Situation, *, may_see_output: bool) -> RunPage:
    facts = {
        "badge": marks.status_badge(run.status),
        "explanation": _explain(run, situation.now),
        "origin": origin_of(run, situation),
        "steps": list(_steps(run, zone_of(run.job))),
    }
    if not may_see_output:
        return RunPage(may_see_output=False, **facts)  # type: ignore[arg-type]
    return RunPage(
        may_see_output=True,
        arguments=arguments_text(run.args, run.kwargs),
        traceback=run.traceback,
        output=run.output,
        result=_result_text(run.result),
        **facts,  # type: ignore[arg-type]
    )


def _explain(run: Run, now: datetime) -> str:
    if run.status == Status.LOST:
        name = run.instance.name if run.instance else _("an instance that is gone")
        message = _(
            "It was started by %(instance)s, which stopped before the run ended. It may have finished."
        )
        return message % {"instance": name}
    if run.status == Status.RUNNING and run.started_at:
        sentence = _("It has been running for %(duration)s.") % {"duration": short(now - run.started_at)}
        return f"{sentence} {_('Cancel requested.')}" if run.cancel_requested_at else sentence
    if run.status == Status.TIMED_OUT and run.held_lock:
        return _("Its code still executes: no other run of the job starts before it ends.")
    if run.lock_lost:
        lost = _("Its locker's lock ran out, or was taken away, while it executed.")
        return " ".join(filter(None, (explain_reason(run), lost)))
    return explain_reason(run)


def origin_of(run: Run, situation: Situation) -> str:
    """ "manual, by anna", "schedule, attempt 2", "schedule, of instance web-1 alone"."""
    parts = [str(Origin(run.origin).label) if run.origin in Origin else run.origin]
    if run.requested_by:
        parts.append(_("by %(who)s") % {"who": run.requested_by})
    if run.attempt > 1:
        parts.append(_("attempt %(n)d") % {"n": run.attempt})
    parts.append(describe_scope(run, situation))
    return ", ".join(filter(None, parts))


def _steps(run: Run, zone: tzinfo) -> Iterator[Step]:
    due = run.available_at or run.scheduled_for
    yield Step(
        name=pgettext("step of a run", "Scheduled"), moment=to_the_millisecond(run.scheduled_for, zone)
    )
    if run.window_end:
        name = pgettext("step of a run", "Last of %(n)d ticks") % {"n": run.count}
        yield Step(name=name, moment=to_the_millisecond(run.window_end, zone))
    if due != run.scheduled_for:
        yield Step(name=pgettext("step of a run", "Due"), moment=to_the_millisecond(due, zone))
    if run.claimed_at:
        by = run.instance.name if run.instance else ""
        name = pgettext("step of a run", "Claimed by %(instance)s") % {"instance": by} if by else _("Claimed")
        yield Step(name=name, moment=to_the_millisecond(run.claimed_at, zone))
    if run.started_at:
        lag = max(timedelta(0), run.started_at - due)
        name = pgettext("step of a run", "Started")
        yield Step(name=name, moment=to_the_millisecond(run.started_at, zone), after=f"+{short(lag)}")
    if run.cancel_requested_at:
        name = pgettext("step of a run", "Cancel requested")
        yield Step(name=name, moment=to_the_millisecond(run.cancel_requested_at, zone))
    if run.finished_at:
        took = _("took %(duration)s") % {"duration": short(run.took)} if run.took is not None else ""
        name = pgettext("step of a run", "Ended")
        yield Step(name=name, moment=to_the_millisecond(run.finished_at, zone), after=took)


def _result_text(result: object) -> str:
    if result is None:
        return ""
    return result.text if isinstance(result, Unreadable) else json.dumps(result, indent=2, ensure_ascii=False)
