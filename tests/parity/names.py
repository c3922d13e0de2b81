"""The public names of gocron v2 and of its companions, each with ours, what differs, and the test that shows it.

A line of names.txt is ``Go name | ours | what differs | test``; a test is a node id below ``tests/``. In place of
a test a line may say ``because ...`` where there is nothing to prove. Ours is a dotted path, ``@job(option=)``,
``Scheduler(argument=)``, ``GOCRON['KEY']``, ``listeners['kind']``, ``code: word`` or ``-``, or several.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TEXT = Path(__file__).with_name("names.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    kind: str
    go: str
    ours: tuple[str, ...]
    difference: str
    test: str
    because: str


def _read() -> tuple[Name, ...]:
    names: list[Name] = []
    kind = ""
    for line in filter(None, TEXT.splitlines()):
        if line.startswith("# "):
            kind = line[2:]
            continue
        go, ours, difference, last = (part.strip() for part in line.split("|"))
        because = last if last.startswith("because ") else ""
        test = "" if because else f"tests/{last}"
        names.append(
            Name(
                kind=kind,
                go=go,
                ours=tuple(one.strip() for one in ours.split(",") if one.strip() != "-"),
                difference=difference,
                test=test,
                because=because,
            )
        )
    return tuple(names)


NAMES = _read()
