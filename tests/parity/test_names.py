"""Every public name of gocron v2 has one of ours, and a test that shows it."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest
from django.utils.module_loading import import_string

from django_gocron.conf import READERS
from django_gocron.engine import scheduler as engine
from django_gocron.listeners import Kind
from django_gocron.options import OPTIONS
from django_gocron.scheduler import Scheduler
from tests.parity.names import NAMES, Name
from tests.parity.nodes import ROOT, exists
from tests.parity.page import PAGE, text

ERRORS = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")


def test_none_is_missing():
    kinds = {name.kind for name in NAMES}
    assert (len(NAMES), len(kinds)) == (293, 17)
    assert len([name for name in NAMES if name.go.startswith("Err")]) == 57


def test_none_is_there_twice():
    assert len({name.go for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.go)
def test_each_is_shown_by_a_test_that_exists_or_does_not_apply(name: Name):
    assert bool(name.test) != bool(name.because)
    assert not name.test or exists(name.test)


@pytest.mark.parametrize("name", [name for name in NAMES if name.ours], ids=lambda name: name.go)
def test_what_is_ours_is_there(name: Name):
    assert all(map(is_ours, name.ours)), name.ours


def is_ours(ours: str) -> bool:
    if ours.startswith("@job("):
        return ours[5:-2] in OPTIONS
    if ours.startswith("Scheduler("):
        return ours[10:-2] in arguments()
    if ours.startswith("GOCRON["):
        return ours[8:-2] in READERS
    if ours.startswith("listeners["):
        return ours[11:-2] in set(Kind)
    if ours.startswith("code: "):
        return f"`{ours[6:]}`" in ERRORS
    return find(ours) is not None


def arguments() -> set[str]:
    inits = (Scheduler.__init__, engine.Scheduler.__init__)
    return {name for init in inits for name in inspect.signature(init).parameters}


def find(path: str) -> Any:
    """A module's member, or a member of that."""
    try:
        return import_string(path)
    except ImportError:
        owner, _dot, member = path.rpartition(".")
        found = import_string(owner)
        return getattr(found, member, None) or get_type_hints(found).get(member)


def test_the_page_says_what_the_list_says():
    assert PAGE.read_text(encoding="utf-8") == text()
