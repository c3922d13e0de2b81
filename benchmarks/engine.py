"""How quick the engine is: ``python -m benchmarks.engine --database postgresql``.

One process, ten workers unless told, a task that does nothing, and a database made for the occasion on the server that
the tests use:

    burst      5,000 jobs due at the same instant: runs a second until the last result is written, and what a run
               takes of this process's time and of queries (these depend less on what else the machine does)
    lateness   one job a second: how long after its instant user code begins
    idle       1,000 jobs scheduled daily: share of a core, and queries a second
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django_gocron import events
    from django_gocron.schedules import Schedule

DATABASES = ("sqlite", "postgresql", "mariadb")
MEASUREMENTS = ("burst", "lateness", "idle")
SWITCH_INTERVAL = 0.0005  # as runscheduler sets it
HEAD_START = timedelta(seconds=3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measurements", nargs="*", default=[], metavar="WHAT", help=", ".join(MEASUREMENTS))
    parser.add_argument("--database", choices=DATABASES, default="sqlite")
    parser.add_argument("--jobs", type=int, default=5000, help="of the burst")
    parser.add_argument("--workers", type=int, default=10, help="of the burst")
    parser.add_argument(
        "--seconds", type=int, default=60, help="for which lateness and idleness are measured"
    )
    options = parser.parse_args()
    os.environ["GOCRON_TEST_DATABASE"] = options.database
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    sys.setswitchinterval(SWITCH_INTERVAL)
    logging.getLogger("django_gocron").setLevel(logging.WARNING)
    with database():
        for name in options.measurements or MEASUREMENTS:
            print(f"{name:<9} {options.database:<11} {_measure(name, options)}", flush=True)


def _measure(name: str, options: argparse.Namespace) -> str:
    from django_gocron.schedules import Daily, Every

    match name:
        case "burst":
            _make_jobs(options.jobs, Every(hours=24))
            return _burst(options.jobs, options.workers)
        case "lateness":
            _make_jobs(1, Every(seconds=1))
            return _lateness(options.seconds)
        case "idle":
            _make_jobs(1000, Daily(at="00:00"))
            return _idle(options.seconds)
        case _:
            raise SystemExit(f"{name!r} is not one of {', '.join(MEASUREMENTS)}.")


@contextmanager
def database() -> Iterator[None]:
    import django
    from django.db import connection

    django.setup()
    name = connection.creation.create_test_db(verbosity=0)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def _do_nothing() -> None: ...


def _make_jobs(number: int, schedule: Schedule) -> None:
    from django_gocron import registry
    from django_gocron.models import Instance, Job, Run

    for model in (Run, Instance, Job):
        model.objects.all().delete()
    task = registry.register(_do_nothing).name
    Job.objects.bulk_create([Job(name=f"job {i}", task=task, schedule=schedule) for i in range(number)])


def _burst(number: int, workers: int) -> str:
    from django_gocron import events
    from django_gocron.engine.scheduler import Scheduler
    from django_gocron.models import JobState, Run

    at = datetime.now(UTC) + HEAD_START
    JobState.objects.update(next_tick_at=at, next_run_at=at)
    cpu = process_time()
    with _Queries() as queries, _Count(events.RunSucceeded) as succeeded, Scheduler(workers=workers):
        succeeded.wait_for(number)
        took = (datetime.now(UTC) - at).total_seconds()
    assert Run.objects.count() == number
    share = f"{(process_time() - cpu) / number * 1e6:.0f} us and {queries.count() / number:.2f} queries a run"
    return f"{number} runs in {took:.2f} s: {number / took:,.0f} runs/s, {share}"


def _lateness(seconds: int) -> str:
    from django_gocron import events
    from django_gocron.engine.scheduler import Scheduler

    with _Count(events.RunStarted) as started, Scheduler():
        started.wait_for(seconds)
    lags = [event.lag.total_seconds() * 1000 for event in started.events[2:]]
    cuts = quantiles(lags, n=100)
    return f"{len(lags)} runs: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms, worst {max(lags):.2f} ms"


def _idle(seconds: int) -> str:
    from django_gocron.engine.scheduler import Scheduler

    with _Queries() as queries, Scheduler():
        sleep(5)
        before, cpu, began = queries.count(), process_time(), perf_counter()
        sleep(seconds)
        took = perf_counter() - began
        rate, share = (queries.count() - before) / took, (process_time() - cpu) / took
    return f"{share:.2%} of a core, {rate:.1f} queries/s"


class _Count:
    """Counts events of one kind."""

    def __init__(self, kind: type[events.Event]) -> None:
        self.events: list[Any] = []
        self._kind = kind
        self._changed = threading.Condition()

    def __enter__(self) -> _Count:
        from django_gocron import events

        events.subscribe(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        from django_gocron import events

        events.unsubscribe(self._note)

    def wait_for(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self.events) >= number)

    def _note(self, event: events.Event) -> None:
        if isinstance(event, self._kind):
            with self._changed:
                self.events.append(event)
                self._changed.notify_all()


class _Queries:
    """Counts the queries of every connection that is opened meanwhile, whichever thread opens it."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()

    def __enter__(self) -> _Queries:
        from django.db.backends.signals import connection_created

        connection_created.connect(self._watch)
        return self

    def __exit__(self, *error: object) -> None:
        from django.db.backends.signals import connection_created

        connection_created.disconnect(self._watch)

    def count(self) -> int:
        return self._made.total()

    def _watch(self, connection: Any, **kwargs: Any) -> None:
        connection.execute_wrappers.append(self._note)

    def _note(
        self, execute: Callable[..., Any], sql: str, params: Sequence[Any], many: bool, context: Any
    ) -> Any:
        self._made[sql] += 1
        return execute(sql, params, many, context)


if __name__ == "__main__":
    main()
