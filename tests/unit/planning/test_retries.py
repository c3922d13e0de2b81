"""How long a retry waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from django_gocron.planning import RetryPolicy

TICK = datetime(2027, 3, 1, 9, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def policy(**values) -> RetryPolicy:
    defaults = {"retries": 5, "delay": 10 * SECOND, "backoff": 2.0, "max_delay": 60 * SECOND, "jitter": 0.0}
    return RetryPolicy(**defaults | values)


def delays(of: RetryPolicy) -> list[float | None]:
    answers = [of.delay_after(attempt, seed="job", tick=TICK) for attempt in range(1, 7)]
    return [answer and answer.total_seconds() for answer in answers]


def test_each_delay_is_longer_than_the_last_up_to_the_longest_and_then_no_attempt_is_left():
    assert delays(policy()) == [10, 20, 40, 60, 60, None]


def test_a_backoff_of_one_keeps_the_delay():
    assert delays(policy(backoff=1.0, retries=2)) == [10, 10, None, None, None, None]


def test_without_retries_there_is_no_second_attempt():
    assert policy(retries=0).delay_after(1, seed="job", tick=TICK) is None


def test_a_power_beyond_every_number_is_the_longest_delay():
    assert policy(retries=10_000, backoff=100.0).delay_after(9_999, seed="job", tick=TICK) == 60 * SECOND


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_jitter_only_adds_and_no_more_than_its_share(attempt: int):
    exact = policy().delay_after(attempt, seed="job", tick=TICK)
    for seed in map(str, range(50)):
        delay = policy(jitter=0.1).delay_after(attempt, seed=seed, tick=TICK)
        assert exact <= delay <= exact * 1.1


def test_jitter_differs_between_jobs_ticks_and_attempts_and_is_the_same_for_the_same():
    of = policy(jitter=0.5, backoff=1.0)
    first = of.delay_after(1, seed="job", tick=TICK)
    assert first == of.delay_after(1, seed="job", tick=TICK)
    others = [
        of.delay_after(1, seed="another", tick=TICK),
        of.delay_after(1, seed="job", tick=TICK + SECOND),
        of.delay_after(2, seed="job", tick=TICK),
    ]
    assert len({first, *others}) == 4


@pytest.mark.parametrize(
    "values", [{"jitter": 1e300}, {"jitter": float("nan")}, {"max_delay": timedelta.max, "backoff": 1e9}]
)
def test_a_policy_that_was_never_validated_has_a_delay_all_the_same(values: dict):
    delay = policy(**values).delay_after(4, seed="job", tick=TICK)
    assert TICK + delay > TICK
