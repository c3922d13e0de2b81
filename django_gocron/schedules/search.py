"""Answers found by asking for the next tick again and again, for schedules that offer no arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django_gocron.schedules.wallclock import MICROSECOND

Next = Callable[[datetime], datetime | None]

WALKED = 10_000
"""So many ticks are walked one by one; what lies beyond is estimated."""


def count_by_walking(following: Next, after: datetime, through: datetime) -> int:
    """The ticks in ``(after, through]``; beyond 10,000, an estimate from the mean distance of those."""
    count, tick = 0, after
    while count < WALKED:
        later = following(tick)
        if later is None or not tick < later <= through:
            return count
        count, tick = count + 1, later
    return max(count, round(count * ((through - after) / (tick - after))))


def latest_by_halving(following: Next, moment: datetime, *, floor: datetime) -> datetime | None:
    """The last tick in ``(floor, moment]``: look back ever further for one, then halve the time that follows it."""
    longest = moment - floor
    reach = min(timedelta(seconds=1), longest)
    while reach > timedelta(0):
        tick = following(moment - reach)
        if tick is not None and tick <= moment:
            return _last_from(following, tick, moment)
        if reach == longest:
            return None
        reach = min(2 * reach, longest)
    return None


def _last_from(following: Next, tick: datetime, moment: datetime) -> datetime:
    """The last tick up to ``moment``, given one of them."""
    end = moment
    while end - tick > MICROSECOND:
        middle = tick + (end - tick) / 2
        later = following(middle)
        if later is not None and middle < later <= moment:
            tick = later
        else:
            end = middle
    return tick
