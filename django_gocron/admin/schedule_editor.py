"""A schedule as the values of form fields, and back.

Each kind has fields of its own, named after the parameters of the schedule, so that an error of a schedule finds its
field.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from django_gocron.admin.schedule_kinds import JSON, KINDS, MANUAL
from django_gocron.exceptions import ScheduleError
from django_gocron.models.fields import Unreadable
from django_gocron.schedules import Cron, OneTime, Schedule
from django_gocron.schedules.codec import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from zoneinfo import ZoneInfo

    from django_gocron.admin.schedule_kinds import Kind


def offered_kinds(schedule: Any) -> list[Kind]:
    """What a form for this schedule offers: another kind where it is one, or where the project has registered some."""
    others = kinds().keys() - KINDS.keys() or _find_kind(schedule).name == JSON
    return [kind for kind in KINDS.values() if kind.name != JSON or others]


def _find_kind(schedule: Any) -> Kind:
    if schedule is None:
        return KINDS[MANUAL]
    kind = KINDS.get(getattr(schedule, "kind", JSON))
    has_fields = kind is not None and kind.schedule is not None and isinstance(schedule, kind.schedule)
    return kind if kind and has_fields else KINDS[JSON]


def read(schedule: Any, zone: ZoneInfo) -> dict[str, Any]:
    """The values of the fields for a stored schedule; instants are naive, on the clocks of ``zone``."""
    kind = _find_kind(schedule)
    if kind.name == JSON:
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
