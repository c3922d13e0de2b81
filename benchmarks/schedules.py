"""How quick the schedules are: ``python -m benchmarks.schedules``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from time import perf_counter
from zoneinfo import ZoneInfo

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Cron

EXPRESSIONS = ("*/5 * * * *", "0 9 * * mon-fri", "30 2 * * *", "0 0 1 * *", "0 0 29 2 *")
ZONES = ("UTC", "America/New_York")
ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 2000


def main() -> None:
    for expression in EXPRESSIONS:
        for name in ZONES:
            _report(f"next_after   {expression:<16} {name}", _next_after(expression, ZoneInfo(name)))
    _report("refused      0 0 31 2 *", _times(lambda _round: _refused("0 0 31 2 *"), 200))
    text = "*/5 " * 200_000
    _report("refused      800 KB of text", _times(lambda _round: _refused(text), 200))
    _report("count        ten years of * * * * * *, New_York", _times(lambda _round: _count_ten_years(), 200))


def _next_after(expression: str, zone: ZoneInfo) -> list[float]:
    """From moments spread over ten years, so that every season is met."""
    schedule = Cron(expression)

    def ask(number: int) -> None:
        schedule.next_after(ANCHOR + number * timedelta(hours=43, minutes=37), zone=zone, anchor=ANCHOR)

    ask(0)
    return _times(ask, ROUNDS)


def _refused(expression: str) -> None:
    try:
        Cron(expression)
    except ScheduleError:
        return
    raise AssertionError(f"{expression[:20]} was accepted")


def _count_ten_years() -> None:
    through = ANCHOR.replace(year=2036)
    Cron("* * * * * *").count_between(ANCHOR, through, zone=ZoneInfo("America/New_York"), anchor=ANCHOR)


def _times(act: Callable[[int], None], rounds: int) -> list[float]:
    """Seconds that each of ``rounds`` calls took."""
    taken = []
    for number in range(rounds):
        begun = perf_counter()
        act(number)
        taken.append(perf_counter() - begun)
    return taken


def _report(label: str, taken: list[float]) -> None:
    cuts = quantiles(taken, n=100)
    print(f"{label:<50} p50 {cuts[49] * 1e6:9.1f} us   p99 {cuts[98] * 1e6:9.1f} us")


if __name__ == "__main__":
    main()
