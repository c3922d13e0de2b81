"""The page about writing a locker, taken at its word: its modules are made of its blocks, and its tests are run here.

Other processes that these tests start import this module, and so have all of that too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

from django_gocron.backends import Backend
from django_gocron.electors.base import Elector
from django_gocron.exceptions import ConfigurationError
from django_gocron.lockers.base import Locker
from django_gocron.testing import ElectorContract, LockerContract

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-locker.md"

FILE = re.compile(r"^```\{code-block\} python\n:caption: (\S+)\n\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS: dict[str, str] = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))

pytestmark = pytest.mark.only_on("sqlite")
"""No database of the project's has a part in it."""


def make_module(name: str, file: str) -> ModuleType:
    """The module that a reader has after writing the file."""
    module = ModuleType(name)
    exec(compile(BLOCKS[file], f"{PAGE}:{file}", "exec"), module.__dict__)
    return module


SHOP = {
    "shop": ModuleType("shop"),
    "shop.locks": make_module("shop.locks", "shop/locks.py"),
    "shop.elections": make_module("shop.elections", "shop/elections.py"),
}

with patch.dict(sys.modules, SHOP):
    exec(compile(BLOCKS["tests/test_locks.py"], f"{PAGE}:tests/test_locks.py", "exec"), globals())
"""Its classes belong to this module, where pytest collects them and other processes find them."""


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules can be imported, as by a setting that names them."""
    for name, module in SHOP.items():
        monkeypatch.setitem(sys.modules, name, module)


def test_the_tests_of_the_page_are_those_of_the_contracts():
    assert issubclass(globals()["TestFileLocker"], LockerContract)
    assert issubclass(globals()["TestFileElector"], ElectorContract)


@pytest.mark.parametrize(
    ("path", "kind"), [("shop.locks.FileLocker", Locker), ("shop.elections.FileElector", Elector)]
)
def test_the_settings_can_name_them(shop: None, tmp_path: Path, path: str, kind: type):
    options = {"path": str(tmp_path / "locks.sqlite3"), "ttl": 30}
    assert Backend(setting="GOCRON", path=path, options=options).make(kind).ttl.total_seconds() == 30


def test_wrong_options_are_refused(shop: None):
    backend = Backend(setting="GOCRON", path="shop.locks.FileLocker", options={"path": "locks", "ttl": 0})
    with pytest.raises(ConfigurationError, match="at least 1"):
        backend.make(Locker)  # type: ignore[type-abstract]
