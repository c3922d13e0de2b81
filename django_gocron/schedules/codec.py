"""Schedules as JSON data, and the registry of their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.suggestions import find_close, shown, with_suggestion
from django_gocron.schedules.text import gettext as _

if TYPE_CHECKING:
    from django_gocron.schedules.base import Schedule

_kinds: dict[str, type[Schedule]] = {}


def register(cls: type[Schedule]) -> None:
    """Let ``cls`` be read by its kind. ``ScheduleError`` (``duplicate_kind``) where another class has that kind.

    The same class may come twice: ``dataclass(slots=True)`` makes it anew, and so does a reloaded module.
    """
    known = _kinds.get(cls.kind)
    if known and (known.__module__, known.__name__) != (cls.__module__, cls.__name__):
        message = _("The kind '%(kind)s' is taken by %(name)s.")
        message %= {"kind": cls.kind, "name": f"{known.__module__}.{known.__name__}"}
        raise ScheduleError(message, code="duplicate_kind", field="kind")
    _kinds[cls.kind] = cls


def kinds() -> dict[str, type[Schedule]]:
    """The registered kinds, by name."""
    return dict(_kinds)


def read(data: object) -> Schedule:
    """The schedule that ``to_dict`` wrote; raises nothing but ``ScheduleError``."""
    if not isinstance(data, dict):
        raise ScheduleError(_("A schedule is a JSON object with a 'kind'."), code="unreadable")
    values: dict[Any, Any] = dict(data)
    cls = _find_kind(values.pop("kind", None))
    _check_version(cls, values.pop("version", cls.version))
    try:
        return cls.from_data(**values)
    except ScheduleError:
        raise
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        message = _("The %(kind)s schedule cannot be read: %(error)s.") % {"kind": cls.kind, "error": error}
        raise ScheduleError(message, code="unreadable") from error


def _find_kind(kind: object) -> type[Schedule]:
    if isinstance(kind, str) and kind in _kinds:
        return _kinds[kind]
    message = _("%(kind)s is not a kind of schedule.") % {"kind": shown(kind)}
    message = with_suggestion(message, find_close(str(kind), _kinds))
    raise ScheduleError(message, code="unknown_kind", field="kind")


def _check_version(cls: type[Schedule], version: object) -> None:
    if version != cls.version:
        message = _("Version %(version)s of %(kind)s schedules is not known here: is it of a newer release?")
        message %= {"version": shown(version), "kind": cls.kind}
        raise ScheduleError(message, code="unknown_version", field="version")
