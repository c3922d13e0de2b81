"""The number of queries does not depend on the number of runs: one, fifty or five hundred take the same.

Where a database limits the parameters of a statement and Django goes by that limit (SQLite, before Django 6.1), an
insert of many rows is several statements, as few as the limit allows; there that is what is asserted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from django_gocron import Every, registry
from django_gocron.engine.memory import State
from django_gocron.engine.recovery import stop_instance
from django_gocron.engine.requeueing import give_back
from django_gocron.models import Job, JobState, Run
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, HandDriven, do_nothing

pytestmark = REAL_TRANSACTIONS

SIZES = (1, 50, 500)
MINUTE = timedelta(minutes=1)


class Lives:
    """As many jobs as asked for, led through everything that can become of their runs; ``made`` is what each step took
    of queries."""

    def __init__(self, number: int) -> None:
        Run.objects.all().delete()
        Job.objects.all().delete()
        self.number = number
        self.made: dict[str, list[str]] = {}
        task = registry.register(do_nothing).name
        jobs = [Job(name=f"job {n}", task=task, schedule=Every(hours=1), max_runs=100) for n in range(number)]
        Job.objects.bulk_create(jobs)
        self.engine = HandDriven(workers=2 * number)

    def measure(self, name: str, act: Callable[[], Any]) -> None:
        with CaptureQueriesContext(connection) as captured:
            assert act()
        self.made[name] = [query["sql"] for query in captured]

    def plan(self) -> None:
        """Every job has a tick, due now."""
        tick = self.engine.now + MINUTE
        JobState.objects.update(next_tick_at=tick, next_run_at=tick, anchor_at=tick - timedelta(hours=1))
        self.engine.go_to(tick)

    def lead(self) -> dict[str, list[str]]:
        self._run_counted()
        Job.objects.update(max_runs=None, starting_deadline=timedelta(seconds=1))
        self._run()
        self._refuse()
        self._give_back_and_take_again()
        self._lose()
        return self.made

    def _run_counted(self) -> None:
        self.plan()
        self.engine.claim()
        self.measure("start what is counted", self.engine.start)
        self.engine.execute()
        self.engine.finish()

    def _run(self) -> None:
        self.plan()
        self.measure("claim", self.engine.claim)
        self.measure("start", self.engine.start)
        self.engine.execute()
        self.measure("finish", self.engine.finish)

    def _refuse(self) -> None:
        self.plan()
        self.engine.claim()
        self.engine.start()
        self.plan()
        self.engine.claim()
        self.measure("refuse what is busy", lambda: [self.engine.start()])
        self.engine.execute()
        self.engine.finish()
        self.plan()
        self.engine.claim()
        self.engine.clock.advance(2)
        self.measure("refuse what is late", lambda: [self.engine.start()])
        assert Run.objects.filter(status="missed").count() == self.number

    def _give_back_and_take_again(self) -> None:
        self.plan()
        self.engine.claim()
        unbegun = self.engine.memory.withdraw(State.HELD)
        self.measure("give back", lambda: give_back(DATABASE, unbegun))
        self.engine.memory.forget(unbegun)
        self.measure("claim what is queued", self.engine.claim)
        self.engine.memory.forget(self.engine.held)
        self.measure("audit", self.engine.audit.requeue_unknown)

    def _lose(self) -> None:
        """Half of the runs are claimed by then, half run."""
        self.engine.claim()
        self.engine.parts.timer._slots = math.ceil(self.number / 2)
        self.engine.start()
        self.engine.expire()
        reaper = HandDriven(workers=2 * self.number).go_to(self.engine.now)
        self.measure("reap", reaper.recovery.reap)
        self.engine = reaper
        self.plan()
        reaper.claim()
        reaper.start()
        self.measure("stop", lambda: [stop_instance(DATABASE, reaper.lease.instance_id, reaper.now)])


def test_a_batch_takes_as_many_queries_as_a_single_run():
    made = {size: Lives(size).lead() for size in SIZES}
    one, *others = ({step: _count(sqls) for step, sqls in steps.items()} for steps in made.values())
    for other in others:
        assert other == one
    for size, steps in made.items():
        for step, sqls in steps.items():
            assert sum(map(_is_insert, sqls)) <= _fewest_inserts(sqls, size), (step, size)


def _count(sqls: list[str]) -> int:
    return sum(not _is_insert(sql) for sql in sqls)


def _is_insert(sql: str) -> bool:
    return sql.startswith("INSERT")


def _fewest_inserts(sqls: list[str], rows: int) -> int:
    """One for each table that is written, or as many as the limit of parameters makes of it."""
    limit = connection.features.max_query_params
    tables = {model for model in (Run, JobState) for sql in sqls if f"INTO {_quoted(model)}" in sql}
    return sum(1 if limit is None else math.ceil(rows / (limit // _columns(sqls, model))) for model in tables)


def _columns(sqls: list[str], model: type[Model]) -> int:
    """As many as its insert names."""
    sql = next(sql for sql in sqls if f"INTO {_quoted(model)}" in sql)
    return sql.partition("(")[2].partition(")")[0].count(",") + 1


def _quoted(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)
