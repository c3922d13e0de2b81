"""The whole suite: every test on SQLite, then the tests that touch a database on PostgreSQL and on MariaDB.

``python -m tests.matrix [pytest's options]`` prints each run as pytest does, at the end one line a run, and
then the sum. It ends with 1 where a test failed or a run broke down.

Each run is divided among as many processes as there are processors, up to four; ``GOCRON_TEST_WORKERS`` sets another
number, 0 runs everything in one. Each has a database of its own. Most tests wait, for instants and for leases.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

RUNS: Mapping[str, tuple[str, ...]] = {
    "sqlite": (),
    "postgresql": ("-m", "database"),
    "mariadb": ("-m", "database"),
}
NO_TEST_COLLECTED = 5  # pytest's exit code
WORKERS = os.environ.get("GOCRON_TEST_WORKERS") or str(min(os.cpu_count() or 1, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


BROKEN_DOWN = Tally(failed=1)


def main(options: list[str]) -> int:
    tallies = {database: _run(database, options) for database in RUNS}
    print()
    for database, tally in tallies.items():
        print(f"{database + ':':12}{tally}")
    total = sum(tallies.values(), Tally())
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


def _run(database: str, options: list[str]) -> Tally:
    print(f"\n--- the tests on {database} ---", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "junit.xml")
        workers = ("-n", WORKERS, "--dist", "loadgroup")
        command = [
            sys.executable,
            "-m",
            "pytest",
            *RUNS[database],
            *workers,
            f"--junitxml={report}",
            *options,
        ]
        environment = {**os.environ, "GOCRON_TEST_DATABASE": database}
        code = subprocess.run(command, env=environment, check=False).returncode
        return _tally(report, code)


def _tally(report: Path, exit_code: int) -> Tally:
    """A run that ended without a report, or badly although no test failed, counts as one failure."""
    if not report.exists():
        return BROKEN_DOWN
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    tally = sum((_read(suite) for suite in suites), Tally())
    if exit_code in (0, NO_TEST_COLLECTED) or tally.failed:
        return tally
    return tally + BROKEN_DOWN


def _read(suite: ElementTree.Element) -> Tally:
    tests, failures, errors, skipped = (
        int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return Tally(passed=max(tests - failed - skipped, 0), failed=failed, skipped=skipped)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
