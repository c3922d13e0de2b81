"""What the fields of a job's form offer and say, as far as it depends on the row and on what is registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from django_gocron.admin.lockers import explain_coordination
from django_gocron.admin.moments import project_zone
from django_gocron.admin.overrides import overrides
from django_gocron.admin.schedule_editor import offered_kinds
from django_gocron.admin.tasks import signature_text, task_choices
from django_gocron.models.fields import Unreadable

if TYPE_CHECKING:
    from django_gocron.admin.job_form import JobForm


def set_up(form: JobForm) -> None:
    fields: dict[str, Any] = form.fields
    fields["task"].choices = task_choices(form.instance.task)
    fields["kind"].choices = [(kind.name, kind.label) for kind in offered_kinds(form.instance.schedule)]
    _keep_unreadable(form, fields)
    _explain_zones(fields)
    _explain_arguments(form, fields)
    explain_coordination(form, fields)
    fields["timeout"].help_text = _(
        "How long a run may take. A coroutine is cancelled then; a function goes on unless it looks, and keeps the"
        " next run from starting. Empty: no limit."
    )
    _note_overrides(form, fields)


def _keep_unreadable(form: JobForm, fields: dict[str, Any]) -> None:
    """What cannot be read stays as it is stored, until somebody edits it."""
    for name in ("args", "kwargs", "json_data"):
        stored = form.initial.get(name)
        fields[name].stored = stored if isinstance(stored, Unreadable) else None
    if fields["json_data"].stored:
        fields["json_data"].help_text = format_html(
            '<strong class="gocron-problem">{}</strong> {}',
            fields["json_data"].stored.reason,
            _("It stays as it is until you change it or choose another kind above."),
        )


def _explain_zones(fields: dict[str, Any]) -> None:
    project = {"zone": project_zone().key}
    fields["timezone"].help_text = _("Empty: the project's, %(zone)s.") % project
    help_text = (
        _("On the clocks of the job's time zone, or of the project's (%(zone)s) where it has none.") % project
    )
    fields["starts_at"].help_text = fields["ends_at"].help_text = help_text


def _explain_arguments(form: JobForm, fields: dict[str, Any]) -> None:
    chosen = form.data.get("task") or form.initial.get("task") or ""
    fields["args"].help_text = _("A JSON list of arguments by position, such as [1, 2]. Mostly empty.")
    fields["kwargs"].help_text = format_html(
        '{} <code class="gocron-signature" dir="ltr" data-nothing="{}">{}</code>',
        _("A JSON object. The task takes:"),
        _("nothing"),
        signature_text(str(chosen)) or _("nothing"),
    )


def _note_overrides(form: JobForm, fields: dict[str, Any]) -> None:
    for name, note in overrides(form.instance).items():
        field = fields.get("kind" if name == "schedule" else name)
        if field:
            texts = [(text,) for text in (field.help_text, note) if text]
            field.help_text = format_html_join(" ", "{}", texts)
