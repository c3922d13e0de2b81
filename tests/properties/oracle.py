"""A second opinion on schedules: every answer is found by scanning clocks and calendars, none is computed.

It shares no code with the package. Three primitives carry all of it:

* ``real_minutes``: the instants at which a zone's clock, looked at, reads a wall time;
* a ``Rule``: which calendar dates, which minutes of the day, which seconds;
* ``ticks``: walk the dates of a span, find the instants of each wanted wall time, apply the policies.

Instants are aware UTC. It relies on zones that change their clocks on whole minutes, as all do since 1972.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)
# A clock shows at most 14 hours more or less than UTC, and so does one that jumps over a time.
REACH = timedelta(hours=15)

# All ticks in (after, through], oldest first.
TicksIn = Callable[[datetime, datetime], list[datetime]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The wall times a schedule names.

    ``seconds_of`` maps a minute of the day to the seconds wanted in it. A ``wildcard`` rule fires at every
    real instant that reads a wanted time; any other fires once for each wanted time, under the gap and fold
    policies.
    """

    on_date: Callable[[date], bool]
    seconds_of: dict[int, list[int]]
    wildcard: bool = False


def ticks(
    rule: Rule, zone: str, after: datetime, through: datetime, *, gap: str, fold: str
) -> list[datetime]:
    """Every tick in (after, through], oldest first."""
    found: set[datetime] = set()
    first, last = after - REACH, through + REACH
    for day in filter(rule.on_date, dates(first.date(), last.date())):
        midnight = datetime.combine(day, time(), UTC)
        for minute, seconds in rule.seconds_of.items():
            if first <= midnight + timedelta(minutes=minute) <= last:
                for start, wanted in _starts(rule, zone, day, minute, seconds, gap, fold):
                    if after - timedelta(minutes=1) < start <= through:
                        found.update(start + timedelta(seconds=second) for second in wanted)
    return sorted(tick for tick in found if after < tick <= through)


def _starts(
    rule: Rule, zone: str, day: date, minute: int, seconds: list[int], gap: str, fold: str
) -> list[tuple[datetime, list[int]]]:
    """The real minutes in which one wall minute of one date fires, with the seconds at which it does."""
    read_at = real_minutes(zone, day, minute)
    if rule.wildcard:
        return [(instant, seconds) for instant in read_at]
    if not read_at:
        return [] if gap == "skip" else [(end_of_gap(zone, day, minute), [0])]
    passes = {"first": read_at[:1], "second": read_at[-1:], "both": read_at}[fold]
    return [(instant, seconds) for instant in passes]


@lru_cache(maxsize=50_000)
def real_minutes(zone: str, day: date, minute: int) -> list[datetime]:
    """The instants at which the zone's clock reads this minute: of those that might, all at which it does."""
    wall = _wall_time(day, minute)
    tzinfo = ZoneInfo(zone)
    candidates = sorted((wall - offset).replace(tzinfo=UTC) for offset in _offsets_about(zone, day))
    return [instant for instant in candidates if _reading(instant, tzinfo) == wall]


@lru_cache(maxsize=4000)
def _offsets_about(zone: str, day: date) -> set[timedelta]:
    """Every offset of the zone's clock about this date, by looking at it each hour: none is as short-lived."""
    tzinfo = ZoneInfo(zone)
    offsets = (instant.astimezone(tzinfo).utcoffset() for instant in _instants_about(day, every=60))
    return {offset for offset in offsets if offset is not None}


def end_of_gap(zone: str, day: date, minute: int) -> datetime:
    """The instant at which the clock jumps over a minute that it never reads."""
    missing = _wall_time(day, minute)
    (end,) = (instant for before, instant, after in _jumps_about(zone, day) if before < missing < after)
    return end


@lru_cache(maxsize=400)
def _jumps_about(zone: str, day: date) -> list[tuple[datetime, datetime, datetime]]:
    """Each jump forward of the clock about this date: its reading before, the instant, its reading then."""
    tzinfo = ZoneInfo(zone)
    readings = [(_reading(instant, tzinfo), instant) for instant in _instants_about(day, every=1)]
    return [
        (before, instant, after)
        for (before, _), (after, instant) in pairwise(readings)
        if after - before > timedelta(minutes=1)
    ]


def _instants_about(day: date, *, every: int) -> list[datetime]:
    """The instants, so many minutes apart, that may be part of a date somewhere."""
    first = datetime.combine(day, time(), UTC) - REACH
    return [first + timedelta(minutes=n) for n in range(0, 54 * 60, every)]


def _reading(instant: datetime, tzinfo: ZoneInfo) -> datetime:
    return instant.astimezone(tzinfo).replace(tzinfo=None, fold=0)


def _wall_time(day: date, minute: int) -> datetime:
    return datetime.combine(day, time(minute // 60, minute % 60))


def dates(first: date, last: date) -> Iterator[date]:
    day = first
    while day <= last:
        yield day
        day += DAY


# Calendar schedules: ``weekday`` numbers count from 0, Sunday; ``anchor`` is an instant


WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
ORDINALS = ["first", "second", "third", "fourth", "fifth"]


def daily(*, every: int, at: Iterable[time], anchor: datetime, zone: str) -> Rule:
    start = _local_date(anchor, zone)
    return _calendar(lambda day: (day - start).days % every == 0, at)


def weekly(
    *, every: int, weekdays: Iterable[int], at: Iterable[time], week_start: int, anchor: datetime, zone: str
) -> Rule:
    first_day_of_week_0 = _local_date(anchor, zone)
    while weekday(first_day_of_week_0) != week_start:
        first_day_of_week_0 -= DAY
    wanted = set(weekdays)

    def on_date(day: date) -> bool:
        return weekday(day) in wanted and (day - first_day_of_week_0).days // 7 % every == 0

    return _calendar(on_date, at)


def monthly(
    *, every: int, days: Iterable[int | str], at: Iterable[time], anchor: datetime, zone: str
) -> Rule:
    """``days`` are numbers, negative from the end of the month, and words: "second tue", "last fri"."""
    start = _local_date(anchor, zone)
    wanted = list(days)

    def on_date(day: date) -> bool:
        months = (day.year - start.year) * 12 + day.month - start.month
        return months % every == 0 and any(_is_day(item, day) for item in wanted)

    return _calendar(on_date, at)


def _is_day(item: int | str, day: date) -> bool:
    if isinstance(item, int):
        length = monthrange(day.year, day.month)[1]
        return item in (day.day, day.day - length - 1)
    ordinal, name = item.split()
    places = dict(zip(ORDINALS, same_weekday_in_month(day), strict=False))
    places["last"] = same_weekday_in_month(day)[-1]
    return WEEKDAYS[weekday(day)] == name and places.get(ordinal) == day


def weekday(day: date) -> int:
    return day.isoweekday() % 7


def same_weekday_in_month(day: date) -> list[date]:
    month = [day.replace(day=n + 1) for n in range(monthrange(day.year, day.month)[1])]
    return [candidate for candidate in month if candidate.weekday() == day.weekday()]


def _calendar(on_date: Callable[[date], bool], at: Iterable[time]) -> Rule:
    seconds_of: dict[int, list[int]] = {}
    for wall in at:
        seconds_of.setdefault(wall.hour * 60 + wall.minute, []).append(wall.second)
    return Rule(on_date=lru_cache(maxsize=None)(on_date), seconds_of=seconds_of)


def _local_date(instant: datetime, zone: str) -> date:
    return instant.astimezone(ZoneInfo(zone)).date()


# Schedules without a wall clock, and what can be asked of any


def grid(anchor: datetime, interval: timedelta) -> TicksIn:
    """One interval after the anchor, and so on, in real time."""

    def ticks_in(after: datetime, through: datetime) -> list[datetime]:
        found, tick = [], anchor + interval * max(1, (after - anchor) // interval - 1)
        while tick <= through:
            if tick > after:
                found.append(tick)
            tick += interval
        return found

    return ticks_in


def fixed(instants: Iterable[datetime]) -> TicksIn:
    given = sorted(set(instants))
    return lambda after, through: given[bisect_right(given, after) : bisect_right(given, through)]


def later_than(anchor: datetime, ticks_in: TicksIn) -> TicksIn:
    """No schedule has a tick at or before its anchor."""
    return lambda after, through: ticks_in(max(after, anchor), through)


def first_ticks(
    ticks_in: TicksIn, after: datetime, *, enough: int, spans: Iterable[timedelta]
) -> list[datetime]:
    """The ticks of the shortest of these spans that holds enough of them, else of the last one."""
    return _grow(lambda span: ticks_in(after, after + span), enough, spans)


def last_ticks(
    ticks_in: TicksIn, through: datetime, *, enough: int, spans: Iterable[timedelta]
) -> list[datetime]:
    return _grow(lambda span: ticks_in(through - span, through), enough, spans)


def _grow(
    ticks_of: Callable[[timedelta], list[datetime]], enough: int, spans: Iterable[timedelta]
) -> list[datetime]:
    found: list[datetime] = []
    for span in spans:
        found = ticks_of(span)
        if len(found) >= enough:
            break
    return found
