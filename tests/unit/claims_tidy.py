"""A function of the same name as one of the test of checks."""

from __future__ import annotations


def tidy() -> None: ...
