"""A schedule as form fields, and back.

Each kind has fields of its own, named ``<kind>_<parameter>`` after the parameters of the schedule, so that an error of
a schedule finds its field. Only the fields of the chosen kind count. A schedule whose fields nobody touched stays the
very object that was stored, whatever the form could make of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from django_gocron.admin.form_fields import (
    DurationField,
    InstantsField,
    JSONBox,
    MonthDaysField,
    TimesField,
    WeekdaysField,
)
from django_gocron.exceptions import ScheduleError
from django_gocron.models.fields import Unreadable
from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from django.utils.functional import _StrPromise

MANUAL, JSON = "manual", "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to say when. ``needed`` are parameters without which there is nothing to ask the schedule."""

    name: str
    label: _StrPromise
    schedule: type[Schedule] | None = None
    parameters: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        return [self.field(parameter) for parameter in self.parameters]

    def field(self, parameter: str) -> str:
        """The form field of a parameter; of another's fault, the first."""
        known = parameter if parameter in self.parameters else self.parameters[0]
        return f"{self.name}_{known}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="every",
            label=gettext_lazy("Every …"),
            schedule=Every,
            parameters=("interval",),
            needed=("interval",),
        ),
        Kind(
            name="every_random",
            label=gettext_lazy("Random interval"),
            schedule=EveryRandom,
            parameters=("min", "max"),
            needed=("min", "max"),
        ),
        Kind(name="daily", label=gettext_lazy("Daily"), schedule=Daily, parameters=("at", "every")),
        Kind(
            name="weekly",
            label=gettext_lazy("Weekly"),
            schedule=Weekly,
            parameters=("on", "at", "every", "week_start"),
        ),
        Kind(
            name="monthly", label=gettext_lazy("Monthly"), schedule=Monthly, parameters=("on", "at", "every")
        ),
        Kind(name="cron", label=gettext_lazy("Cron"), schedule=Cron, parameters=("expression",)),
        Kind(name="one_time", label=gettext_lazy("Once"), schedule=OneTime, parameters=("at",)),
        Kind(name=MANUAL, label=gettext_lazy("Only by hand")),
        Kind(name=JSON, label=gettext_lazy("Another kind, as JSON"), parameters=("data",), needed=("data",)),
    )
}

WEEKDAYS = [
    ("mon", gettext_lazy("Monday")),
    ("tue", gettext_lazy("Tuesday")),
    ("wed", gettext_lazy("Wednesday")),
    ("thu", gettext_lazy("Thursday")),
    ("fri", gettext_lazy("Friday")),
    ("sat", gettext_lazy("Saturday")),
    ("sun", gettext_lazy("Sunday")),
]

_TIMES_HELP = gettext_lazy("One or several, such as 09:00 or 09:00, 17:30.")


def _times() -> TimesField:
    return TimesField(label=pgettext_lazy("times of a schedule", "At"), required=False, help_text=_TIMES_HELP)


def _count(label: Any) -> forms.IntegerField:
    """What is too small, the schedule says."""
    return forms.IntegerField(label=label, required=False, initial=1, widget=forms.NumberInput({"min": 1}))


class ScheduleFields(forms.Form):
    """The fields of all kinds."""

    kind = forms.ChoiceField(
        label=pgettext_lazy("kind of schedule", "Runs"), widget=forms.RadioSelect, choices=(), initial="every"
    )
    every_interval = DurationField(
        label=pgettext_lazy("interval of a schedule", "Every"),
        required=False,
        help_text=gettext_lazy("Such as 90 s, 5 min, 1 h 30 min or 2 days."),
    )
    every_random_min = DurationField(
        label=gettext_lazy("Shortest"), required=False, help_text=gettext_lazy("Such as 30 s or 5 min.")
    )
    every_random_max = DurationField(
        label=gettext_lazy("Longest"), required=False, help_text=gettext_lazy("Such as 90 s or 15 min.")
    )
    daily_at = _times()
    daily_every = _count(gettext_lazy("Every … days"))
    weekly_on = WeekdaysField(
        label=pgettext_lazy("days of a schedule", "On"), required=False, choices=WEEKDAYS
    )
    weekly_at = _times()
    weekly_every = _count(gettext_lazy("Every … weeks"))
    weekly_week_start = forms.ChoiceField(
        label=gettext_lazy("Weeks begin on"), required=False, choices=WEEKDAYS, initial="sun"
    )
    monthly_on = MonthDaysField(
        label=pgettext_lazy("days of a schedule", "On"),
        required=False,
        help_text=gettext_lazy(
            "Such as 1, 15, last day, first mon or last fri. A day that a month lacks is skipped."
        ),
    )
    monthly_at = _times()
    monthly_every = _count(gettext_lazy("Every … months"))
    cron_expression = forms.CharField(
        label=gettext_lazy("Expression"),
        required=False,
        widget=forms.TextInput(
            attrs={"dir": "ltr", "class": "gocron-code vTextField", "spellcheck": "false"}
        ),
        help_text=gettext_lazy(
            "Minute, hour, day of the month, month, day of the week; with six, seconds come first."
        ),
    )
    one_time_at = InstantsField(
        label=pgettext_lazy("instants of a schedule", "At"),
        required=False,
        help_text=gettext_lazy("One a line, such as 2026-12-24 18:00, on the clocks of the job's time zone."),
    )
    json_data = JSONBox(
        label=gettext_lazy("Schedule"), required=False, widget=forms.Textarea(attrs={"rows": 4, "dir": "ltr"})
    )


def read(schedule: Any, zone: ZoneInfo) -> dict[str, Any]:
    """The values of the fields for a stored schedule; instants are naive, on the clocks of ``zone``."""
    if schedule is None:
        return {"kind": MANUAL}
    kind = KINDS.get(getattr(schedule, "kind", JSON))
    if kind is None or kind.schedule is None or not isinstance(schedule, kind.schedule):
        return {"kind": JSON, "json_data": _as_json(schedule)}
    values = {kind.field(name): getattr(schedule, name) for name in kind.parameters}
    if isinstance(schedule, Cron):
        values["cron_expression"] = _expression(schedule)
    if isinstance(schedule, OneTime):
        values["one_time_at"] = [_on_the_wall(instant, zone) for instant in schedule.at]
    return {"kind": kind.name, **values}


def _as_json(schedule: Any) -> Any:
    return schedule.to_dict() if isinstance(schedule, Schedule) else schedule


def _expression(cron: Cron) -> str:
    """With its own zone, if it has one, where people can see and change it."""
    if cron.timezone is None or "TZ=" in cron.expression:
        return cron.expression
    return f"CRON_TZ={cron.timezone} {cron.expression}"


def _on_the_wall(instant: datetime, zone: ZoneInfo) -> datetime:
    """Without its offset, unless the clock reads that time twice and this is not the first of them."""
    local = instant.astimezone(zone)
    naive = local.replace(tzinfo=None, fold=0)
    return naive if naive.replace(tzinfo=zone).astimezone(UTC) == instant else local


def build(kind: Kind, cleaned: Mapping[str, Any], zone: ZoneInfo, stored: Any) -> Schedule | None:
    """The schedule that the fields of ``kind`` describe. Raises ``ScheduleError`` with a parameter as its field."""
    values = {name: cleaned.get(kind.field(name)) for name in kind.parameters}
    missing = next((name for name in kind.needed if values[name] in (None, "", [], {})), None)
    if missing:
        raise ScheduleError(_("This field is required."), code="required", field=missing)
    given = {name: value for name, value in values.items() if value not in (None, "")}
    match kind.name:
        case "manual":
            return None
        case "json":
            return _from_json(given["data"])
        case "cron":
            implementation = stored.implementation if isinstance(stored, Cron) else None
            return Cron(given.get("expression", ""), implementation=implementation)
        case "one_time":
            return OneTime([from_wall(moment, zone) for moment in given["at"]])
        case _:
            assert kind.schedule is not None
            return kind.schedule(**given)


def _from_json(data: Any) -> Schedule:
    if isinstance(data, Unreadable):
        raise ScheduleError(data.reason, code=data.code, field="data")
    return Schedule.from_dict(data)


def from_wall(moment: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which clocks in ``zone`` read ``moment``, the first if they do twice; one with an offset is one
    already. Raises ``ScheduleError`` (``time_does_not_exist``)."""
    if moment.tzinfo is not None:
        return moment
    instant = moment.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None, fold=0) != moment.replace(fold=0):
        message = _("In %(zone)s clocks never read %(time)s: it falls into a change to summer time.")
        text = moment.isoformat(" ", "minutes")
        raise ScheduleError(
            message % {"zone": zone.key, "time": text}, code="time_does_not_exist", field="at"
        )
    return instant
