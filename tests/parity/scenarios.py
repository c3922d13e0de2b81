"""What users of gocron v2 have reported, and what its own tests hold: each with our test.

A line of scenarios.txt is ``source | what must hold | test``, or several tests with commas between them; in place of
a test it may say ``because ...``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TEXT = Path(__file__).with_name("scenarios.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    part: str
    source: str
    says: str
    tests: tuple[str, ...]
    because: str


def _read() -> tuple[Scenario, ...]:
    scenarios: list[Scenario] = []
    part = ""
    for line in filter(None, TEXT.splitlines()):
        if line.startswith("# "):
            part = line[2:]
            continue
        source, says, last = (part_of.strip() for part_of in line.split("|"))
        because = last if last.startswith("because ") else ""
        tests = () if because else tuple(f"tests/{test.strip()}" for test in last.split(","))
        scenarios.append(Scenario(part=part, source=source, says=says, tests=tests, because=because))
    return tuple(scenarios)


SCENARIOS = _read()
