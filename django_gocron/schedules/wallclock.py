"""What a zone's clock reads: stretches of constant offset, and the shifts (gaps and folds) between them.

Instants here are naive UTC, wall times are naive local; both are plain ``datetime`` values, because arithmetic on
aware ones is slower and, inside one zone, silently means wall time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache

MARGIN = timedelta(hours=25)
"""More than the furthest that any zone's clock was ever moved at once (24 hours, across the date line)."""

PROBE = timedelta(hours=84)
"""Less than the shortest time between two shifts of one zone (95 hours, Freetown in 1939): readings that far apart
have at most one shift between them."""

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The instants ``start <= t < end``, over which local time is ``t + offset``.

    ``before`` and ``after`` are the offsets just before ``start`` and from ``end`` on: ``before < offset`` means that
    ``start`` ends a gap, ``before > offset`` that it begins the second pass of a fold.
    """

    start: datetime
    end: datetime
    before: timedelta
    offset: timedelta
    after: timedelta


def offset_at(zone: tzinfo, instant: datetime) -> timedelta:
    """How far the zone's clock is ahead of UTC at ``instant`` (naive UTC)."""
    # Adding to an epoch is several times quicker than replace(tzinfo=...), and gives the same.
    offset = zone.fromutc(_epoch(zone) + (instant - EPOCH)).utcoffset()
    assert offset is not None
    return offset


@lru_cache(maxsize=1024)
def _epoch(zone: tzinfo) -> datetime:
    return EPOCH.replace(tzinfo=zone)


def stretches(zone: tzinfo, begin: datetime, end: datetime) -> Iterator[Stretch]:
    """The stretches from ``begin`` to ``end``, in order.

    They reach ``MARGIN`` further on both sides, so that a shift which touches wall times of the span is always seen;
    the outermost ones are cut there, as if nothing moved.
    """
    start, stop = begin.replace(microsecond=0) - MARGIN, end + MARGIN
    before = offset = offset_at(zone, start)
    for moved_at, after in _shifts(zone, start, stop, offset):
        yield Stretch(start, moved_at, before, offset, after)
        start, before, offset = moved_at, offset, after
    yield Stretch(start, stop, before, offset, offset)


def _shifts(
    zone: tzinfo, start: datetime, stop: datetime, offset: timedelta
) -> Iterator[tuple[datetime, timedelta]]:
    """The instants at which the offset, at ``start`` the given one, changes; each with the offset from then on."""
    while start < stop:
        probe = start + PROBE
        later = offset_at(zone, probe)
        if later != offset:
            moved_at = _moved_at(zone, start, probe, offset)
            if moved_at >= stop:
                return
            yield moved_at, later
        start, offset = probe, later


def _moved_at(zone: tzinfo, low: datetime, high: datetime, offset: timedelta) -> datetime:
    """The whole second, later than ``low`` and at most ``high``, from which the offset is not ``offset`` any more."""
    while high - low > SECOND:
        middle = (low + (high - low) // 2).replace(microsecond=0)
        if offset_at(zone, middle) == offset:
            low = middle
        else:
            high = middle
    return high
