"""What was injected, what was expected and what was seen: one row for each fault, printed at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Row = tuple[str, ...]
Note = Callable[[str, str, str], None]
"""Takes the fault, what was expected and what was seen."""


def render(rows: Sequence[Row]) -> list[str]:
    """The rows in columns, in the order of the faults, under a heading."""
    all_rows = [("fault", "expected", "seen"), *sorted(rows)]
    widths = [max(len(row[column]) for row in all_rows) for column in range(2)]
    return [f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}" for row in all_rows]
