"""Schedules agree with the brute-force oracle, close to where zones change their clocks.

The number of comparisons, each one answer of a schedule held against the oracle's, is 4,000 in an ordinary run and
20,000 with GOCRON_TEST_NIGHTLY=1; GOCRON_ORACLE_COMPARISONS sets another. Seeds are random; a failing example is
printed in its smallest form.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import Cron
from tests.properties import oracle, strategies
from tests.properties.comparison import Comparison
from tests.properties.oracle import WEEKDAYS
from tests.properties.oracle_cron import cron, ever_fires
from tests.properties.strategies import CalendarJob, CronJob, DurationJob, OneTimeJob, RandomIntervalJob
from tests.properties.subjects import subject
from tests.properties.zones import ZONES

NIGHTLY = os.environ.get("GOCRON_TEST_NIGHTLY") == "1"
COMPARISONS = int(os.environ.get("GOCRON_ORACLE_COMPARISONS") or (20_000 if NIGHTLY else 4_000))
A_ZONE = COMPARISONS // len(ZONES)
pytestmark = pytest.mark.timeout(400 + COMPARISONS // 100)  # to find the smallest form takes minutes


def compare_many(compare: Callable[[Any], int], jobs: st.SearchStrategy[Any], wanted: int) -> None:
    """Compare random jobs until the wanted number of comparisons is reached."""
    made = 0

    @settings(
        max_examples=wanted // 15 + 1,
        deadline=None,
        derandomize=False,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(jobs)
    def examples(job: Any) -> None:
        nonlocal made
        made += compare(job)

    while made < wanted:
        before = made
        examples()
        assert made > before, "these jobs are never compared"


@pytest.mark.parametrize("zone", ZONES)
def test_cron_schedules_agree_with_the_oracle(zone: str) -> None:
    compare_many(compare_cron, strategies.cron_jobs(zone), A_ZONE * 6 // 10 + 1)


def compare_cron(job: CronJob) -> int:
    rule = cron(job.expression)
    if ever_fires(rule):
        return compare_rule(job, rule)
    assert refusal_of(job.expression) == "never_fires"
    return 1


@settings(deadline=None, max_examples=150)
@given(strategies.rare_expressions())
def test_refuses_exactly_the_cron_expressions_that_never_fire(expression: str) -> None:
    assert refusal_of(expression) == ("" if ever_fires(cron(expression)) else "never_fires")


def refusal_of(expression: str) -> str:
    try:
        Cron(expression)
    except ScheduleError as refused:
        return refused.code
    return ""


@pytest.mark.parametrize("zone", ZONES)
def test_calendar_schedules_agree_with_the_oracle(zone: str) -> None:
    compare_many(compare_calendar, strategies.calendar_jobs(zone), A_ZONE * 4 // 10 + 1)


def compare_calendar(job: CalendarJob) -> int:
    terms: dict[str, Any] = {"every": job.every, "at": job.at, "anchor": job.anchor, "zone": job.scene.zone}
    if job.kind == "daily":
        return compare_rule(job, oracle.daily(**terms))
    if job.kind == "weekly":
        first, *weekdays = (WEEKDAYS.index(name) for name in [job.week_start, *job.on])
        return compare_rule(job, oracle.weekly(**terms, weekdays=weekdays, week_start=first))
    return compare_rule(job, oracle.monthly(**terms, days=job.on))


def compare_rule(job: CronJob | CalendarJob, rule: oracle.Rule) -> int:
    scene = job.scene

    def ticks_in(after: datetime, through: datetime) -> list[datetime]:
        return oracle.ticks(rule, scene.zone, after, through, gap=job.gap, fold=job.fold)

    few_a_day = sum(map(len, rule.seconds_of.values())) <= 8
    comparison = Comparison(subject(job), ticks_in, long_span=timedelta(days=250) if few_a_day else None)
    return comparison.run([scene.change, scene.elsewhere])


def test_durations_agree_with_the_oracle() -> None:
    compare_many(compare_duration, strategies.duration_jobs(), COMPARISONS // 40)


def compare_duration(job: DurationJob) -> int:
    ticks_in = oracle.grid(job.anchor, job.interval)
    return Comparison(subject(job), ticks_in, spans=[job.interval * 10]).run([job.anchor])


def test_fixed_instants_agree_with_the_oracle() -> None:
    compare_many(compare_one_time, strategies.one_time_jobs(), COMPARISONS // 40)


def compare_one_time(job: OneTimeJob) -> int:
    return Comparison(subject(job), oracle.fixed(job.at)).run(job.at)


def test_random_intervals_keep_to_their_bounds_and_to_one_chain() -> None:
    compare_many(compare_random_interval, strategies.random_interval_jobs(), COMPARISONS // 40)


def compare_random_interval(job: RandomIntervalJob) -> int:
    """Nothing else can know the draws, so the chain of previews from the anchor is the oracle of the rest."""
    asked = subject(job)
    chain = [job.anchor, *asked.schedule.preview(20, after=job.anchor, **asked.context)]
    for earlier, later in pairwise(chain):
        assert job.shortest <= later - earlier <= job.longest
        assert asked.schedule.next_after(earlier, **asked.context) == later
    for place in job.places:
        moment = job.anchor + (chain[-1] - job.anchor) * place
        passed = [tick for tick in chain[1:] if tick <= moment]
        assert asked.schedule.count_between(job.anchor, moment, **asked.context) == len(passed)
        assert asked.schedule.latest_before(moment, **asked.context) == (passed[-1] if passed else None)
    return 2 * len(chain) - 2 + 2 * len(job.places)
