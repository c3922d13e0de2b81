"""Lockers, electors and modes, on several processes that die and whose servers do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.cache import cache

from django_gocron import Every
from django_gocron.lockers.base import Lock
from django_gocron.lockers.cache import CacheLocker
from django_gocron.models import Instance as Row
from django_gocron.models import Job, Run
from tests.contracts.caches import caching, django_redis, private_redis
from tests.faults import tasks
from tests.faults.checker import BUSY_MACHINE, assert_invariants
from tests.faults.conftest import NIGHTLY
from tests.faults.fleet import Fleet, Instance
from tests.faults.table import Note
from tests.faults.test_death import CALM, stop
from tests.faults.trace import wait_until
from tests.handdriven import REAL_TRANSACTIONS, make_job, runs_of
from tests.services.private import PrivateServer

pytestmark = [REAL_TRANSACTIONS, pytest.mark.needs("redis")]

TTL = 2
DATABASE_ELECTOR = {"BACKEND": "django_gocron.electors.database.DatabaseElector", "OPTIONS": {"ttl": TTL}}
CACHE_ELECTOR = {"BACKEND": "django_gocron.electors.cache.CacheElector", "OPTIONS": {"ttl": TTL}}
REDIS_LOCKER = {"BACKEND": "django_gocron.lockers.cache.CacheLocker", "OPTIONS": {"ttl": TTL}}
TABLE_LOCKER = {"BACKEND": "django_gocron.lockers.database.DatabaseLocker", "OPTIONS": {"ttl": TTL}}

TICK = timedelta(milliseconds=50)
TICKS = 1000 if NIGHTLY else 200


@pytest.fixture
def redis() -> Iterator[PrivateServer]:
    with private_redis() as server:
        yield server


def url(redis: PrivateServer) -> str:
    return f"redis://127.0.0.1:{redis.port}"


def start_three(fleet: Fleet, redis: PrivateServer, **gocron: Any) -> list[Instance]:
    names = ("first", "second", "third")
    instances = [fleet.start(name, calm=CALM, redis=url(redis), gocron=gocron) for name in names]
    return [instance.wait_until_started() for instance in instances]


def begun(fleet: Fleet, *jobs: Job) -> list[dict[str, Any]]:
    names = {job.name for job in jobs}
    return [line for line in fleet.trace.lines(kind="begin") if line["name"] in names]


def wait_for_ticks(fleet: Fleet, number: int, *jobs: Job) -> None:
    """Until each of the jobs has so many rows more."""
    for job in jobs:
        before = job.runs.count()
        wait_until(
            lambda job=job, before=before: job.runs.count() >= before + number,
            lambda job=job: runs_of(job)[-5:],
        )


# gocron's mixed deployment


def test_in_a_mixed_deployment_the_leader_runs_what_is_shared_and_every_instance_its_own(
    fleet: Fleet, redis: PrivateServer, note: Note
):
    gocron = {
        "ELECTOR": DATABASE_ELECTOR,
        "LOCKERS": {"default": REDIS_LOCKER, "own": TABLE_LOCKER},
    }
    every = {"task": tasks.note, "schedule": Every(seconds=0.2)}
    shared = [
        make_job("first job", **every),
        make_job("second job", **every),
        make_job("own", **every, locker="own"),
    ]
    local = make_job("local", **every, coordination="node_local")
    instances = start_three(fleet, redis, **gocron)
    for place, name in enumerate(("fourth", "fifth", "sixth")):
        wait_for_ticks(fleet, 5, *shared)
        instances[place].kill()
        fleet.start(name, calm=CALM, redis=url(redis), gocron=gocron).wait_until_started()
    wait_for_ticks(fleet, 5, *shared)
    evidence = stop(fleet)
    assert_invariants(evidence)
    assert not list(_out_of_term(fleet, begun(fleet, *shared)))
    assert _refused_for_locks() == set()
    scopes = _ticks_by_instance(local)
    assert scopes.keys() == {str(pk) for pk in Row.objects.values_list("pk", flat=True)}
    for ticks in scopes.values():
        assert all(later - tick == timedelta(milliseconds=200) for tick, later in pairwise(ticks))
    note(
        "mixed deployment",
        "shared ticks once, on the leader; local ones on all",
        f"{len(begun(fleet, *shared))} shared, {local.runs.count()} on {len(scopes)} instances",
    )


def _out_of_term(fleet: Fleet, lines: list[dict[str, Any]]) -> Iterator[str]:
    """Runs that began in a process that did not lead then, nor had until a moment before: what had been started, or
    was about to be, runs on."""
    terms: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for line in fleet.trace.lines():
        if line["kind"] == "leads":
            terms[line["pid"]].append((line["boottime"], float("inf")))
        elif line["kind"] == "leads no more":
            terms[line["pid"]][-1] = (terms[line["pid"]][-1][0], line["boottime"] + BUSY_MACHINE)
    for line in lines:
        if not any(start <= line["boottime"] <= end for start, end in terms[line["pid"]]):
            yield f"run {line['run']} of {line['name']} began at {line['boottime']}, out of {terms[line['pid']]}"


def _refused_for_locks() -> set[str]:
    """But for what a killed process had locked until its TTL was over."""
    refused = Run.objects.filter(reason__in=("lock_busy", "lock_error")).values_list(
        "reason", "error_message"
    )
    return {
        f"{reason}: {words}" for reason, words in refused if reason == "lock_error" or "held by" not in words
    }


def _ticks_by_instance(job: Job) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for run in runs_of(job):
        found[run.scope].extend(
            run.scheduled_for + number * job.schedule.interval for number in range(run.count)
        )  # type: ignore[union-attr]
    return found


# Ticks that every instance runs for itself


@pytest.mark.parametrize(
    "point", ["claim.after", "start.after", pytest.param("record.after", marks=pytest.mark.once)]
)
def test_what_a_killed_instance_had_claimed_for_itself_ends_and_the_others_go_on(
    fleet: Fleet, note: Note, point: str
):
    job = make_job("local", task=tasks.note, schedule=Every(seconds=0.2), coordination="node_local")
    survivor = fleet.start("survivor", calm=CALM).wait_until_started()
    victim = fleet.start("victim", calm=CALM, barriers=f"{point}@2=kill")
    victim.wait()
    own = str(Row.objects.get(name="victim").pk)
    wait_until(lambda: not job.runs.filter(scope=own).live().exists(), lambda: runs_of(job, scope=own))
    before = job.runs.count()
    wait_until(lambda: job.runs.count() >= before + 5)
    assert survivor.code is None
    assert_invariants(stop(fleet))
    ended = Counter(job.runs.filter(scope=own).values_list("status", "reason"))
    assert set(ended) <= {("succeeded", ""), ("lost", "instance_gone"), ("cancelled", "instance_gone")}
    assert (
        ended.keys() & {("lost", "instance_gone"), ("cancelled", "instance_gone")} or point == "record.after"
    )
    note(f"scoped runs, kill {point}", "ended by the reaper, without retry", str(dict(ended)))


# Every mode with every locker, with an elector and without

MODES: dict[str, dict[str, Any]] = {
    "plain": {"overlap": "allow"},
    "singleton skip": {"overlap": "skip"},
    "singleton queue": {"overlap": "queue"},
}
LIMITS: dict[str, dict[str, Any]] = {
    "no limit": {},
    "limit skip": {"CONCURRENCY_LIMIT": 2, "LIMIT_MODE": "reschedule"},
    "limit wait": {"CONCURRENCY_LIMIT": 2, "LIMIT_MODE": "wait"},
}
LOCKERS = {"": None, "redis": REDIS_LOCKER, "table": TABLE_LOCKER}


@pytest.mark.once
@pytest.mark.parametrize("elects", [True, False], ids=["elector", "no elector"])
@pytest.mark.parametrize("limit", LIMITS)
def test_in_every_mode_a_tick_has_one_run(
    fleet: Fleet, redis: PrivateServer, note: Note, limit: str, elects: bool
):
    gocron = LIMITS[limit] | {"LOCKERS": {alias: value for alias, value in LOCKERS.items() if value}}
    gocron |= {"ELECTOR": DATABASE_ELECTOR} if elects else {}
    modes = MODES if limit == "no limit" else {"plain": MODES["plain"]}
    jobs = [
        make_job(
            f"{mode}, {alias}", task=tasks.note, args=[0.02], schedule=Every(TICK), locker=alias, **values
        )
        for mode, values in modes.items()
        for alias in LOCKERS
    ]
    start_three(fleet, redis, **gocron)
    for job in jobs:
        wait_until(
            lambda job=job: _number_of_ticks(job) >= TICKS, lambda job=job: f"{job}: {_number_of_ticks(job)}"
        )
    evidence = stop(fleet)
    assert_invariants(evidence)
    started = len(begun(fleet, *jobs))
    assert started == len({(line["name"], line["tick"]) for line in begun(fleet, *jobs)})
    note(
        f"matrix, {limit}, {'elector' if elects else 'none'}",
        "one run a tick",
        f"{started} runs of {len(jobs)} jobs",
    )


def _number_of_ticks(job: Job) -> int:
    return sum(job.runs.values_list("count", flat=True))


# A locker's TTL


@pytest.mark.once
def test_a_job_longer_than_its_lock_keeps_it_and_frees_it_when_its_process_is_killed(
    fleet: Fleet, redis: PrivateServer, note: Note
):
    file = fleet.folder / "go on"
    job = make_job("long", task=tasks.wait_for, args=[str(file)], schedule=Every(seconds=1), locker="redis")
    gocron = {"LOCKERS": {"redis": REDIS_LOCKER}}
    holder = fleet.start("holder", calm=CALM, redis=url(redis), gocron=gocron)
    (began,) = fleet.trace.wait_for(kind="begin", job=job.pk)
    fleet.start("other", calm=CALM, redis=url(redis), gocron=gocron).wait_until_started()
    with caching(default=django_redis(url(redis))):
        locker, wanted = CacheLocker(ttl=TTL), Lock(key="long", holder="a script", token="script")
        refused = 0
        while fleet.trace.lines()[-1]["boottime"] - began["boottime"] < 3 * TTL:
            (refusal,) = locker.acquire_many([wanted])
            assert refusal is not None
            assert refusal.holder.startswith("holder, run ")
            refused += 1
            wait_for_ticks(fleet, 1, job)
        assert len(begun(fleet, job)) == 1
        holder.kill()
        wait_until(lambda: locker.acquire_many([wanted]) == [None], patience=TTL + 1 * BUSY_MACHINE)
        locker.release_many([wanted])
    file.touch()
    fleet.trace.wait_for(2, kind="begin", job=job.pk)
    assert_invariants(stop(fleet))
    note(
        "lock of a long job",
        "nobody else for three TTLs; free within one of a kill",
        f"refused {refused} times",
    )


# Redis forgets, is replaced, or is away


@pytest.mark.parametrize("fault", ["FI-13", "FI-14"])
def test_a_redis_that_forgets_its_locks_and_its_leader_doubles_nothing(
    fleet: Fleet, redis: PrivateServer, note: Note, fault: str
):
    """FI-14's promotion of a replica that lacks the key is a server that is killed, and an empty one in its place."""
    job = make_job("job", task=tasks.note, args=[0.3], schedule=Every(seconds=0.1), locker="redis")
    start_three(fleet, redis, ELECTOR=CACHE_ELECTOR, LOCKERS={"redis": REDIS_LOCKER})
    fleet.trace.wait_for(3, kind="begin", job=job.pk)
    for _ in range(3):
        if fault == "FI-13":
            with caching(default=django_redis(url(redis))):
                cache.clear()
        else:
            redis.stop()
            redis.start()
        number = len(begun(fleet, job))
        fleet.trace.wait_for(number + 3, kind="begin", job=job.pk)
    evidence = stop(fleet)
    assert_invariants(evidence)
    leaders = len(fleet.trace.lines(kind="leads"))
    note(fault, "0 duplicates; a leader again at once", f"{len(begun(fleet, job))} runs, {leaders} terms")


@pytest.mark.parametrize("on_lock_error", ["skip", "run"])
def test_while_redis_is_away_ticks_are_skipped_or_run_under_the_ledgers_lock(
    fleet: Fleet, redis: PrivateServer, note: Note, on_lock_error: str
):
    """FI-15's five minutes are as long as twenty ticks take."""
    values: dict[str, Any] = {"task": tasks.note, "schedule": Every(seconds=0.2)}
    job = make_job("job", locker="redis", on_lock_error=on_lock_error, **values)
    other = make_job("other", **values)
    start_three(fleet, redis, LOCKERS={"redis": REDIS_LOCKER})
    fleet.trace.wait_for(3, kind="begin", job=job.pk)
    redis.stop()
    before = len(begun(fleet, job))
    wait_for_ticks(fleet, 20, job, other)
    during = len(begun(fleet, job)) - before
    redis.start()
    number = len(begun(fleet, job))
    fleet.trace.wait_for(number + 3, kind="begin", job=job.pk)
    evidence = stop(fleet)
    assert_invariants(evidence, bystanders=[other])
    errors = job.runs.filter(reason="lock_error")
    if on_lock_error == "skip":
        assert errors.count() >= 10
        assert all("Error" in run.error_message or "answered" in run.error_message for run in errors)
    else:
        assert not errors.exists()
        assert during >= 10
    note(
        f"FI-15 {on_lock_error}",
        "lock_error rows, or the ledger's lock alone",
        f"{errors.count()} rows, {during} ran",
    )


# Two leaders


@pytest.mark.once
def test_two_leaders_run_no_tick_twice(fleet: Fleet, redis: PrivateServer, note: Note):
    """FI-36's hour is as long as 200 ticks take."""
    wrong = {"BACKEND": "tests.faults.electors.EverybodyLeads"}
    jobs = [
        make_job(f"job {n}", task=tasks.note, schedule=Every(TICK), overlap=overlap)
        for n, overlap in enumerate(("skip", "queue", "allow"))
    ]
    start_three(fleet, redis, ELECTOR=wrong)
    for job in jobs:
        wait_until(lambda job=job: _number_of_ticks(job) >= 200)
    assert len(fleet.trace.lines(kind="leads")) == 3
    assert_invariants(stop(fleet))
    note("FI-36", "0 double runs", f"{len(begun(fleet, *jobs))} runs, 3 leaders")
