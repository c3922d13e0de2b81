"""For programs that run instances outside of pytest, on a database of their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from tests.faults.fleet import Fleet
from tests.faults.table import Row


@contextmanager
def fleet_on_a_fresh_database() -> Iterator[Fleet]:
    """With the tables, and no rows; the database goes when the block ends."""
    name = os.environ["GOCRON_TEST_DATABASE_NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        with tempfile.TemporaryDirectory() as folder, Fleet(Path(folder)) as fleet:
            yield fleet
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def print_table(rows: list[Row]) -> None:
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)), flush=True)
