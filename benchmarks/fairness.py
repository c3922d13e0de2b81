"""How two schedulers share equal work: ``python -m benchmarks.fairness --database postgresql``.

Two processes, and so many jobs that are due every second, all at the same instants. Prints the share of each process,
how late runs began, and what did not run. Neither share should be below 30 %.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from statistics import quantiles
from time import sleep

from benchmarks.engine import DATABASES, database

INSTANCE = (sys.executable, "-m", "tests.concurrency.instance")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", choices=DATABASES, default="postgresql")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    os.environ["GOCRON_TEST_DATABASE"] = options.database
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    with database():
        _make_jobs(options.jobs)
        _run_two(options.seconds)
        print(f"fairness  {options.database:<11} {_report()}")


def _make_jobs(number: int) -> None:
    from django_gocron import Every, registry
    from django_gocron.models import Job
    from tests.concurrency.tasks import note_run

    task = registry.register(note_run).name
    Job.objects.bulk_create(
        [Job(name=f"job {i}", task=task, schedule=Every(seconds=1)) for i in range(number)]
    )


def _run_two(seconds: int) -> None:
    processes = [
        subprocess.Popen([*INSTANCE, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    sleep(seconds)
    for process in processes:
        process.communicate()


def _report() -> str:
    from django_gocron.models import Run

    ran = Counter(Run.objects.filter(status="succeeded").values_list("instance__name", flat=True))
    other = Counter(Run.objects.exclude(status="succeeded").values_list("status", "reason"))
    begun = Run.objects.filter(started_at__isnull=False).values_list("started_at", "available_at")
    late = quantiles([(started - due).total_seconds() for started, due in begun if started and due], n=100)
    shares = ", ".join(f"{name} {number / ran.total():.0%}" for name, number in sorted(ran.items()))
    return f"{ran.total()} runs: {shares}; began late by p50 {late[49]:.3f} s, p99 {late[98]:.3f} s; else {dict(other)}"


if __name__ == "__main__":
    main()
