"""The tables of docs/gocron.md, made of the list. ``python -m tests.parity.page`` writes them."""

from __future__ import annotations

from itertools import groupby

from tests.parity.names import NAMES, Name
from tests.parity.nodes import ROOT

PAGE = ROOT / "docs" / "gocron.md"
MARK = "<!-- What follows is written by `python -m tests.parity.page`. -->\n"


def tables() -> str:
    return "".join(_table(kind, list(names)) for kind, names in groupby(NAMES, key=lambda name: name.kind))


def _table(kind: str, names: list[Name]) -> str:
    rows = "".join(map(_row, names))
    return f"\n## {kind}\n\n| gocron | here | what differs | shown by |\n|---|---|---|---|\n{rows}"


def _row(name: Name) -> str:
    ours = ", ".join(f"`{one}`" for one in name.ours)
    shown = f"`{name.test.removeprefix('tests/')}`" if name.test else f"does not apply, {name.because}"
    return f"| `{name.go}` | {ours} | {name.difference} | {shown} |\n"


def text() -> str:
    """The page as it should be."""
    written = PAGE.read_text(encoding="utf-8")
    return written[: written.index(MARK) + len(MARK)] + tables()


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
