"""Random schedules, and moments at which schedules go wrong: close to where a zone changes its clocks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tests.properties.oracle import ORDINALS, WEEKDAYS
from tests.properties.oracle_cron import ALIASES, MONTHS
from tests.properties.zones import TRANSITIONS, ZONES

GAPS = st.sampled_from(["run_after", "skip"])
FOLDS = st.sampled_from(["first", "second", "both"])
QUIET = [datetime(2024, 2, 29, tzinfo=UTC), datetime(2025, 12, 31, 23, 59, tzinfo=UTC)]


@dataclass(frozen=True, slots=True)
class Scene:
    """A moment in a zone close to a change of its clocks, and a wall time worth naming in a schedule."""

    zone: str
    change: datetime
    moment: datetime
    elsewhere: datetime
    wall: datetime


@st.composite
def scenes(draw: st.DrawFn, zone: str) -> Scene:
    change = draw(st.sampled_from(TRANSITIONS[zone] or QUIET))
    if draw(st.integers(0, 9)) == 0:
        change = draw(_instants(1990, 2040))
    wall = change + timedelta(minutes=draw(st.integers(-150, 150)))
    return Scene(
        zone=zone,
        change=change,
        moment=change + draw(_DISTANCES),
        elsewhere=change + draw(_DISTANCES),
        wall=wall.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0),
    )


_DISTANCES = st.builds(
    lambda minutes, microseconds: timedelta(minutes=minutes, microseconds=microseconds),
    st.one_of(st.integers(-200, 200), st.integers(-2000, 2000)),
    st.sampled_from([0, 0, 0, 1, -1, 500_000, 1_000_000, 17_000_000]),
)


# Minutes from the anchor to the moment: mostly the anchor is earlier, sometimes it is the moment, or later.
_AGES = st.one_of(st.integers(0, 3000), st.integers(0, 400 * 1440), st.integers(-3000, 0))


# Cron expressions


@st.composite
def cron_expressions(draw: st.DrawFn, wall: datetime) -> str:
    if draw(st.integers(0, 24)) == 0:
        return draw(st.sampled_from(sorted(ALIASES)))
    wants_day, wants_month, wants_weekday = draw(_WANTED_DAY_FIELDS)
    fields = [
        draw(_minutes(wall.minute // 15 * 15)),
        draw(_hours(wall.hour)),
        draw(_days(wall.day) if wants_day else _ANY),
        draw(_months(wall.month) if wants_month else st.just("*")),
        draw(_weekdays(wall.isoweekday() % 7) if wants_weekday else _ANY),
    ]
    if draw(st.integers(0, 2)) == 0:
        on_every_day = not (wants_day or wants_month or wants_weekday)
        fields.insert(0, draw(_SECONDS if on_every_day else _FEW_SECONDS))
    return " ".join(fields)


# Strategies are cached: most of the time of an example goes into making them.
@cache
def _minutes(likely: int) -> st.SearchStrategy[str]:
    return _field(0, 59, [0, 30, likely])


@cache
def _hours(likely: int) -> st.SearchStrategy[str]:
    return _field(0, 23, [likely, (likely + 1) % 24, (likely - 1) % 24])


@cache
def _days(likely: int) -> st.SearchStrategy[str]:
    specials = st.one_of(st.just("L"), st.integers(1, 31).map("{}W".format))
    return _field(1, 31, [likely], specials=specials)


@cache
def _months(likely: int) -> st.SearchStrategy[str]:
    return _field(1, 12, [likely], names=dict(enumerate(MONTHS, 1)))


@cache
def _weekdays(likely: int) -> st.SearchStrategy[str]:
    number = st.integers(0, 7)
    name = st.sampled_from(WEEKDAYS)
    nth = st.tuples(st.one_of(number, name), st.integers(1, 5)).map("{0[0]}#{0[1]}".format)
    to_sunday = st.tuples(number, st.sampled_from(["-7", "-7/2", "-7/3"])).map("{0[0]}{0[1]}".format)
    specials = st.one_of(nth, number.map("L{}".format), number.map("{}L".format), st.just("7"), to_sunday)
    return _field(0, 6, [likely], names=dict(enumerate(WEEKDAYS)), specials=specials)


def _field(
    low: int,
    high: int,
    likely: list[int],
    *,
    names: dict[int, str] | None = None,
    specials: st.SearchStrategy[str] | None = None,
) -> st.SearchStrategy[str]:
    number = st.one_of(st.sampled_from(likely), st.integers(low, high))
    value = number.map(str)
    if names:
        spelled = number.map(names.__getitem__)
        value = st.one_of(value, spelled, spelled.map(str.upper), spelled.map(str.title))
    elif low == 0:
        value = st.one_of(value, number.map("{:02}".format))
    step = st.integers(1, high + 1).map("/{}".format)
    span = st.tuples(value, value).map("-".join)
    starred = step.map("*{}".format)
    item = st.one_of(value, value, span, starred, st.tuples(st.one_of(value, span), step).map("".join))
    if specials is not None:
        item = st.one_of(item, specials)
    some = st.lists(item, min_size=2, max_size=4).map(",".join)
    return st.one_of(st.just("*"), item, item, some)


_SECONDS = st.one_of(st.just("0"), _field(0, 59, [0, 1, 30, 59]))
_FEW_SECONDS = st.sampled_from(["0", "1,30", "59-01", "*/25", "58/1"])  # a scan of a whole day takes its time
_ANY = st.sampled_from(["*", "*", "?"])
# Day of month, month, day of week: mostly few of them, so that ticks are close to the moment.
_WANTED_DAY_FIELDS = st.sampled_from(
    [(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)]
)


@dataclass(frozen=True, slots=True)
class CronJob:
    """``zone_from`` says what gives the zone: the job, the schedule's ``timezone``, or a prefix."""

    expression: str
    zone_from: str
    anchor: datetime
    scene: Scene
    gap: str
    fold: str


@st.composite
def cron_jobs(draw: st.DrawFn, zone: str) -> CronJob:
    scene = draw(scenes(zone))
    return CronJob(
        expression=draw(cron_expressions(scene.wall)),
        zone_from=draw(st.sampled_from(["job", "timezone", "TZ=", "CRON_TZ="])),
        anchor=scene.moment - timedelta(minutes=draw(_AGES)),
        scene=scene,
        gap=draw(GAPS),
        fold=draw(FOLDS),
    )


@st.composite
def rare_expressions(draw: st.DrawFn) -> str:
    """Days that few months have, or none of the months that are asked for."""
    day = draw(st.sampled_from(["*", "28", "29", "30", "31", "30-31", "29/2", "31W", "L"]))
    months = draw(st.lists(st.sampled_from(["2", "2", "4", "6", "9", "11", "12"]), min_size=1, max_size=2))
    weekday = draw(st.sampled_from(["*", "*", "?", "1#5", "6#5", "5L", "mon"]))
    return f"0 12 {day} {','.join(months)} {weekday}"


# Calendar schedules


@dataclass(frozen=True, slots=True)
class CalendarJob:
    """``on`` holds nothing for a daily job, weekday names for a weekly one, days for a monthly one."""

    kind: str
    every: int
    at: list[time]
    on: list[Any]
    week_start: str
    anchor: datetime
    scene: Scene
    gap: str
    fold: str


@st.composite
def calendar_jobs(draw: st.DrawFn, zone: str) -> CalendarJob:
    scene = draw(scenes(zone))
    kind = draw(st.sampled_from(["daily", "weekly", "monthly"]))
    every = draw(st.one_of(st.just(1), st.integers(1, 14), st.integers(1, 40)))
    weekday = WEEKDAYS[scene.wall.isoweekday() % 7]
    on: dict[str, st.SearchStrategy[list[Any]]] = {
        "daily": st.just([]),
        "weekly": _names(weekday),
        "monthly": _days_of_month(scene.wall.day, weekday),
    }
    return CalendarJob(
        kind=kind,
        every=every,
        at=draw(_wall_times(scene.wall.replace(second=0, microsecond=0).time())),
        on=draw(on[kind]),
        week_start=draw(st.sampled_from(WEEKDAYS)),
        anchor=scene.moment - timedelta(minutes=draw(_AGES)),
        scene=scene,
        gap=draw(GAPS),
        fold=draw(FOLDS),
    )


@cache
def _wall_times(likely: time) -> st.SearchStrategy[list[time]]:
    close = [likely, likely.replace(minute=0), likely.replace(minute=30, second=1), time(0), time(23, 59, 59)]
    anywhere = st.builds(time, st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
    return st.lists(st.one_of(st.sampled_from(close), anywhere), min_size=1, max_size=4)


@cache
def _names(likely: str) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from([likely, *WEEKDAYS]), min_size=1, max_size=4)


@cache
def _days_of_month(likely: int, weekday: str) -> st.SearchStrategy[list[Any]]:
    number = st.integers(1, 31)
    words = st.tuples(st.sampled_from([*ORDINALS, "last"]), st.sampled_from(WEEKDAYS)).map(" ".join)
    close = st.sampled_from([likely, -1, 1, f"last {weekday}"])
    return st.lists(st.one_of(close, number, number.map(int.__neg__), words), min_size=1, max_size=4)


@dataclass(frozen=True, slots=True)
class DurationJob:
    interval: timedelta
    anchor: datetime
    moment: datetime


@st.composite
def duration_jobs(draw: st.DrawFn) -> DurationJob:
    interval = draw(st.timedeltas(timedelta(milliseconds=10), timedelta(days=40)))
    anchor = draw(_instants())
    return DurationJob(interval, anchor, anchor + interval * draw(st.integers(-3, 10_000)) / 7)


@dataclass(frozen=True, slots=True)
class RandomIntervalJob:
    shortest: timedelta
    longest: timedelta
    anchor: datetime
    seed: str
    places: list[float]


@st.composite
def random_interval_jobs(draw: st.DrawFn) -> RandomIntervalJob:
    """``places`` are shares of a span."""
    lengths = st.timedeltas(timedelta(milliseconds=10), timedelta(days=2))
    shortest, longest = sorted(draw(st.lists(lengths, min_size=2, max_size=2, unique=True)))
    places = draw(st.lists(st.floats(0, 1), min_size=5, max_size=5))
    return RandomIntervalJob(shortest, longest, draw(_instants()), draw(st.text()), places)


@dataclass(frozen=True, slots=True)
class OneTimeJob:
    at: list[datetime]
    moment: datetime


@st.composite
def one_time_jobs(draw: st.DrawFn) -> OneTimeJob:
    at = draw(st.lists(_instants(), min_size=1, max_size=12, unique=True))
    return OneTimeJob(at, draw(st.one_of(st.sampled_from(at), _instants())))


def _instants(first_year: int = 2025, last_year: int = 2026) -> st.SearchStrategy[datetime]:
    seconds = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (first_year, last_year))
    return st.integers(*seconds).map(lambda second: datetime.fromtimestamp(second, UTC))


Job = CronJob | CalendarJob | DurationJob | RandomIntervalJob | OneTimeJob


def jobs() -> st.SearchStrategy[Job]:
    """Jobs of every kind, in any zone."""
    zones = st.sampled_from(sorted(ZONES))
    in_a_zone = zones.flatmap(lambda zone: st.one_of(cron_jobs(zone), calendar_jobs(zone)))
    return st.one_of(in_a_zone, in_a_zone, duration_jobs(), random_interval_jobs(), one_time_jobs())
