"""The codes of errors: stable words that callers match, and so all on one page."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import django_gocron
from django_gocron import exceptions

PACKAGE = Path(django_gocron.__file__).parent
PAGE = (PACKAGE.parent / "docs/reference/errors.md").read_text()


def codes() -> Iterator[str]:
    """What stands as a code in the source: ``code="..."``, and the last argument of what collects faults."""
    for path in PACKAGE.rglob("*.py"):
        if "migrations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield from (
                    one.value.value for one in node.keywords if one.arg == "code" and is_text(one.value)
                )
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                places = {"add": -1, "_Fault": 0, "_not_distinct": -1, "_refusal": -1}
                if name in places and node.args and is_text(node.args[places[name]]):
                    yield node.args[places[name]].value


def is_text(node: ast.expr) -> bool:
    is_code = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_code and re.fullmatch(r"[a-z]+(_[a-z]+)*", node.value) is not None


@pytest.mark.parametrize("code", sorted(set(codes())))
def test_every_code_is_on_the_page(code: str):
    assert f"`{code}`" in PAGE


def test_there_are_as_many_as_one_would_think():
    assert len(set(codes())) > 100


ERRORS = [
    kind
    for _name, kind in inspect.getmembers(exceptions, inspect.isclass)
    if issubclass(kind, exceptions.GocronError)
]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_in_the_tree_that_is_drawn(kind: type[exceptions.GocronError]):
    assert re.search(rf"\b{kind.__name__}\b", exceptions.__doc__ or "")
