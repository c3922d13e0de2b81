"""The page about monitors, taken at its word: its code is run."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from django_gocron import Every
from django_gocron.conf import get_settings
from django_gocron.monitors.base import FinishedRun
from django_gocron.monitors.feed import Feed, make_monitors
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, next_tick
from tests.monitors import METHODS

pytestmark = REAL_TRANSACTIONS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "monitors.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILE = re.compile(r"^```\{code-block\} python\n:caption: (\S+)\n\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS: dict[str, str] = dict(FILE.findall(TEXT))


def run(file: str, module: ModuleType) -> ModuleType:
    """The module that a reader has after writing the file."""
    exec(compile(BLOCKS[file], f"{PAGE}:{file}", "exec"), module.__dict__)
    return module


@pytest.fixture(autouse=True)
def _shop():
    """The module with the monitor can be imported, as by a setting that names it."""
    metrics = run("shop/metrics.py", ModuleType("shop.metrics"))
    with patch.dict(sys.modules, {"shop": ModuleType("shop"), "shop.metrics": metrics}):
        yield


def run_twice() -> None:
    """A job with a name that is no plain word is run, and its next tick overlaps."""
    made = make_job('Sync "orders"', schedule=Every(seconds=10))
    engine = HandDriven().go_to(next_tick(made))
    for _ in range(2):
        engine.claim()
        engine.start()
        engine.clock.advance(10)
    engine.execute()
    engine.finish()


def test_the_monitor_of_the_page_writes_what_prometheus_reads(settings: Any, tmp_path: Path):
    documented = run("settings.py", ModuleType("settings")).__dict__["GOCRON"]
    (backend,) = documented["MONITORS"]
    file = tmp_path / "gocron.prom"
    settings.GOCRON = {"MONITORS": [{**backend, "OPTIONS": {"path": str(file)}}]}
    with Feed(make_monitors(get_settings())):
        run_twice()
    assert file.read_text(encoding="utf-8").splitlines() == [
        'gocron_runs_total{job="Sync \\"orders\\"",status="skipped",reason="overlap"} 1',
        'gocron_run_seconds_total{job="Sync \\"orders\\""} 0.0',
        'gocron_runs_total{job="Sync \\"orders\\"",status="succeeded",reason=""} 1',
    ]


def test_what_happens_in_a_test_is_counted_as_the_page_says():
    count_what_happens = run("shop/tests.py", ModuleType("shop.tests")).__dict__["count_what_happens"]
    assert count_what_happens(run_twice) == {
        ('Sync "orders"', "succeeded", ""): 1,
        ('Sync "orders"', "skipped", "overlap"): 1,
    }


def test_the_page_has_every_method_of_the_contract_in_its_order():
    assert re.findall(r"^\| `(\w+)` \| `(?:event|run|limit)", TEXT, re.MULTILINE) == METHODS


def test_the_page_has_every_field_of_a_finished_run():
    _before, _heading, rest = TEXT.partition("| field | meaning |\n")
    fields = re.findall(r"^\| (.+?) \|", rest.partition("\n\n")[0], re.MULTILINE)
    named = {name for field in fields for name in re.findall(r"`(\w+)`", field)}
    assert named == {*FinishedRun.__slots__, "started_at"}
