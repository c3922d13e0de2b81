"""The number of queries does not depend on the number of runs: one, fifty or five hundred take the same.

Where a database limits the parameters of a statement and Django goes by that limit (SQLite, before Django 6.1), an
insert of many rows is several statements, as few as the limit allows; there that is what is asserted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
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


def due(number: int, **values: Any) -> HandDriven:
    """An instance with two slots a job, at the instant at which as many jobs are due."""
    Run.objects.all().delete()
    Job.objects.all().delete()
    task = registry.register(do_nothing).name
    jobs = [Job(name=f"job {n}", task=task, schedule=Every(hours=1), **values) for n in range(number)]
    Job.objects.bulk_create(jobs)
    engine = HandDriven(workers=2 * number)
    plan_all(engine.now + MINUTE)
    return engine.go_to(engine.now + MINUTE)


def plan_all(tick: datetime) -> None:
    JobState.objects.update(next_tick_at=tick, next_run_at=tick, anchor_at=tick - timedelta(hours=1))


def claimed(number: int, **values: Any) -> HandDriven:
    engine = due(number, **values)
    assert len(engine.claim()) == number
    return engine


def started(number: int, **values: Any) -> HandDriven:
    engine = claimed(number, **values)
    assert len(engine.start()) == number
    return engine


def executed(number: int) -> HandDriven:
    engine = started(number)
    assert engine.execute() == number
    return engine


def busy(number: int) -> HandDriven:
    """Every job runs, and its next tick is held, due now."""
    engine = started(number)
    plan_all(engine.now + MINUTE)
    engine.go_to(engine.now + MINUTE)
    assert len(engine.claim()) == number
    return engine


def late(number: int) -> HandDriven:
    engine = claimed(number, starting_deadline=timedelta(seconds=1))
    return engine.go_to(engine.now + MINUTE)


def counted(number: int) -> HandDriven:
    return claimed(number, max_runs=5)


def queued(number: int) -> HandDriven:
    engine = claimed(number)
    give_back(DATABASE, engine.memory.withdraw(State.HELD))
    engine.memory.forget(engine.memory.entries())
    return engine


def gone(number: int) -> HandDriven:
    """Half of its runs are running, half are claimed."""
    engine = claimed(number)
    engine.parts.timer._slots = math.ceil(number / 2)
    engine.start()
    engine.expire()
    return engine


def forgetful(number: int) -> HandDriven:
    engine = started(number)
    engine.memory.forget(engine.memory.entries())
    return engine


ACTS = [
    pytest.param(due, lambda engine: engine.claim(), id="claim"),
    pytest.param(queued, lambda engine: engine.claim(), id="claim what is queued"),
    pytest.param(claimed, lambda engine: engine.start(), id="start"),
    pytest.param(counted, lambda engine: engine.start(), id="start what is counted"),
    pytest.param(executed, lambda engine: engine.finish(), id="finish"),
    pytest.param(busy, lambda engine: engine.start(), id="refuse what is busy"),
    pytest.param(late, lambda engine: engine.start(), id="refuse what is late"),
    pytest.param(claimed, lambda engine: give_back(DATABASE, engine.held), id="give back"),
    pytest.param(gone, lambda engine: HandDriven().recovery.reap(), id="reap"),
    pytest.param(forgetful, lambda engine: engine.audit.requeue_unknown(), id="audit"),
    pytest.param(
        started, lambda engine: stop_instance(DATABASE, engine.lease.instance_id, engine.now), id="stop"
    ),
]


@pytest.mark.parametrize(("prepare", "act"), ACTS)
def test_a_batch_takes_as_many_queries_as_a_single_run(prepare, act):
    made = {size: _queries(prepare(size), act) for size in SIZES}
    others = {size: sum(not _is_insert(sql) for sql in sqls) for size, sqls in made.items()}
    assert len(set(others.values())) == 1, others
    assert {size: sum(map(_is_insert, sqls)) for size, sqls in made.items()} == {
        size: _fewest_inserts(sqls, size) for size, sqls in made.items()
    }


def _queries(engine: HandDriven, act: Callable[[HandDriven], Any]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert act(engine)
    return [query["sql"] for query in captured]


def _is_insert(sql: str) -> bool:
    return sql.startswith("INSERT") and "gocron_instance" not in sql


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
