"""What a mistyped word may have been meant to be, and how a wrong value is shown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr

from django_gocron.schedules.text import gettext as _

LONGEST = 64
"""Longer words are no typing errors, and comparing them would take its time."""

_shortened = Repr()
_shortened.maxstring = _shortened.maxother = LONGEST


def shown(value: object) -> str:
    """The value as Python writes it, cut where it is long."""
    return _shortened.repr(value)


def find_close(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word most like ``word``, or None."""
    close = get_close_matches(word, list(known), n=1, cutoff=cutoff) if len(word) <= LONGEST else []
    return close[0] if close else None


def with_suggestion(message: str, suggestion: str | None) -> str:
    """The message, followed by "Did you mean ...?" where there is something to suggest."""
    if suggestion is None:
        return message
    return message + " " + _("Did you mean %(suggestion)s?") % {"suggestion": suggestion}
