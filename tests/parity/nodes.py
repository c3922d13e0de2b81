"""Whether a test exists, without importing it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def exists(node_id: str) -> bool:
    """``path::name`` or ``path::Class::name``; of a test with parameters, what stands before the bracket."""
    path, _colons, name = node_id.partition("[")[0].partition("::")
    return name in _names(path)


@cache
def _names(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.update(
                f"{node.name}::{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            )
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))
