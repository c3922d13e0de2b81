"""Counting ticks: exact, whatever the span, and without walking."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from django_gocron.schedules import Cron, Daily, Monthly, Schedule, Weekly
from tests.unit.schedules.moments import terms, utc

NEW_YORK = "America/New_York"
FROM, TO = utc("2026-01-01 05:00"), utc("2036-01-01 05:00")
"""Ten years of New York, from midnight to midnight: 3,652 days."""

DAYS = 3652


@pytest.mark.parametrize(
    ("schedule", "policy", "count"),
    [
        # Wildcards fire at every real second, minute or quarter: as many as have elapsed.
        (Cron("* * * * * *"), {}, DAYS * 86400),
        (Cron("* * * * *"), {}, DAYS * 1440),
        (Cron("*/15 * * * *"), {}, DAYS * 96),
        # The minute 30 of hour 2 is missing on ten days; that of hour 1 comes twice on ten.
        (Cron("*/30 2 * * *"), {}, DAYS * 2 - 20),
        (Cron("*/30 1 * * *"), {}, DAYS * 2 + 20),
        # Fixed times fire once a day, unless they are skipped or wanted twice.
        (Cron("30 2 * * *"), {}, DAYS),
        (Cron("30 2 * * *"), {"gap": "skip"}, DAYS - 10),
        (Cron("30 1 * * *"), {}, DAYS),
        (Cron("30 1 * * *"), {"fold": "second"}, DAYS),
        (Cron("30 1 * * *"), {"fold": "both"}, DAYS + 10),
        (Cron("0,30 2,3 * * *"), {}, DAYS * 4 - 20),
        (Daily(at=["09:00", "17:30"]), {}, DAYS * 2),
        (Daily(every=4, at="09:00"), {}, DAYS // 4),
        (Weekly(on=["mon", "thu"], at="09:00"), {}, 522 + 522),
        (Monthly(on=[1, -1], at="09:00"), {}, 240),
        (Monthly(on=31, at="09:00"), {}, 70),
        (Monthly(every=3, on="first mon", at="09:00"), {}, 40),
        (Cron("0 0 29 2 *"), {}, 2),
        (Cron("0 0 13 * 5"), {}, 120 + 522 - 17),
    ],
)
def test_ten_years(schedule: Schedule, policy: dict[str, Any], count: int) -> None:
    assert schedule.count_between(FROM, TO, **terms(NEW_YORK, "2026-01-01 05:00"), **policy) == count


def test_a_thousand_years_of_seconds() -> None:
    span = utc("2026-01-01"), utc("3026-01-01")
    seconds = (span[1] - span[0]) // timedelta(seconds=1)
    assert Cron("* * * * * *").count_between(*span, **terms()) == seconds


@pytest.mark.parametrize("zone", [NEW_YORK, "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"])
@pytest.mark.parametrize(
    "schedule",
    [
        Cron("*/7 1-3 * * *"),
        Cron("5 1-3 * * mon"),
        Daily(every=2, at=["00:00", "02:30", "23:59:59"]),
        Weekly(every=2, on=["sun", "wed"], at=["01:45"]),
        Monthly(on=[-1, 30, "second sun"], at="03:00"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("policy", [{}, {"gap": "skip", "fold": "second"}, {"fold": "both"}], ids=str)
def test_the_parts_of_a_span_add_up(schedule: Schedule, zone: str, policy: dict[str, str]) -> None:
    given: dict[str, Any] = {**terms(zone, "2011-01-01"), **policy}
    cuts = [utc("2011-01-01") + timedelta(hours=733 * number) for number in range(13)]
    parts = [schedule.count_between(after, through, **given) for after, through in pairwise(cuts)]
    assert sum(parts) == schedule.count_between(cuts[0], cuts[-1], **given)
    assert sum(parts) == len(ticks(schedule, cuts[0], cuts[-1], given))


def ticks(schedule: Schedule, after: datetime, through: datetime, given: dict[str, Any]) -> list[datetime]:
    found = []
    while (after := schedule.next_after(after, **given) or through + timedelta(1)) <= through:
        found.append(after)
    return found


def test_the_start_of_a_span_does_not_count_and_its_end_does() -> None:
    schedule, given = Daily(at="09:00"), terms()
    assert schedule.count_between(utc("2026-01-05 09:00"), utc("2026-01-06 09:00"), **given) == 1
    assert schedule.count_between(utc("2026-01-05 09:00"), utc("2026-01-06 08:59:59.999999"), **given) == 0
    assert schedule.count_between(utc("2026-01-05 08:59:59.999999"), utc("2026-01-06 09:00"), **given) == 2


def test_what_lies_before_the_anchor_does_not_count() -> None:
    given = {"zone": ZoneInfo("UTC"), "anchor": utc("2026-01-05 09:00")}
    assert Daily(at="09:00").count_between(utc("2020-01-01"), utc("2026-01-07 09:00"), **given) == 2  # type: ignore[arg-type]
