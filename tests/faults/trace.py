"""What processes have written of themselves: the points they reached, and when user code began and ended."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from tests.heard import PATIENCE

Line: TypeAlias = dict[str, Any]


class Trace:
    """A file that processes append to. Lines are in the order in which they were written."""

    def __init__(self, path: Path, find_failure: Callable[[], str] = lambda: "") -> None:
        self.path = path
        self._find_failure = find_failure

    def lines(self, **facts: object) -> list[Line]:
        """Those that say just that. The last one may still be under way; then it is left out."""
        if not self.path.exists():
            return []
        whole = self.path.read_text().split("\n")[:-1]
        found = (json.loads(line) for line in whole)
        return [line for line in found if all(line.get(name) == value for name, value in facts.items())]

    def wait_for(self, number: int = 1, **facts: object) -> list[Line]:
        """The first ``number`` lines that say that, once they are there. Not waited for where a process has failed."""

        def are_there() -> bool:
            found = len(self.lines(**facts)) >= number
            assert found or not self._find_failure(), self._find_failure()
            return found

        wait_until(are_there, lambda: f"{number} of {facts} in {self.path}")
        return self.lines(**facts)[:number]


def wait_until(
    condition: Callable[[], object], what: Callable[[], object] = lambda: "", patience: float = PATIENCE
) -> None:
    """For what other processes do: nobody tells when it is done."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"it never happened: {what()}"
        time.sleep(0.05)
