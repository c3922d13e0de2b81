"""Columns that are right whatever the project's settings, and that never break a listing."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Schedule

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored value that cannot be read: its text, kept so that saving changes nothing, and why.

    ``text`` is the JSON as stored; ``code`` is that of the ``ScheduleError``, or ``unreadable``.
    """

    text: str
    reason: str
    code: str = "unreadable"

    def describe(self) -> str:
        return self.reason


class _Encoder(json.JSONEncoder):
    """Writes an unreadable value back exactly as it was."""

    def encode(self, o: Any) -> str:
        return o.text if isinstance(o, Unreadable) else super().encode(o)


class TolerantJSONField(models.JSONField):
    """A JSONField whose reading never raises: what cannot be read is an :class:`Unreadable`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["encoder"] = _Encoder
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        del kwargs["encoder"]
        return name, path, args, kwargs

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        try:
            return super().from_db_value(value, expression, connection)
        except ValueError as error:
            return Unreadable(str(value), str(error))

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        if isinstance(value, Unreadable):
            raise ValidationError(value.reason, code=value.code)
        super().validate(value, model_instance)


class ScheduleField(TolerantJSONField):
    """A schedule, or null. A stored value that is no schedule is read as :class:`Unreadable`, with the reason."""

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        data = super().from_db_value(value, expression, connection)
        return data if data is None or isinstance(data, Unreadable) else self._read(data)

    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, Schedule | Unreadable):
            return value
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError as error:
                return Unreadable(json.dumps(value), str(error))
        return None if value is None else self._read(value)

    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(value.to_dict() if isinstance(value, Schedule) else value)

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        super().validate(value.to_dict() if isinstance(value, Schedule) else value, model_instance)

    def value_to_string(self, obj: models.Model) -> Any:
        value = self.value_from_object(obj)
        if isinstance(value, Schedule):
            return value.to_dict()
        if isinstance(value, Unreadable):
            return _loads_or_text(value.text)
        return value

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        return super().formfield(*args, **{"form_class": _ScheduleFormField, **kwargs})

    def _read(self, data: Any) -> Schedule | Unreadable:
        try:
            return Schedule.from_dict(data)
        except ScheduleError as error:
            return Unreadable(json.dumps(data), error.message, error.code)


def _loads_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class _ScheduleFormField(forms.JSONField):
    """The schedule as JSON text, for forms that have no schedule editor."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Schedule):
            value = value.to_dict()
        return value.text if isinstance(value, Unreadable) else super().prepare_value(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.prepare_value(initial) != data and super().has_changed(self.prepare_value(initial), data)


class InstantField(models.DateTimeField):  # type: ignore[type-arg]
    """An instant: aware and UTC in Python, UTC in the database, whatever USE_TZ and TIME_ZONE say.

    Do not use ``__date``, ``date_hierarchy`` or ``Trunc`` on it: Django applies the project's zone to those.
    """

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            value = self._parse(value)
        if not isinstance(value, dt.datetime):
            return value
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)

    def get_prep_value(self, value: Any) -> Any:
        return self.to_python(value)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        value = self.to_python(value)
        if value is not None and connection.vendor != "postgresql":
            value = value.replace(tzinfo=None)
        return connection.ops.adapt_datetimefield_value(value)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> dt.datetime | None:
        """The digits read are UTC's, whichever zone Django's converter has put beside them."""
        if isinstance(value, str):
            value = self._parse(value)
        return None if value is None else value.replace(tzinfo=dt.UTC)

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        if compiler.connection.vendor == "postgresql":
            return f"({sql}) AT TIME ZONE 'UTC'", params
        return sql, params

    def value_to_string(self, obj: models.Model) -> str:
        value = self.value_from_object(obj)
        return "" if value is None else value.isoformat()

    def _parse(self, text: str) -> dt.datetime:
        try:
            value = parse_datetime(text)
        except ValueError:
            value = None
        if value is None:
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": text})
        return value


class TagsField(models.CharField):  # type: ignore[type-arg]
    """Lower-case tags: a list in Python, one text delimited by ``|`` in the database (``|a|b|``).

    Filter with ``Job.objects.tagged()``. ``|`` and ``,`` cannot be part of a tag.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 1000)
        super().__init__(*args, **kwargs)

    def from_db_value(self, value: str | None, expression: Any, connection: BaseDatabaseWrapper) -> list[str]:
        return self.to_python(value)

    def to_python(self, value: Any) -> list[str]:
        parts = value.replace("|", ",").split(",") if isinstance(value, str) else value or []
        return list(dict.fromkeys(tag for tag in (str(part).strip().lower() for part in parts) if tag))

    def get_prep_value(self, value: Any) -> str:
        """A list becomes the delimited text; a text stays, so that lookups can name a part of it."""
        if isinstance(value, str):
            return value
        tags = self.to_python(value)
        return f"|{'|'.join(tags)}|" if tags else ""

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        if any("|" in tag or "," in tag for tag in value):
            raise ValidationError(_("A tag cannot contain '|' or ','."), code="tag_delimiter")

    def run_validators(self, value: Any) -> None:
        super().run_validators(self.get_prep_value(value))

    def value_to_string(self, obj: models.Model) -> Any:
        return ",".join(self.value_from_object(obj) or [])

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        return super().formfield(*args, **{"form_class": _TagsFormField, **kwargs})


class _TagsFormField(forms.CharField):
    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)
