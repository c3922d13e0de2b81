"""Marks for statuses: a shape and a colour each, and always a word beside them. Plain SVG, no script, no style."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_gocron.admin.standing import Standing
from django_gocron.models.choices import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

BARS = 20
"""Outcomes in a strip."""

STEP, HEIGHT = 8, 24
"""Size of one bar's place in a strip, in pixels."""

LONGEST = 3600.0
"""Seconds at which a bar has its full height; it grows with the logarithm."""

SHAPES = {
    "circle": '<circle cx="8" cy="8" r="6"/>',
    "hollow-circle": '<circle cx="8" cy="8" r="5" class="gocron-line"/>',
    "diamond": '<path d="M8 1 15 8 8 15 1 8Z"/>',
    "hollow-diamond": '<path d="M8 2.5 13.5 8 8 13.5 2.5 8Z" class="gocron-line"/>',
    "barred-diamond": '<path d="M8 1 13 6 8 11 3 6Z M2 13h12v2H2Z"/>',
    "square": '<path d="M2.5 2.5h11v11h-11Z"/>',
    "hollow-square": '<path d="M3 3h10v10H3Z" class="gocron-line"/>',
    "triangle": '<path d="M8 2 15 14H1Z"/>',
    "ring": '<circle cx="8" cy="8" r="5" class="gocron-line gocron-ring"/>',
    "no-entry": '<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5Z M4 6.5v3h8v-3Z"/>',
    "two-bars": '<path d="M3 2h3.5v12H3Z M9.5 2H13v12H9.5Z"/>',
    "cross": '<path d="m3 5 2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3Z"/>',
    "flag": '<path d="M3 1h2v14H3Z M6 2h8l-2.500 3L14 8H6Z"/>',
}
"""Each in a square of 16 by 16."""

STANDINGS = {
    Standing.BROKEN: ("cross", "failed"),
    Standing.ORPHANED: ("hollow-diamond", "missed"),
    Standing.QUARANTINED: ("no-entry", "failed"),
    Standing.FAILING: ("diamond", "failed"),
    Standing.LATE: ("triangle", "late"),
    Standing.RUNNING: ("ring", "running"),
    Standing.PAUSED: ("two-bars", "quiet"),
    Standing.DISABLED: ("hollow-square", "quiet"),
    Standing.FINISHED: ("flag", "quiet"),
    Standing.OK: ("circle", "ok"),
    Standing.NEW: ("hollow-circle", "quiet"),
}

STATUSES = {
    Status.QUEUED: ("hollow-circle", "quiet"),
    Status.CLAIMED: ("hollow-circle", "running"),
    Status.RUNNING: ("ring", "running"),
    Status.HANDED_OVER: ("ring", "running"),
    Status.SUCCEEDED: ("circle", "ok"),
    Status.FAILED: ("diamond", "failed"),
    Status.TIMED_OUT: ("barred-diamond", "failed"),
    Status.CANCELLED: ("two-bars", "quiet"),
    Status.LOST: ("cross", "failed"),
    Status.MISSED: ("square", "missed"),
    Status.COALESCED: ("hollow-square", "missed"),
    Status.SKIPPED: ("hollow-square", "skipped"),
}


def standing_badge(standing: Standing) -> SafeString:
    return badge(*STANDINGS[standing], standing.label)


def status_badge(status: str) -> SafeString:
    """Of a run's status; an unknown word is shown as it is."""
    known = find_status(status)
    return badge(*STATUSES[known], known.label) if known else badge("hollow-circle", "quiet", status)


def find_status(status: object) -> Status | None:
    try:
        return Status(str(status))
    except ValueError:
        return None


def badge(shape: str, tone: str, word: object) -> SafeString:
    mark = mark_safe(SHAPES[shape])  # a constant of ours
    return format_html(
        '<span class="gocron-badge"><svg class="gocron-mark gocron-{}" viewBox="0 0 16 16" aria-hidden="true"'
        ' focusable="false">{}</svg> <span>{}</span></span>',
        tone,
        mark,
        capfirst(str(word)),
    )


def strip(outcomes: object) -> SafeString:
    """The last outcomes, ``[status, seconds]`` each, oldest first: one image with a summary."""
    latest = _read(outcomes)[-BARS:]
    missing = BARS - len(latest)
    places = [_dot(place) for place in range(missing)]
    places += [_bar(missing + index, status, seconds) for index, (status, seconds) in enumerate(latest)]
    return format_html(
        '<svg class="gocron-strip" role="img" aria-label="{0}" viewBox="0 0 {1} {2}" width="{1}" height="{2}">'
        "{3}</svg>",
        summary(latest),
        BARS * STEP,
        HEIGHT,
        mark_safe("".join(places)),  # numbers and constants of ours
    )


def _read(outcomes: object) -> list[tuple[Status, float | None]]:
    read = []
    for item in outcomes if isinstance(outcomes, list) else []:
        status = find_status(item[0]) if isinstance(item, list) and len(item) == 2 else None
        if status:
            read.append((status, item[1] if isinstance(item[1], int | float) else None))
    return read


def summary(latest: Sequence[tuple[Status, float | None]]) -> str:
    """ "Last 20 runs: 17 succeeded, 2 failed, 1 missed"."""
    if not latest:
        return _("No runs yet")
    counts = Counter(status for status, _seconds in latest)
    parts = ", ".join(f"{number} {status.label}" for status, number in counts.most_common())
    heading = ngettext("Last %(n)d run", "Last %(n)d runs", len(latest)) % {"n": len(latest)}
    return f"{heading}: {parts}"


def _dot(place: int) -> str:
    return f'<circle cx="{place * STEP + STEP / 2:g}" cy="{HEIGHT - 2}" r="1" class="gocron-none"/>'


def _bar(place: int, status: Status, seconds: float | None) -> str:
    """A bar as high as the run was long; what did not succeed has its shape on top."""
    shape, tone = STATUSES[status]
    left, height = place * STEP, bar_height(seconds)
    bar = f'<rect x="{left + 1}" y="{HEIGHT - height}" width="{STEP - 2}" height="{height}" rx="1"/>'
    if status is Status.SUCCEEDED:
        return f'<g class="gocron-{tone}">{bar}</g>'
    top = max(0, HEIGHT - height - STEP)
    mark = f'<g transform="translate({left} {top}) scale(0.5)">{SHAPES[shape]}</g>'
    return f'<g class="gocron-{tone}">{bar if seconds is not None else ""}{mark}</g>'


def bar_height(seconds: float | None) -> int:
    """2 to 16 pixels on a logarithmic scale from a millisecond to an hour."""
    if not seconds or seconds <= 0:
        return 2
    share = (math.log10(min(seconds, LONGEST)) + 3) / (math.log10(LONGEST) + 3)
    return round(2 + 14 * max(0.0, share))
