"""The database goes, or cannot be reached, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from django_gocron import Every
from django_gocron.clock import boottime
from django_gocron.models import Instance, Run
from tests.faults import tasks
from tests.faults.checker import BUSY_MACHINE, Evidence, assert_invariants
from tests.faults.fleet import Fleet
from tests.faults.instance import LEASE
from tests.faults.servers import Wire, private_postgresql
from tests.faults.table import Note
from tests.faults.trace import wait_until
from tests.handdriven import REAL_TRANSACTIONS, make_job, runs_of

pytestmark = [REAL_TRANSACTIONS]

BACK_SOON = 5.0 + 2 * BUSY_MACHINE
"""Seconds in which an instance works again: the longest wait between two attempts, and the attempt."""


@pytest.mark.only_on("postgresql")
def test_the_database_restarts_while_a_run_executes_and_nothing_is_lost(fleet: Fleet, note: Note):
    with private_postgresql() as server:
        file = fleet.folder / "go on"
        long = make_job("long", task=tasks.wait_for, schedule=Every(hours=1), args=[str(file)])
        job = make_job("job", task=tasks.note, schedule=Every(seconds=1))
        long.run_now()
        fleet.start(
            "only", database=server.address, gocron={"LEASE": 30, "HEARTBEAT": 1}
        ).wait_until_started()
        fleet.trace.wait_for(kind="begin", job=long.pk)
        seen = []
        for mode in ("fast", "immediate"):
            fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + 1, kind="end", job=job.pk)
            server.stop(mode)
            connection.close()
            fleet.trace.wait_for(1, kind="database lost")
            server.start()
            back_at = boottime()
            fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + 1, kind="end", job=job.pk)
            seen.append(f"{mode}: {boottime() - back_at:.1f} s")
            assert boottime() - back_at < BACK_SOON
        file.touch()
        wait_until(lambda: Run.objects.filter(job=long, status="succeeded").exists(), lambda: runs_of(long))
        assert fleet.instances[0].stop() == 0
        evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence)
    assert not [run for run in evidence.runs if run.status == "lost"]
    note("FI-09", f"back within {BACK_SOON:.0f} s; running jobs go on, no tick lost", ", ".join(seen))


@contextmanager
def limited_role() -> Iterator[str]:
    """A role that may have as many connections as an instance and a test need, and some more."""
    name = f"{connection.settings_dict['NAME']}_limited"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {name} LOGIN SUPERUSER CONNECTION LIMIT 12 PASSWORD 'limited'")
        cursor.execute(f"ALTER ROLE {name} NOSUPERUSER")
        cursor.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}")
        cursor.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}")
    try:
        yield name
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'")
            cursor.execute(f"DROP OWNED BY {name}")
            cursor.execute(f"DROP ROLE {name}")


def take_all_connections(role: str) -> list[psycopg.Connection[tuple[object, ...]]]:
    parameters = connection.get_connection_params()
    taken: list[psycopg.Connection[tuple[object, ...]]] = []
    address = {name: parameters[name] for name in ("dbname", "host", "port") if name in parameters}
    try:
        while True:
            taken.append(psycopg.connect(**address, user=role, password="limited"))
    except psycopg.OperationalError:
        return taken


@pytest.mark.only_on("postgresql")
def test_while_there_are_no_connections_left_nothing_is_taken_for_lost(fleet: Fleet, note: Note):
    job = make_job("job", task=tasks.note, schedule=Every(seconds=1))
    with limited_role() as role:
        database = {"USER": role, "PASSWORD": "limited"}
        only = fleet.start("only", database=database).wait_until_started()
        fleet.trace.wait_for(2, kind="end")
        taken = take_all_connections(role)
        fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + 2, kind="end")
        identity = Instance.objects.unreaped().get().pk
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
                " AND application_name = '' AND pid <> ALL(%s)",
                [role, [one.info.backend_pid for one in taken]],
            )
        taken += take_all_connections(role)
        fleet.trace.wait_for(kind="database lost")
        for one in taken:
            one.close()
        fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + 2, kind="end")
        assert Instance.objects.unreaped().get().pk == identity
        assert only.stop() == 0
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence, bystanders=[job])
    assert not [run for run in evidence.runs if run.status == "lost"]
    note(
        "FI-12",
        "engine keeps its connections; backs off without; no false lost",
        f"{len(taken)} taken; holds",
    )


@pytest.mark.only_on("postgresql", "mariadb")
def test_an_instance_cut_off_from_the_database_begins_nothing_and_another_takes_over(
    fleet: Fleet, note: Note
):
    file = fleet.folder / "go on"
    job = make_job("job", task=tasks.note, schedule=Every(seconds=0.5))
    long = make_job("long", task=tasks.wait_for, schedule=Every(hours=1), args=[str(file)])
    address = connection.settings_dict
    with Wire(address["HOST"], int(address["PORT"])) as wire:
        cut_off = fleet.start("cut off", database={"HOST": "127.0.0.1", "PORT": wire.port}, calm=1.0)
        fleet.trace.wait_for(kind="end", job=job.pk)
        long.run_now()
        fleet.trace.wait_for(kind="begin", job=long.pk)
        other = fleet.start("other", calm=1.0).wait_until_started()
        wire.cut()
        cut_at = boottime()
        wait_until(lambda: Run.objects.filter(job=long, status="lost").exists(), lambda: runs_of(long))
        wait_until(lambda: boottime() > cut_at + 2 * LEASE["LEASE"])
        mended_at = boottime()
        wire.mend()
        fleet.trace.wait_for(kind="lease lost", instance="cut off")
        file.touch()
        fleet.trace.wait_for(kind="refused", instance="cut off")
        fleet.trace.wait_for(len(fleet.trace.lines(kind="end")) + 2, kind="end", job=job.pk)
        assert (cut_off.stop(), other.stop()) == (0, 0)
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence, bystanders=[job])
    trusted_until = cut_at + LEASE["LEASE"] - 1
    begun = [line for line in evidence.said("begin") if line["pid"] == cut_off.pid]
    assert not [line for line in begun if trusted_until < line["boottime"] < mended_at]
    note(
        "FI-17",
        "begins nothing past its trust; another runs; new identity",
        f"holds, {len(evidence.runs)} rows",
    )
