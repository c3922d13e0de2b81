"""The example project on a database without tables, with warnings as errors."""

from __future__ import annotations

import pytest

from tests.acceptance.projects import Project


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("makemigrations", "--check", "--dry-run"),
        ("collectstatic", "--no-input", "--verbosity", "0"),
        ("test", "--verbosity", "0"),
    ],
    ids=" ".join,
)
def test_a_command_needs_no_tables_of_ours(shop: Project, command: tuple[str, ...]) -> None:
    assert "Traceback" not in shop.manage(*command)


def test_migrate_makes_the_tables_and_the_declared_jobs(shop: Project) -> None:
    output = shop.manage("migrate")
    assert "Applying gocron.0001_initial... OK" in output
    assert ("Import orders",) in shop.rows("SELECT name FROM gocron_job")
