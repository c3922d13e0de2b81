"""A function of the same name as one of the tests of declarations."""

from __future__ import annotations


def tidy() -> None: ...
