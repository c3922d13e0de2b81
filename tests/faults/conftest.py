from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet
from tests.faults.table import Note, Row, render

ROW = "row of the table of faults"
"""The name of a property of a test: it travels with the report, from whichever process has run the test."""

TEST_DATABASE = os.environ.get("GOCRON_TEST_DATABASE", "sqlite")
NIGHTLY = os.environ.get("GOCRON_TEST_NIGHTLY") == "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nightly: takes minutes; runs with GOCRON_TEST_NIGHTLY=1 alone")
    config.addinivalue_line("markers", "once: takes long; runs on PostgreSQL, and nightly on every database")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each of these tests starts processes and waits for leases to run out."""
    item.add_marker("database")
    item.add_marker(pytest.mark.timeout(600 if NIGHTLY else 240))
    is_enough_once = item.get_closest_marker("once") and TEST_DATABASE != "postgresql"
    if not NIGHTLY and (is_enough_once or item.get_closest_marker("nightly")):
        item.add_marker(pytest.mark.skip(reason="nightly: set GOCRON_TEST_NIGHTLY=1"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    properties = [each for report in reports if report.when == "call" for each in report.user_properties]
    rows: list[Row] = [(row[0], row[1], row[2]) for name, row in properties if name == ROW]
    if rows:
        terminalreporter.section("faults")
        for line in render(rows):
            terminalreporter.line(line)


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Add a row to the table of faults."""

    def add(fault: str, expected: str, seen: str) -> None:
        request.node.user_properties.append((ROW, [fault, expected, seen]))

    return add


@pytest.fixture
def fleet(tmp_path: Path, transactional_db: None) -> Iterator[Fleet]:
    with Fleet(tmp_path) as fleet:
        yield fleet
