"""One pytest run tests one database. Tests whose service is absent are skipped, and the summary says so."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

from tests.services import Service, find_service, required_services

DATABASE = os.environ.get("GOCRON_TEST_DATABASE", "sqlite")
DATABASE_DIRECTORIES = ("integration", "concurrency", "contracts", "faults")
SERVICES_HERE = (
    DATABASE,
    "redis",
    "memcached",
    "chromium",
    *(["pgbouncer"] if DATABASE == "postgresql" else []),
)
"""What the tests of this run use."""

TOGETHER = {
    "demonstration": {"demonstration", "shop", "used_shop"},  # its web server has one port
    "evening": {"evening"},  # which takes long to set up
}
"""Tests that use one of these fixtures are run by one worker, in one go."""

NIGHTLY = os.environ.get("GOCRON_TEST_NIGHTLY") == "1"
"""Whether tests that take minutes are among them."""

hypothesis.settings.register_profile(
    "gocron", deadline=None
)  # how fast a machine is says nothing of the code
hypothesis.settings.load_profile("gocron")


def pytest_configure(config: pytest.Config) -> None:
    absent = [service for service in map(find_service, _required_here()) if not service.is_present]
    if absent:
        reasons = "\n".join(f"  {service.name}: {service.note}" for service in absent)
        raise pytest.UsageError(f"GOCRON_TEST_REQUIRE asks for services that are absent:\n{reasons}")


def _required_here() -> list[str]:
    """Other databases than this run's are asked for by their own runs."""
    try:
        return [name for name in required_services() if name in SERVICES_HERE]
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    elsewhere = [item for item in items if not _belongs_here(item)]
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in elsewhere]
    for item in items:
        for name in _needs(item):
            _skip_where_absent(item, find_service(name))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """The directory says what a test touches, before ``-m`` looks at the marks."""
    directory = item.path.relative_to(Path(__file__).parent).parts[0]
    if directory in DATABASE_DIRECTORIES:
        item.add_marker("database")
    if directory == "browser":
        item.add_marker(pytest.mark.needs("chromium"))
    for group, fixtures in TOGETHER.items():
        if not fixtures.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(group))


def _belongs_here(item: pytest.Item) -> bool:
    if item.get_closest_marker("nightly") and not NIGHTLY:
        return False
    return all(DATABASE in mark.args for mark in item.iter_markers("only_on"))


def _needs(item: pytest.Item) -> set[str]:
    services = {name for mark in item.iter_markers("needs") for name in mark.args}
    return services | {DATABASE} if _touches_database(item) else services


def _touches_database(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("database", "django_db"))


def _skip_where_absent(item: pytest.Item, service: Service) -> None:
    if not service.is_present:
        item.add_marker(pytest.mark.skip(reason=f"no {service.name}: {service.note}"))


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """The settings themselves give each worker a database of its own, which its processes know."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = _count_skipped(terminalreporter)
    terminalreporter.section("services")
    for service in map(find_service, SERVICES_HERE):
        lack = f"ABSENT: {skipped[service.name]} tests skipped. {service.note}."
        terminalreporter.line(f"{service.name}: {f'ok ({service.note})' if service.is_present else lack}")


def _count_skipped(terminalreporter: pytest.TerminalReporter) -> Counter[str]:
    """How many tests each service was missed by; the reports come from the workers where there are any."""
    reasons = (str(report.longrepr) for report in terminalreporter.getreports("skipped"))
    return Counter(
        match[1] for match in (re.search(r"Skipped: no (\w+): ", reason) for reason in reasons) if match
    )


def pytest_unconfigure() -> None:
    """SQLite's journal files may outlive the test database."""
    names = (os.environ.get("GOCRON_TEST_DATABASE_NAME"), os.environ.get("PYTEST_XDIST_WORKER"))
    if name := "_".join(filter(None, names)):
        for file in Path(tempfile.gettempdir()).glob(f"{name}.sqlite3*"):
            file.unlink(missing_ok=True)
