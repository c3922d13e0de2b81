"""What is kept of a task's return value: JSON, bounded."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

LONGEST = 64_000
"""Characters of JSON kept; of a longer value, the beginning as text."""


def keep(value: Any) -> Any:
    """The value as plain JSON data, or as text when it is no JSON or too long."""
    if value is None:
        return None
    try:
        text = json.dumps(value, cls=DjangoJSONEncoder)
    except Exception:  # a value's own encoder may raise anything
        return _describe(value)
    return json.loads(text) if len(text) <= LONGEST else text[:LONGEST] + "..."


def _describe(value: Any) -> str:
    try:
        return repr(value)[:LONGEST]
    except Exception:  # and so may its repr
        return f"<{type(value).__name__}>"
