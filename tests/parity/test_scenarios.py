"""Every report and every test of gocron v2 has one of ours."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.parity.nodes import exists
from tests.parity.scenarios import SCENARIOS, Scenario

COUNTS = {
    "Reports of users": 55,
    "Tests of gocron: scheduler_test.go": 49,
    "Tests of gocron: job_test.go": 32,
    "Tests of gocron: scheduler_stress_test.go": 9,
    "Tests of gocron: scheduler_monitor_test.go": 9,
    "Tests of gocron: util_test.go": 3,
}


def test_none_is_missing():
    assert Counter(scenario.part for scenario in SCENARIOS) == COUNTS


def test_none_is_there_twice():
    assert len({(scenario.part, scenario.source) for scenario in SCENARIOS}) == len(SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.source)
def test_each_is_held_by_tests_that_exist_or_does_not_apply(scenario: Scenario):
    assert bool(scenario.tests) != bool(scenario.because)
    assert [test for test in scenario.tests if not exists(test)] == []
    assert len(set(scenario.tests)) == len(scenario.tests)
    assert scenario.says


def test_a_test_that_does_not_exist_is_noticed():
    assert not exists("tests/parity/test_scenarios.py::test_nobody_has_written_this")
    assert not exists("tests/parity/test_nowhere.py::test_none_is_missing")
    assert exists("tests/parity/test_scenarios.py::test_none_is_missing")
