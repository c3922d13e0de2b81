"""The watch over an instance: memory, file descriptors, threads, connections and rows, at twenty moments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.faults.fleet import Instance  # first: it sets Django up

# isort: split
from django.db import connection
from django.db.models import Sum

from django_gocron import Every
from django_gocron.models import JobState, Run
from tests.faults import tasks
from tests.faults.programs import fleet_on_a_fresh_database, print_table
from tests.faults.table import Row
from tests.faults.trace import wait_until
from tests.handdriven import make_job

JOBS, INTERVAL = 20, 0.1
"""Two hundred ticks a second."""

LOOKS = 20
WARM_UP = 5
"""Looks, and those of them before which everything has been used once, and the history has its full length."""

MOST_GROWTH = 1.05
"""Of memory, after the warm-up."""

KEPT = 200
"""Runs of each job that are kept, so that pruning is part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    ticks: int
    memory: int
    files: int
    threads: int
    connections: int
    rows: int

    @classmethod
    def at(cls, instance: Instance) -> Look:
        process = Path(f"/proc/{instance.pid}")
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
        return cls(
            ticks=ticks(),
            memory=int(status["VmRSS"].split()[0]),
            files=len(list((process / "fd").iterdir())),
            threads=int(status["Threads"]),
            connections=connections(),
            rows=Run.objects.count(),
        )


def ticks() -> int:
    return JobState.objects.aggregate(sum=Sum("run_count"))["sum"] or 0


def connections() -> int:
    """To this database, of everybody."""
    question = {
        "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()",
        "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = database()",
    }.get(connection.vendor)
    if question is None:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(question)
        return int(cursor.fetchone()[0])


def watch(number: int) -> int:
    """Answers an exit code: 1 where something grows."""
    looks: list[Look] = []
    with fleet_on_a_fresh_database() as fleet:
        for place in range(JOBS):
            make_job(
                f"job {place}", task=tasks.leave_no_trace, schedule=Every(seconds=INTERVAL), keep_runs=KEPT
            )
        only = fleet.start("only", traces_points=False).wait_until_started()
        for place in range(1, LOOKS + 1):
            due = number * place // LOOKS
            wait_until(
                lambda due=due: ticks() >= due, lambda: only.said[-2000:], patience=max(60, number / 10)
            )  # type: ignore[misc]
            looks.append(Look.at(only))
        only.stop()
    print_table([("ticks", "RSS kB", "files", "threads", "connections", "rows"), *map(as_row, looks)])
    wrong = growing(looks[WARM_UP:])
    print("\n".join(wrong) or "flat")
    return 1 if wrong else 0


def as_row(look: Look) -> Row:
    facts = (look.ticks, look.memory, look.files, look.threads, look.connections, look.rows)
    return tuple(map(str, facts))


def growing(looks: list[Look]) -> list[str]:
    first, last = looks[0], looks[-1]
    wrong = [] if last.memory <= MOST_GROWTH * first.memory else [f"RSS {first.memory} -> {last.memory} kB"]
    for name in ("files", "threads", "connections"):
        before, after = getattr(first, name), max(getattr(look, name) for look in looks)
        if after > before + 1:
            wrong.append(f"{name} {before} -> {after}")
    return wrong
