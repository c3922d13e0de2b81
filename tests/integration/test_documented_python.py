"""The pages about listeners and about the use from Python, taken at their word: their code is run."""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from django.core import mail
from django.core.cache import cache

from django_gocron import Every, operations, registry
from django_gocron.models import Job
from django_gocron.scheduler import Scheduler
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, next_tick, statuses

pytestmark = REAL_TRANSACTIONS

DOCS = Path(__file__).parents[2] / "docs" / "how-to"


def blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def shop():
    """The module ``shop.jobs`` of the pages, with a task."""
    module = ModuleType("shop.jobs")
    exec("def sync_orders(limit: int = 100): ...", module.__dict__)
    with (
        patch.dict(sys.modules, {"shop": ModuleType("shop"), "shop.jobs": module}),
        registry.isolated(inherit=True),
    ):
        yield module


def run(code: str, module: ModuleType | None = None) -> dict[str, Any]:
    names = {"__name__": "documented"} if module is None else module.__dict__
    exec(compile(code, "documented.py", "exec"), names)
    return names


def test_jobs_are_made_changed_and_removed_as_the_page_says(shop):
    run(blocks("use-from-python.md")[0])
    assert not Job.objects.exists()


def test_a_job_answers_what_the_page_says(shop):
    job = operations.add(Every(minutes=5), shop.sync_orders)
    exec(blocks("use-from-python.md")[1], {"job": job, "operations": operations})
    assert job.paused_at is not None


def test_a_scheduler_of_one_s_own_is_started_as_the_page_says(shop):
    operations.add(None, shop.sync_orders, name="other")
    with patch.object(Scheduler, "wait", return_value=True):
        exec(blocks("use-from-python.md")[2], {"sync_orders": shop.sync_orders})
    added = Job.objects.get(name="Sync orders")
    assert (added.timezone, added.tags) == ("Europe/Berlin", ["local"])


def test_the_listeners_of_the_page_do_what_it_says(shop, settings):
    settings.ADMINS = ["ann@example.com"]
    run(blocks("listeners.md")[0], shop)
    job = operations.add(Every(seconds=10), shop.order_supplies)
    engine = HandDriven()
    cache.set("supplier-down", True)
    engine.go_to(next_tick(job)).step()
    cache.delete("supplier-down")
    assert statuses(job) == ["skipped(before_run)"]
    assert mail.outbox == []


def test_a_test_of_the_page_passes(shop):
    exec("def send_report(): ...", shop.__dict__)
    page = run(blocks("test-your-jobs.md")[0], ModuleType("documented_tests"))
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(page["TestReport"])
    result = unittest.TestResult()
    suite.run(result)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
