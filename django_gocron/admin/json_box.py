"""JSON as people write it."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from django_gocron.models.fields import Unreadable


class JSONBox(forms.JSONField):
    """JSON, laid out to be read. A stored text that is no JSON is shown as it is, and stays if it is not touched."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored: Unreadable | None = None

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Unreadable):
            return value.text
        if value is None:
            return ""
        if isinstance(value, str):
            return super().prepare_value(value)
        return json.dumps(
            value, indent=2 if _is_nested(value) else None, ensure_ascii=False, cls=self.encoder
        )

    def bound_data(self, data: Any, initial: Any) -> Any:
        return self.stored if self._is_stored(data) else super().bound_data(data, initial)

    def to_python(self, value: Any) -> Any:
        if self._is_stored(value):
            return self.stored
        if value in self.empty_values:
            return None
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError) as error:
            raise ValidationError(_describe(error), code="invalid") from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self._is_stored(data) and super().has_changed(initial, data)

    def _is_stored(self, text: Any) -> bool:
        """Whether the text is still the unreadable one; browsers change the ends of lines."""
        return self.stored is not None and str(text).split() == self.stored.text.split()


def _is_nested(value: Any) -> bool:
    """Whether one line would be hard to read."""
    return (isinstance(value, dict) and len(value) > 1) or len(json.dumps(value, default=str)) > 60


def _describe(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        place = {"line": error.lineno, "column": error.colno, "error": error.msg}
        return _("Not valid JSON (line %(line)d, column %(column)d: %(error)s).") % place
    return _("Not valid JSON.")
