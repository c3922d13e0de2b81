"""The form of a job.

Only what was changed is checked: a job whose task is gone, or whose schedule cannot be read, can still be renamed or
disabled. What the row said when the form was opened is remembered by ``seen_version``, so that two people do not undo
each other's edits unawares.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin.duration_field import DurationField
from django_gocron.admin.form_fields import WallTimeField, zone_box
from django_gocron.admin.job_form_setup import set_up
from django_gocron.admin.job_form_words import HELP_TEXTS, LABELS
from django_gocron.admin.json_box import JSONBox
from django_gocron.admin.moments import project_zone, zone_of
from django_gocron.admin.schedule_editor import build, from_wall, read
from django_gocron.admin.schedule_fields import ScheduleFields
from django_gocron.admin.schedule_kinds import KINDS
from django_gocron.admin.tasks import TaskSelect
from django_gocron.exceptions import ScheduleError
from django_gocron.models import Job
from django_gocron.models.validation import AVAILABLE, DURATIONS
from django_gocron.schedules import find_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

WALL_TIMES = ("starts_at", "ends_at")

TOGETHER: tuple[frozenset[str], ...] = (
    frozenset({"task", "args", "kwargs"}),
    frozenset({"schedule", "starts_at", "ends_at", "first_run", "max_runs", "interval_from_completion"}),
    frozenset({"coordination", "locker"}),
)
"""Fields that are checked against each other: where one was changed, all of them are."""

OFFERED = tuple(
    field.name
    for field in Job._meta.get_fields()
    if getattr(field, "editable", False) and len(AVAILABLE.get(field.name, (None, None))) > 1
)
"""The fields that have a choice in this release."""


def _wall_box() -> forms.DateTimeInput:
    return forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": 1})


class JobForm(ScheduleFields, forms.ModelForm):  # type: ignore[type-arg]
    """``instance`` has its new schedule as soon as the form is cleaned, whatever else is wrong with it."""

    task = forms.ChoiceField(label=gettext_lazy("Task"), widget=TaskSelect)
    locker = forms.ChoiceField(label=gettext_lazy("Locker"), required=False)
    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Job
        fields = [name for name in OFFERED if name != "schedule"]
        field_classes = {
            **dict.fromkeys(("args", "kwargs"), JSONBox),
            **dict.fromkeys(WALL_TIMES, WallTimeField),
            **dict.fromkeys(DURATIONS, DurationField),
        }
        labels = LABELS
        help_texts = HELP_TEXTS
        widgets = {
            "description": forms.Textarea(attrs={"rows": 2, "class": "vLargeTextField"}),
            "args": forms.Textarea(attrs={"rows": 1, "dir": "ltr", "class": "gocron-code"}),
            "kwargs": forms.Textarea(attrs={"rows": 4, "dir": "ltr", "class": "gocron-code"}),
            "timezone": zone_box(),
            **dict.fromkeys(
                ("retry_backoff", "retry_jitter"), forms.NumberInput(attrs={"class": "vIntegerField"})
            ),
            **dict.fromkeys(DURATIONS, forms.TextInput(attrs={"class": "vTextField gocron-short"})),
            **dict.fromkeys(WALL_TIMES, _wall_box()),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._zone = zone_of(self.instance)
        self._before = {name: getattr(self.instance, name) for name in OFFERED}
        if not self._is_new:
            self._fill()
        if "name" in self.fields:
            set_up(self)

    @property
    def _is_new(self) -> bool:
        return bool(self.instance._state.adding)

    def _fill(self) -> None:
        """What the fields show of the row."""
        self.initial.update({name: self._on_the_wall(self._before[name]) for name in WALL_TIMES})
        self.initial.update(read(self.instance.schedule, self._zone))
        self.initial.update({"task": self.instance.task, "seen_version": self.instance.plan_version})

    def _on_the_wall(self, instant: Any) -> Any:
        return instant.astimezone(self._zone).replace(tzinfo=None) if instant else None

    @cached_property
    def changed_data(self) -> list[str]:
        """Without the fields of kinds that are not chosen."""
        ignored = self._unchosen()
        return [name for name in super().changed_data if name not in ignored and name != "seen_version"]

    def _unchosen(self) -> set[str]:
        chosen = self["kind"].value()
        return {name for kind in KINDS.values() if kind.name != chosen for name in kind.fields}

    def clean_args(self) -> Any:
        return [] if self.cleaned_data["args"] is None else self.cleaned_data["args"]

    def clean_kwargs(self) -> Any:
        return {} if self.cleaned_data["kwargs"] is None else self.cleaned_data["kwargs"]

    def clean_tags(self) -> list[str]:
        tags: list[str] = Job._meta.get_field("tags").to_python(self.cleaned_data["tags"])
        return tags

    def clean_jitter(self) -> Any:
        return self.cleaned_data["jitter"] or Job._meta.get_field("jitter").get_default()

    def clean(self) -> dict[str, Any]:
        super().clean()
        for name in self._unchosen():
            self.errors.pop(name, None)
        self._refuse_stale()
        zone = self._read_zone()
        for name in WALL_TIMES:
            self._place(name, zone)
        self.instance.schedule = self._read_schedule(zone)
        return self.cleaned_data

    def _refuse_stale(self) -> None:
        seen = self.cleaned_data.get("seen_version")
        if self._is_new or seen in (None, self.instance.plan_version):
            return
        message = _(
            "Somebody changed this job while you were editing it, and nothing of yours was saved. See its history,"
            " then save again to put yours in place of theirs."
        )
        self.add_error(None, ValidationError(message, code="stale"))
        data: Any = self.data.copy()  # type: ignore[attr-defined]
        data["seen_version"] = str(self.instance.plan_version)
        self.data = data

    def _read_zone(self) -> ZoneInfo:
        """The zone in which wall times are meant; what is wrong with it, the job says."""
        try:
            name = self.cleaned_data.get("timezone")
            return find_zone(name) if name else project_zone()
        except ScheduleError:
            return self._zone

    def _place(self, name: str, zone: ZoneInfo) -> None:
        """Make a wall time an instant. One that nobody touched keeps what the form does not show."""
        moment = self.cleaned_data.get(name)
        if moment is None:
            return
        if name not in self.changed_data and zone == self._zone:
            self.cleaned_data[name] = self._before[name]
            return
        try:
            self.cleaned_data[name] = from_wall(moment, zone)
        except ScheduleError as error:
            self.add_error(name, ValidationError(error.message, code=error.code))

    def _read_schedule(self, zone: ZoneInfo) -> Any:
        kind = KINDS.get(self.cleaned_data.get("kind", ""))
        stored = self._before["schedule"]
        if (
            kind is None
            or any(name in self.errors for name in kind.fields)
            or self._keeps_schedule(kind.fields)
        ):
            return stored
        try:
            return build(kind, self.cleaned_data, zone, stored)
        except ScheduleError as error:
            self.add_error(kind.field(error.field), ValidationError(error.message, code=error.code))
            return stored

    def _keeps_schedule(self, fields: list[str]) -> bool:
        touched = {"kind", *fields} & set(self.changed_data)
        moved = "one_time_at" in fields and "timezone" in self.changed_data
        return not (self._is_new or touched or moved)

    def _update_errors(self, errors: ValidationError) -> None:
        """Of what the model refuses, keep what was changed."""
        by_field = getattr(errors, "error_dict", None)
        if by_field is None:
            super()._update_errors(errors)  # type: ignore[misc]
            return
        kept = {name: messages for name, messages in by_field.items() if self._is_touched(name)}
        if kept:
            super()._update_errors(ValidationError(kept))  # type: ignore[misc]

    def _is_touched(self, name: str) -> bool:
        if name == NON_FIELD_ERRORS:
            return True
        if name not in self.fields:
            return False
        group = next((group for group in TOGETHER if name in group), frozenset({name}))
        return self._is_new or bool(group & set(self.changed_fields))

    @property
    def changed_fields(self) -> list[str]:
        """The fields of the row that differ from what it said when the form was made."""
        changed = [name for name in OFFERED if getattr(self.instance, name) != self._before[name]]
        return changed + [name for name in self.changed_data if name in OFFERED and name not in changed]
