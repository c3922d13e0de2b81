"""Every named point of the engine's code, with everything that may happen to a process there.

All cases of one kind of misfortune go on at the same time, on one database: a case is an instance that meets it, and a
job with a label that this instance serves, and the survivor, which serves every label and has to make good what the
other leaves. Afterwards the invariants hold for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest

from django_gocron import Every
from django_gocron.clock import boottime
from django_gocron.engine.barriers import POINTS
from django_gocron.models import Instance as Row
from django_gocron.models import Job
from django_gocron.models.now import database_now
from tests.faults import tasks
from tests.faults.checker import Evidence, assert_invariants
from tests.faults.fleet import Fleet, Instance
from tests.faults.instance import LEASE
from tests.faults.table import Note
from tests.faults.trace import wait_until
from tests.handdriven import DATABASE, REAL_TRANSACTIONS, make_job

pytestmark = [REAL_TRANSACTIONS, pytest.mark.xdist_group("many connections")]

ELECTED = tuple(point for point in POINTS if point.startswith("elect"))
"""Reached where there is an elector: then followers reach few of the others."""

SPARED = {("begin.before", "raise"), ("begin.after", "raise")}
"""Nothing that the engine does there can raise: it compares, and moves an entry in memory."""

WITHIN_A_TRANSACTION = tuple(
    point for point in POINTS if point.endswith(".inside") or point.startswith("record")
)
"""Who freezes there on SQLite keeps its one write lock, and nothing can take that away: tested by itself."""

TEST_DATABASE = os.environ.get("GOCRON_TEST_DATABASE", "sqlite")

NOTHING_ENDS_IT = {"sqlite": WITHIN_A_TRANSACTION, "mariadb": ("resign.inside",)}
"""Where a process that is frozen keeps its locks until it thaws."""

WAVES = 4
"""A database takes a hundred connections, and an instance has half a dozen."""

CALM = 1.0
"""Seconds of good renewals before an instance reaps: less than usual, so that a case is over in seconds."""

SUCCESSES = 2
"""Of a case's job, after the misfortune, before its schedule counts as kept up again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    point: str
    action: str
    job: Job
    victim: Instance
    fleet: Fleet

    @property
    def has_started(self) -> bool:
        return bool(self.fleet.trace.lines(kind="started", pid=self.victim.pid))

    @property
    def has_happened(self) -> bool:
        return bool(self.fleet.trace.lines(kind="reach", action=self.action, pid=self.victim.pid))

    @property
    def is_recovered(self) -> bool:
        """Whether nothing is left of the identity under which the victim met its misfortune."""
        return not Row.objects.unreaped().filter(name=self.victim.name).exists()

    @property
    def ends(self) -> int:
        return len(self.fleet.trace.lines(kind="end", job=self.job.pk))

    def provoke(self) -> None:
        """What it takes for an instance to come to that point, besides the schedule."""
        match self.point.partition(".")[0]:
            case "take":
                self.job.run_now()
            case "reap":
                past = database_now(DATABASE) - timedelta(minutes=1)
                Row.objects.create(
                    name="long gone", started_at=past, heartbeat_at=past, lease_expires_at=past
                )
            case "resign":
                self.victim.ask_to_stop()


def is_tried(point: str, action: str) -> bool:
    holds_everybody_up = action == "stop" and point in NOTHING_ENDS_IT.get(TEST_DATABASE, ())
    return not holds_everybody_up and (point, action) not in SPARED


def begin(fleet: Fleet, action: str, points: Sequence[str]) -> list[Case]:
    labels = [f"{point} {action}" for point in points]
    fleet.start("survivor", labels=[*labels, "bystander"], calm=CALM, workers=12).wait_until_started()
    cases = []
    for point, label in zip(points, labels, strict=False):
        job = make_job(label, task=tasks.fence, schedule=Every(seconds=1), label=label)
        victim = fleet.start(label, labels=[label], barriers=f"{point}={action}", calm=CALM)
        cases.append(Case(point=point, action=action, job=job, victim=victim, fleet=fleet))
    return cases


def wait_for_all(cases: Sequence[Case], condition: Callable[[Case], object], what: str) -> None:
    def missing() -> list[str]:
        return [case.point for case in cases if not condition(case)]

    wait_until(lambda: not missing(), lambda: f"{what} at {missing()}")


def let_it_happen(cases: Sequence[Case]) -> None:
    def has_happened(case: Case) -> bool:
        if not case.has_happened and case.has_started:
            case.provoke()
        return case.has_happened

    wait_for_all(cases, has_happened, "the misfortune")


def wait_for_steady_state(cases: Sequence[Case]) -> None:
    before = {case.point: case.ends for case in cases}
    wait_for_all(cases, lambda case: case.ends >= before[case.point] + SUCCESSES, "more runs")


def stop_all(fleet: Fleet) -> dict[str, int]:
    living = [instance for instance in fleet.instances if not instance.has_ended]
    for instance in living:
        instance.ask_to_stop()
    return {instance.name: instance.wait() for instance in living}


@pytest.mark.parametrize("wave", range(WAVES))
@pytest.mark.parametrize(
    "action",
    ["kill", pytest.param("raise", marks=pytest.mark.once), pytest.param("stop", marks=pytest.mark.once)],
)
def test_whatever_happens_at_any_point_the_invariants_hold(fleet: Fleet, note: Note, action: str, wave: int):
    points = [point for point in POINTS[wave::WAVES] if is_tried(point, action) and point not in ELECTED]
    bystander = make_job("bystander", task=tasks.note, schedule=Every(seconds=1), label="bystander")
    cases = begin(fleet, action, points)
    let_it_happen(cases)
    if action != "raise":
        wait_for_all(cases, lambda case: case.is_recovered, "recovery")
    for case in cases:
        case.victim.thaw()
    wait_for_steady_state(cases)
    codes = stop_all(fleet)
    assert not {name: code for name, code in codes.items() if code and not name.startswith("resign")}
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence, bystanders=[bystander])
    executed = len(evidence.said("begin"))
    seen = f"hold; {executed} runs, {len(evidence.runs)} rows"
    note(f"FI-44 {action} {wave + 1}", f"I1 to I6 at {len(cases)} points", seen)


@pytest.mark.parametrize("point", ELECTED)
@pytest.mark.parametrize(
    "action",
    ["kill", pytest.param("raise", marks=pytest.mark.once), pytest.param("stop", marks=pytest.mark.once)],
)
def test_whatever_happens_around_an_election_another_leads(fleet: Fleet, note: Note, action: str, point: str):
    elector = {"BACKEND": "django_gocron.electors.database.DatabaseElector", "OPTIONS": {"ttl": 2}}
    job = make_job("job", task=tasks.fence, schedule=Every(seconds=1))
    gocron = {"ELECTOR": elector}
    victim = fleet.start("victim", barriers=f"{point}={action}", calm=CALM, gocron=gocron)
    fleet.trace.wait_for(kind="reach", action=action, pid=victim.pid)
    fleet.start("survivor", calm=CALM, gocron=gocron).wait_until_started()
    fleet.trace.wait_for(SUCCESSES, kind="end", job=job.pk)
    victim.thaw()
    ends = len(fleet.trace.lines(kind="end", job=job.pk))
    fleet.trace.wait_for(ends + SUCCESSES, kind="end", job=job.pk)
    stop_all(fleet)
    evidence = Evidence.gather(fleet.trace)
    assert_invariants(evidence)
    note(f"FI-44 {action} {point}", "another leads, then I1 to I6", f"hold; {len(evidence.runs)} rows")


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize(
    "point",
    [
        pytest.param(point, marks=[] if point == "record.after" else [pytest.mark.nightly])
        for point in WITHIN_A_TRANSACTION
    ],
)
def test_on_sqlite_who_freezes_within_a_transaction_holds_everybody_up_until_it_thaws(
    fleet: Fleet, note: Note, point: str
):
    cases = begin(fleet, "stop", [point])
    let_it_happen(cases)
    frozen_at = fleet.trace.lines(kind="reach", action="stop")[0]["boottime"]
    wait_until(lambda: boottime() > frozen_at + LEASE["LEASE"] + 1)
    cases[0].victim.thaw()
    wait_for_steady_state(cases)
    stop_all(fleet)
    assert_invariants(Evidence.gather(fleet.trace))
    note(f"FI-44 stop {point}", "SQLite: all wait for the thaw, then I1 to I6", "hold")
