"""What the OPTIONS of electors may be, besides those that they share with lockers."""

from __future__ import annotations

from django_gocron.lockers.options import refuse

LONGEST_NAME = 255


def read_name(value: object) -> str:
    """The name of an election: a text of 1 to 255 characters. Raises ``ConfigurationError`` (``bad_backend``)."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME:
        return value
    raise refuse(f"name must be a text of 1 to {LONGEST_NAME} characters, not {value!r}.", field="name")
