from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import connection

from django_gocron.engine import barriers
from django_gocron.engine.barriers import POINTS, BarrierError, Plan
from django_gocron.engine.database import PASSING
from tests.faults.trace import Trace
from tests.handdriven import REAL_TRANSACTIONS

ENGINE = Path(barriers.__file__).parent


LOCAL_CLAIMS = ("claim.before", "claim.after")
"""Ticks that every instance claims for itself are claimed elsewhere, and recorded by the same code."""


def test_every_point_stands_in_the_engine_once():
    found = Counter(
        point
        for file in ENGINE.glob("*.py")
        for point in re.findall(r'barriers\.reach\("([a-z.]+)"', file.read_text())
    )
    assert found == Counter(POINTS) + Counter(LOCAL_CLAIMS)


def test_without_a_plan_a_point_does_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(barriers, "_plan", None)
    barriers.reach("claim.before")


def test_an_action_happens_at_its_occurrence_alone():
    plan = Plan.read("claim.before@2=raise")
    plan.reach("claim.before", ())
    with pytest.raises(BarrierError):
        plan.reach("claim.before", ())
    plan.reach("claim.before", ())


def test_points_have_plans_of_their_own():
    plan = Plan.read("claim.before@2=kill, start.after=raise")
    plan.reach("claim.before", ())
    with pytest.raises(BarrierError):
        plan.reach("start.after", ())


@pytest.mark.parametrize(
    "text",
    [
        "claim.ahead=kill",
        "claim.before",
        "claim.before=explode",
        "claim.before=wait",
        "claim.before=kill:now",
        "claim.before@x=kill",
    ],
)
def test_a_plan_that_would_never_happen_is_refused(text: str):
    with pytest.raises(ValueError, match=r"no point=action. Points: claim.before, .* Actions: kill"):
        Plan.read(text)


def test_what_is_reached_is_written_with_the_runs_in_hand(tmp_path: Path):
    plan = Plan.read("", str(tmp_path / "trace"))
    plan.reach("start.after", [SimpleNamespace(run_id=7), 8])
    (line,) = Trace(tmp_path / "trace").lines()
    assert (line["point"], line["occurrence"], line["runs"]) == ("start.after", 1, [7, 8])


def test_a_wait_lasts_until_there_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "go on"
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            file.touch()

    monkeypatch.setattr(barriers.clock, "pause", pause)
    Plan.read(f"claim.before=wait:{file}").reach("claim.before", ())
    assert len(waited) == 3


@REAL_TRANSACTIONS
@pytest.mark.only_on("postgresql", "mariadb")
def test_a_disconnection_makes_the_next_question_to_the_database_fail():
    connection.ensure_connection()
    Plan.read("claim.before=disconnect").reach("claim.before", ())
    with pytest.raises(PASSING):
        connection.cursor().execute("SELECT 1")
    connection.close()
