"""Columns that are right whatever the project's settings, and that never break a listing."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.fields.json import KeyTransform
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


DEEPEST = 100
"""Lists and objects inside one another: with more a value is not read, lest who goes through it runs out of stack."""


def _load(text: str) -> Any:
    """The data, or why there is none: JSON knows numbers and depths that Python refuses to read."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Unreadable(text, str(error))
    if text.count("[") + text.count("{") > DEEPEST and _is_too_deep(data):
        return Unreadable(text, f"Lists and objects are nested more than {DEEPEST} deep.")
    return data


def _is_too_deep(data: Any) -> bool:
    level = [data]
    for _depth in range(DEEPEST):
        inside = (item.values() if isinstance(item, dict) else item for item in level if _holds(item))
        level = list(chain.from_iterable(inside))
    return any(map(_holds, level))


def _holds(item: Any) -> bool:
    return isinstance(item, dict | list)


UNREADABLE = "__unreadable__"
"""In a fixture, the key beside which the text of an unreadable value stands."""


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
        """A part of the value, asked for by key, comes as Django's own field gives it."""
        if isinstance(expression, KeyTransform):
            return super().from_db_value(value, expression, connection)
        return None if value is None else _load(value)

    def to_python(self, value: Any) -> Any:
        is_marked = isinstance(value, dict) and value.keys() == {UNREADABLE}
        return _load(value[UNREADABLE]) if is_marked else value

    def get_prep_value(self, value: Any) -> Any:
        """A fixture in XML is read without ``to_python``."""
        return super().get_prep_value(self.to_python(value))

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        if isinstance(value, Unreadable):
            raise ValidationError(value.reason, code=value.code)
        super().validate(value, model_instance)

    def value_to_string(self, obj: models.Model) -> Any:
        value = self.value_from_object(obj)
        return {UNREADABLE: value.text} if isinstance(value, Unreadable) else value

    def formfield(self, *args: Any, **kwargs: Any) -> Any:
        return super().formfield(*args, **{"form_class": _JSONFormField, "decoder": _FormDecoder, **kwargs})


class _FormDecoder(json.JSONDecoder):
    """Has one complaint, the one that Django's form field knows, about all that cannot be read."""

    def decode(self, s: str, *args: Any) -> Any:
        value = _load(s)
        if isinstance(value, Unreadable):
            raise json.JSONDecodeError(value.reason, s, 0)
        return value


class _JSONFormField(forms.JSONField):
    """The value as JSON text; an unreadable one as it is stored."""

    def prepare_value(self, value: Any) -> Any:
        return value.text if isinstance(value, Unreadable) else super().prepare_value(_plain(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        if isinstance(initial, Unreadable):
            return bool(data != initial.text)
        return super().has_changed(_plain(initial), data)


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Schedule) else value


class ScheduleField(TolerantJSONField):
    """A schedule, or null. A stored value that is no schedule is read as :class:`Unreadable`, with the reason.

    Forms of your own show it as JSON text.
    """

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        data = super().from_db_value(value, expression, connection)
        return data if isinstance(expression, KeyTransform) else _read(data, value)

    def to_python(self, value: Any) -> Any:
        """A text is left alone: it is JSON that is still to be read."""
        value = super().to_python(value)
        is_data = not isinstance(value, str | Schedule)
        return _read(value, json.dumps(value, cls=_Encoder)) if is_data else value

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        if isinstance(value, str):
            data = _load(value)
            value = Unreadable(json.dumps(value), data.reason) if isinstance(data, Unreadable) else data
        return super().clean(value, model_instance)

    def get_prep_value(self, value: Any) -> Any:
        return _plain(super().get_prep_value(value))

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        super().validate(_plain(value), model_instance)

    def value_to_string(self, obj: models.Model) -> Any:
        return _plain(super().value_to_string(obj))


def _read(data: Any, text: str) -> Schedule | Unreadable | None:
    """The schedule that the data make; ``text`` is how they are stored."""
    if data is None or isinstance(data, Unreadable):
        return data
    try:
        return Schedule.from_dict(data)
    except ScheduleError as error:
        return Unreadable(text, error.message, error.code)


class InstantField(models.DateTimeField):  # type: ignore[type-arg]
    """An instant: aware and UTC in Python, UTC in the database, whatever USE_TZ and TIME_ZONE say.

    A value without a zone is taken for UTC.
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

    def from_db_value(
        self, value: Any, expression: Any, connection: BaseDatabaseWrapper
    ) -> dt.datetime | None:
        """PostgreSQL gives an instant; the others UTC's digits, whatever zone Django's converter puts beside them."""
        if isinstance(value, str):
            value = self._parse(value)
        if value is None:
            return None
        is_instant = connection.vendor == "postgresql" and value.tzinfo is not None
        moment: dt.datetime = value.astimezone(dt.UTC) if is_instant else value.replace(tzinfo=dt.UTC)
        return moment

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Without USE_TZ Django would have PostgreSQL give local digits, the same for both passes of an autumn hour.

        With it the column is left as it is: ordered by, it can then be found by its index.
        """
        if compiler.connection.vendor == "postgresql" and not settings.USE_TZ:
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

    def get_db_prep_save(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        """What is stored is always a list, a text with commas too."""
        is_text = isinstance(value, str)
        return super().get_db_prep_save(self.to_python(value) if is_text else value, connection)

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
