"""What the page for users of gocron says: of errors, of what a schedule tells of itself, and its programs."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, time, timedelta
from types import CodeType, ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from django_gocron import (
    Cron,
    Daily,
    Every,
    EveryRandom,
    Monthly,
    OneTime,
    Schedule,
    Weekly,
    operations,
    registry,
)
from django_gocron.exceptions import ConfigurationError, JobError, OperationError
from django_gocron.models import Job, Run
from django_gocron.scheduler import Scheduler
from django_gocron.testing import HandDrivenScheduler
from tests.handdriven import REAL_TRANSACTIONS
from tests.parity.names import NAMES
from tests.parity.page import PAGE

pytestmark = REAL_TRANSACTIONS

OURS = {name.go: name.ours for name in NAMES}
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def _own_registry():
    with registry.isolated(inherit=True):
        yield


def send_report(region: str = "eu") -> None: ...


# --- what a schedule tells of itself ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "kind", "values"),
    [
        (Cron("*/5 * * * *"), "cron", {"expression": "*/5 * * * *"}),
        (Every(seconds=5), "every", {"interval": timedelta(seconds=5)}),
        (EveryRandom(1, 5), "every_random", {"min": timedelta(seconds=1), "max": timedelta(seconds=5)}),
        (Daily(at=["12:00", "01:30"], every=2), "daily", {"every": 2, "at": (time(1, 30), time(12))}),
        (
            Weekly(on=["wed", "mon"], at="09:00", every=3),
            "weekly",
            {"every": 3, "on": ("mon", "wed"), "at": (time(9),)},
        ),
        (Monthly(on=[-1, 15, 1], at="08:00"), "monthly", {"every": 1, "on": (1, 15, -1), "at": (time(8),)}),
        (OneTime(NOON), "one_time", {"at": (NOON,)}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Schedule) else "",
)
def test_a_job_tells_the_kind_and_the_values_of_its_schedule(schedule, kind, values):
    told = Job.objects.get(pk=operations.add(schedule, send_report).pk).schedule
    assert (type(told), told.kind) == (type(schedule), kind)
    assert {name: getattr(told, name) for name in values} == values


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("go", "arguments", "code"),
    [
        ("ErrWithClockNil", {"clock": 3}, "clock_unusable"),
        ("ErrWithLocationNil", {"time_zone": 3}, "bad_setting"),
        ("ErrWithLoggerNil", {"logger": 3}, "logger_unusable"),
        ("ErrWithMonitorNil", {"monitors": [None]}, "monitor_unusable"),
        ("ErrSchedulerMonitorNil", {"monitors": [None]}, "monitor_unusable"),
        ("ErrWithStopTimeoutZeroOrNegative", {"stop_timeout": -1}, "bad_setting"),
        ("ErrWithLimitConcurrentJobsZero", {"limit": 0}, "bad_setting"),
        ("ErrWithDistributedElectorNil", {"elector": 3}, "bad_setting"),
        ("ErrWithDistributedLockerNil", {"lockers": {"default": None}}, "bad_setting"),
    ],
)
def test_what_go_refuses_of_a_scheduler_is_refused_with_the_code_of_the_page(
    go: str, arguments: dict[str, Any], code: str
):
    with pytest.raises(ConfigurationError) as caught:
        Scheduler(**arguments)
    assert caught.value.code == code
    assert f"code: {code}" in OURS[go]


@pytest.mark.parametrize(
    ("go", "options", "code"),
    [
        ("ErrNewJobWrongNumberOfParameters", {"args": ["eu", "us"]}, "arguments_do_not_fit"),
        ("ErrWithNameEmpty", {"name": ""}, "blank"),
        ("ErrWithLimitedRunsZero", {"max_runs": 0}, "zero_max_runs"),
        ("ErrWithStartDateTimePastZero", {"first_run": "at_starts_at"}, "no_starts_at"),
        ("ErrStartTimeLaterThanEndTime", {"starts_at": NOON, "ends_at": NOON - HOUR}, "end_not_after_start"),
        (
            "ErrStopTimeEarlierThanStartTime",
            {"ends_at": NOON - HOUR, "starts_at": NOON},
            "end_not_after_start",
        ),
        ("ErrWithStartAtGraceNegative", {"misfire_grace": -HOUR}, "negative_duration"),
        ("ErrWithDistributedJobLockerNil", {"locker": "nowhere"}, "locker_unknown"),
        ("ErrWithStopDateTimePast", {"starts_at": NOON, "ends_at": NOON + HOUR / 2}, "never_fires"),
    ],
)
def test_what_go_refuses_of_a_job_is_refused_with_the_code_of_the_page(
    go: str, options: dict[str, Any], code: str
):
    with pytest.raises(JobError) as caught:
        operations.add(Every(hours=1), send_report, **options)
    assert caught.value.code == code
    assert f"code: {code}" in OURS[go]
    assert not Job.objects.exists()


class Shop:
    def count(self) -> None: ...


def nested() -> Any:
    def within() -> None: ...

    return within


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (3, "not_a_function"),
        (lambda: None, "is_a_lambda"),
        (nested(), "is_nested"),
        (Shop.count, "is_a_method"),
        (Shop().count, "is_a_method"),
    ],
    ids=["a number", "a lambda", "a nested function", "a method", "a bound method"],
)
def test_what_is_no_function_is_refused_with_the_code_of_the_page(task, code):
    with pytest.raises(JobError) as caught:
        operations.add(Every(hours=1), task)
    assert caught.value.code == code
    assert f"code: {code}" in OURS["ErrNewJobTaskNotFunc"]


def test_a_job_whose_end_has_passed_is_finished_and_no_error():
    job = operations.add(Every(hours=1), send_report, ends_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert job.next_run() is None
    assert job.state.finished_at is not None


# --- the programs of the page ----------------------------------------------------------------------


@pytest.fixture
def page_module():
    """The module ``shop.jobs`` of the page, with a task."""
    module = ModuleType("shop.jobs")
    exec("def sync_orders(): ...", module.__dict__)
    with patch.dict(sys.modules, {"shop": ModuleType("shop"), "shop.jobs": module}):
        yield module


def program(number: int) -> CodeType:
    text = PAGE.read_text(encoding="utf-8")
    return compile(
        re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[number], "page.py", "exec"
    )


def test_the_report_of_the_page_is_sent_every_morning(page_module):
    exec(program(0), page_module.__dict__)
    with HandDrivenScheduler(now=NOON, sync=True) as scheduler:
        scheduler.advance(days=1)
        [run] = Run.objects.filter(job__name="Report")
    assert (run.status, run.args) == ("succeeded", ["eu"])
    assert (run.scheduled_for, run.job.timezone) == (NOON + 20 * HOUR, "Europe/Berlin")
    assert set(registry.listeners_of(run.job.task)) == {"after_run_error"}


def test_the_scheduler_of_the_page_runs_its_job_and_shuts_down(page_module):
    names = dict[str, Any]()
    exec(program(1), names)
    assert names["soon"] is not None
    assert names["job"].tags == ["sync"]
    assert names["job"].runs.filter(origin="manual").exists()
    with pytest.raises(OperationError):
        names["scheduler"].start()


def test_a_job_of_the_page_is_there_when_its_program_starts_again(page_module):
    exec(program(1), {})
    with pytest.raises(JobError) as caught:
        exec(program(1), {})
    assert (caught.value.code, caught.value.field) == ("unique", "name")
