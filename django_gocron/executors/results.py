"""What is kept of a task's return value: JSON, bounded."""

from __future__ import annotations

import json
import re
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from django_gocron.executors.texts import storable

LONGEST = 64_000
"""Characters of JSON kept; of a longer value, the beginning as text."""

NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""As JSON writes it; PostgreSQL stores none."""


def keep(value: Any) -> Any:
    """The value as plain JSON data, or as text when it is no JSON that every database can store, or too long."""
    if value is None:
        return None
    try:
        text = json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False, allow_nan=False)
        is_storable = storable(text) == text and not NUL.search(text)
    except Exception:  # noqa: BLE001 - a value's own encoder may raise anything
        return describe(value)
    if len(text) > LONGEST:
        return storable(text[:LONGEST]) + "..."
    return json.loads(text) if is_storable else describe(value)


def describe(value: Any) -> str:
    """The value as text, whatever its own wording raises."""
    try:
        return storable(repr(value)[:LONGEST])
    except Exception:  # noqa: BLE001 - and so may its repr
        return f"<{type(value).__name__}>"
