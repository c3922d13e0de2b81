"""A cron expression before its fields: length, time zone prefix, ``@`` words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.durations import check_interval, read_go_duration
from django_gocron.schedules.suggestions import find_close, with_suggestion
from django_gocron.schedules.text import gettext as _

LONGEST = 256
"""Characters; longer text is refused before anything looks at it."""

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_PREFIXES = ("CRON_TZ=", "TZ=")
_BLANKS = re.compile(r"\s+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class CronText:
    """``fields`` are separated by single spaces, with ``@`` words spelt out; ``zone`` is the prefix's."""

    zone: str | None
    fields: str
    every: timedelta | None = None


def tidy(expression: object) -> str:
    """The expression with single spaces. ``ScheduleError``: ``expression_too_long``, ``expression_not_text``."""
    if not isinstance(expression, str):
        message = _("A cron expression is a text such as '0 9 * * mon-fri'.")
        raise ScheduleError(message, code="expression_not_text", field="expression")
    if len(expression) > LONGEST:
        message = _("A cron expression has at most %(limit)d characters; this one has %(length)d.")
        message %= {"limit": LONGEST, "length": len(expression)}
        raise ScheduleError(message, code="expression_too_long", field="expression")
    return " ".join(part for part in _BLANKS.split(expression) if part)


def split(expression: str) -> CronText:
    """Take a tidy expression apart.

    ``ScheduleError``: ``alias_unknown``, ``reboot_unsupported``, and for ``@every`` those of an interval.
    """
    zone: str | None = None
    rest = expression
    for prefix in _PREFIXES:
        if expression.startswith(prefix):
            zone, _space, rest = expression.removeprefix(prefix).partition(" ")
    if not rest.startswith("@"):
        return CronText(zone=zone, fields=rest)
    word, _space, argument = rest.partition(" ")
    if word.lower() == "@every":
        interval = read_go_duration(argument, "expression")
        check_interval(interval, "expression")
        return CronText(zone=zone, fields=rest, every=interval)
    if rest.lower() not in ALIASES:
        raise _unknown_alias(rest)
    return CronText(zone=zone, fields=ALIASES[rest.lower()])


def _unknown_alias(word: str) -> ScheduleError:
    if word.lower() == "@reboot":
        message = _(
            "'@reboot' is not supported. Leave the job without a schedule and run it from your deploy script."
        )
        return ScheduleError(message, code="reboot_unsupported", field="expression")
    message = _("'%(word)s' is not known; write one of %(known)s or @every 90s.")
    message %= {"word": word, "known": ", ".join(ALIASES)}
    message = with_suggestion(message, find_close(word.lower(), ALIASES))
    return ScheduleError(message, code="alias_unknown", field="expression")
