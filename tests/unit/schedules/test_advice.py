"""Warnings that refuse nothing."""

from __future__ import annotations

import pytest

from django_gocron.schedules import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Schedule, Weekly
from django_gocron.schedules.advice import Advice, advise
from tests.unit.schedules.moments import terms, utc

BERLIN = terms("Europe/Berlin")["zone"]
NOW = utc("2026-12-01 00:00")


def advice(schedule: Schedule, gap: str = "run_after", fold: str = "first") -> dict[str, str]:
    found = advise(schedule, zone=BERLIN, after=NOW, gap=gap, fold=fold)
    assert len({each.code for each in found}) == len(found)
    return {each.code: each.message for each in found}


GAP = (
    "On Sunday 28 March 2027 clocks in Europe/Berlin go from 02:00 to 03:00, so 02:30 does not exist. {} "
    "To avoid this, choose a time outside 02:00-03:00 or use UTC."
)
FOLD = (
    "On Sunday 31 October 2027 the time 02:30 occurs twice in Europe/Berlin. {} "
    "To avoid this, choose a time outside 02:00-03:00 or use UTC."
)


@pytest.mark.parametrize(
    "schedule", [Cron("30 2 * * *"), Daily(at="02:30"), Weekly(on="sun", at="02:30")], ids=repr
)
@pytest.mark.parametrize(
    ("gap", "fold", "spring", "autumn"),
    [
        ("run_after", "first", "run at 03:00 that day.", "run once, at the first one (02:30 CEST)."),
        ("skip", "second", "not run for it.", "run once, at the second one (02:30 CET)."),
        ("skip", "both", "not run for it.", "run at both (02:30 CEST and 02:30 CET)."),
    ],
)
def test_tells_what_happens_when_clocks_are_moved(
    schedule: Schedule, gap: str, fold: str, spring: str, autumn: str
) -> None:
    assert advice(schedule, gap, fold) == {
        "gap": GAP.format(f"The job will {spring}"),
        "fold": FOLD.format(f"The job will {autumn}"),
    }


@pytest.mark.parametrize(
    "schedule",
    [
        Cron("*/30 2 * * *"),
        Daily(at=["01:59:59", "03:00"]),
        Every(hours=1),
        Cron("30 2 * * *", timezone="UTC"),
        Cron("30 2 * * mon"),
    ],
    ids=repr,
)
def test_is_silent_where_no_fixed_time_is_touched(schedule: Schedule) -> None:
    assert advice(schedule) == {}


@pytest.mark.parametrize(
    ("after", "codes"), [("2031-03-27", []), ("2031-03-29", ["gap"]), ("2032-03-29", [])]
)
def test_clocks_are_watched_for_a_year_and_no_longer(after: str, codes: list[str]) -> None:
    found = advise(Cron("30 2 28 3 *"), zone=BERLIN, after=utc(after))
    assert [each.code for each in found] == codes


SKIPS = "This runs on {}, so it skips months with fewer days. For the end of every month choose the last day."


@pytest.mark.parametrize(
    ("schedule", "days"),
    [
        (Monthly(on=31, at="09:00"), "day 31"),
        (Monthly(on=[29, 30], at="09:00"), "days 29 and 30"),
        (Cron("0 9 31 * *"), "day 31"),
        (Cron("0 9 29-31 * *"), "days 29 to 31"),
        (Cron("0 9 29 2 *"), "day 29"),
        (Cron("0 9 31 3,4 *"), "day 31"),
    ],
    ids=repr,
)
def test_tells_that_short_months_are_skipped(schedule: Schedule, days: str) -> None:
    assert advice(schedule) == {"skips_months": SKIPS.format(days)}


@pytest.mark.parametrize(
    "schedule",
    [
        Monthly(on=28, at="09:00"),
        Monthly(on=[1, 31], at="09:00"),
        Monthly(on=[31, -1], at="09:00"),
        Monthly(on="fifth mon", at="09:00"),
        Cron("0 9 31 1,3,5 *"),
        Cron("0 9 30 4 *"),
        Cron("0 9 L * *"),
        Cron("0 9 * * *"),
    ],
    ids=repr,
)
def test_is_silent_where_no_month_is_skipped(schedule: Schedule) -> None:
    assert advice(schedule) == {}


def test_tells_that_either_day_field_is_enough() -> None:
    assert advice(Cron("0 9 13 * fri")) == {
        "either_day": "Day of month and day of week are both set: the job runs when either matches."
    }


@pytest.mark.parametrize(
    ("field", "item", "n"),
    [
        ("*/7", "*/7", 7),
        ("1/20", "1/20", 20),
        ("15,1-31/3", "1-31/3", 3),
        ("*/02", "*/02", 2),
        ("*/10", "*/10", 10),
    ],
)
def test_tells_that_steps_of_days_begin_anew_each_month(field: str, item: str, n: int) -> None:
    assert advice(Cron(f"0 9 {field} * *")) == {
        "day_step_restarts": f"'{item}' does not mean every {n} days: it restarts on the 1st of each month."
    }


@pytest.mark.parametrize("field", ["*/1", "*", "11/7", "5-31/7", "1-30/7", "*/01"])
def test_is_silent_about_other_steps(field: str) -> None:
    assert "day_step_restarts" not in advice(Cron(f"0 9 {field} * *"))


def test_tells_what_a_wrapping_range_stands_for() -> None:
    found = advise(Cron("0 22-5 * * fri-mon"), zone=terms()["zone"], after=NOW)
    assert found == [
        Advice("range_wraps", "'22-5' wraps around: 22, 23, 0, 1, 2, 3, 4, 5."),
        Advice("range_wraps", "'fri-mon' wraps around: 5, 6, 0, 1."),
    ]


def test_is_silent_about_ranges_that_end_on_sunday() -> None:
    assert advice(Cron("0 9 * * 5-7")) == {}


def test_tells_how_many_runs_a_day_there_are_if_many() -> None:
    assert advice(Cron("* * * * * *")) == {"very_frequent": "This is 86,400 runs a day."}
    assert advice(Every(59)) == {"very_frequent": "This is 1,464 runs a day."}
    assert advice(Cron("* * * * *")) == {}
    assert advice(Every(60)) == {}


def test_tells_that_less_than_a_second_is_very_little() -> None:
    assert advice(Every(0.999))["sub_second"] == "The interval is less than a second: is that meant?"
    assert "sub_second" not in advice(Every(1))
    assert "sub_second" not in advice(EveryRandom(0.5, 60))


@pytest.mark.parametrize(
    "schedule", [OneTime(utc("2020-01-01")), Monthly(every=12, on=31, at="09:00")], ids=repr
)
def test_tells_that_nothing_will_ever_run(schedule: Schedule) -> None:
    after = utc("2026-02-10 00:00")
    message = "Nothing is left to run: this schedule has no time to come."
    assert advise(schedule, zone=BERLIN, after=after) == [Advice("never_fires", message)]


def test_counts_from_the_anchor() -> None:
    # 28 March 2027 is 118 days after 30 November 2026, 31 October 2027 is 334 days after 1 December.
    every_other_day = Daily(every=2, at="02:30")
    found = advise(every_other_day, zone=BERLIN, after=NOW, anchor=utc("2026-11-30 12:00"))
    assert [each.code for each in found] == ["gap"]
    assert [each.code for each in advise(every_other_day, zone=BERLIN, after=NOW)] == ["fold"]


def test_what_comes_before_the_anchor_is_no_matter() -> None:
    found = advise(Daily(at="02:30"), zone=BERLIN, after=NOW, anchor=utc("2027-04-01 12:00"))
    assert [each.code for each in found] == ["fold", "gap"]
    assert found[1].message.startswith("On Sunday 26 March 2028")
