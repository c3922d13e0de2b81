"""Random histories of one job on a simulated clock and database, against the automaton that says what is right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_gocron import Every, clock
from django_gocron.engine import database
from django_gocron.models import Instance, Job, Run
from tests.faults.automaton import Automaton, Row
from tests.faults.table import Note
from tests.handdriven import REAL_TRANSACTIONS, HandDriven, make_job, plan_at, runs_of

pytestmark = [REAL_TRANSACTIONS, pytest.mark.only_on("sqlite")]

START = datetime(2027, 5, 1, 12, tzinfo=UTC)
TICK = timedelta(minutes=1)

NUMBER = 10_000 if os.environ.get("GOCRON_TEST_NIGHTLY") == "1" else 500

ACTS = st.one_of(
    st.tuples(st.just("look at each tick"), st.integers(1, 2)),
    st.tuples(st.just("look after"), st.integers(2, 12)),
    st.tuples(st.sampled_from(["hold", "release", "pause", "resume"]), st.just(0)),
)


class Real:
    """The engine, on SQLite, whose clock is the host's: both are set by hand."""

    def __init__(self, *, misfire: str, overlap: str) -> None:
        self.now = START
        with self.clocks():
            self.job = make_job(
                schedule=Every(TICK), misfire=misfire, overlap=overlap, misfire_grace=timedelta(seconds=30)
            )
            plan_at(self.job, START + TICK)
            self.engine = HandDriven(workers=200, ahead=timedelta(0)).go_to(START)
        self.holds = False

    @contextmanager
    def clocks(self) -> Iterator[None]:
        with patch.object(clock, "host_now", lambda: self.now), patch.object(database, "SQLITE_PAUSE", 0.0):
            yield

    def look(self) -> None:
        self.engine.lease.renew()
        self._turn()
        while self.engine.held and not self.holds:
            self._turn()

    def _turn(self) -> None:
        self.engine.claim()
        self.engine.start()
        if not self.holds:
            self.engine.execute()
            self.engine.finish()

    def pass_time(self, ticks: int) -> None:
        self.now += ticks * TICK
        self.engine.go_to(self.now)

    def hold(self) -> None:
        self.holds = (self.job.misfire, self.job.overlap) != ("run_all", "skip")

    def release(self) -> None:
        self.holds = False
        self.engine.execute()
        self.engine.finish()

    def pause(self) -> None:
        self.job.pause()

    def resume(self) -> None:
        self.job.resume()

    @property
    def rows(self) -> list[Row]:
        return [
            (
                (run.scheduled_for - START) // TICK,
                f"{run.status}({run.reason})" if run.reason else run.status,
                run.count,
            )
            for run in runs_of(self.job)
        ]


def act(one: Automaton | Real, name: str, ticks: int) -> None:
    match name:
        case "look at each tick":
            for _ in range(ticks):
                one.pass_time(1)
                one.look()
        case "look after":
            one.pass_time(ticks)
            one.look()
        case _:
            getattr(one, name)()


@pytest.mark.timeout(3600)
def test_no_history_of_misfires_overlaps_and_pauses_diverges_from_the_automaton(note: Note):
    tried: list[int] = []

    @settings(max_examples=NUMBER, suppress_health_check=list(HealthCheck), database=None)
    @given(
        misfire=st.sampled_from(["run_once", "run_all", "skip"]),
        overlap=st.sampled_from(["skip", "allow"]),
        history=st.lists(ACTS, min_size=1, max_size=6),
    )
    def compare(misfire: str, overlap: str, history: list[tuple[str, int]]) -> None:
        right = Automaton(misfire=misfire, overlap=overlap)
        for model in (Run, Job, Instance):
            model.objects.all().delete()
        real = Real(misfire=misfire, overlap=overlap)
        with real.clocks():
            for name, ticks in history:
                for one in (right, real):
                    act(one, name, ticks)
                assert real.rows == sorted(right.rows), name
        tried.append(len(history))

    compare()
    note("FI-45", f"no divergence in {NUMBER} histories", f"none in {len(tried)}, {sum(tried)} acts")


def test_the_automaton_itself_says_what_the_words_say():
    once: Any = Automaton(misfire="run_once", overlap="skip")
    for name, ticks in [("look at each tick", 1), ("hold", 0), ("look after", 4), ("look at each tick", 1)]:
        act(once, name, ticks)
    act(once, "release", 0)
    assert once.rows == [
        (1, "succeeded", 1),
        (2, "coalesced", 3),
        (5, "succeeded", 1),
        (6, "skipped(overlap)", 1),
    ]
