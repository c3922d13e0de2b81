"""Somebody else's cron implementation in place of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules import (
    Cron,
    CronTimes,
    register_cron_implementation,
    set_cron_implementation,
)
from django_gocron.schedules.cron_implementation import DEFAULT, find_implementation
from tests.unit.schedules.moments import terms, utc

START = datetime(2026, 1, 1)  # noqa: DTZ001
HERE = "tests.unit.schedules.test_cron_implementations"


@dataclass(frozen=True)
class Sundial:
    """Reads "every <minutes>"; ``stuck`` answers with the moment it was asked about."""

    step: timedelta
    wildcard: bool = False
    stuck: bool = False

    def next(self, wall: datetime) -> datetime | None:
        return wall if self.stuck else START + ((wall - START) // self.step + 1) * self.step

    def previous(self, wall: datetime) -> datetime | None:
        return wall + self.step if self.stuck else START + (wall - START) // self.step * self.step


class Sundials:
    def parse(self, expression: str) -> CronTimes:
        word, minutes = expression.split()
        if word not in ("every", "each", "stuck"):
            raise ValueError(f"{word} is not a word of mine")
        return Sundial(timedelta(minutes=int(minutes)), wildcard=word == "each", stuck=word == "stuck")


class Never:
    wildcard = False

    def parse(self, _expression: str) -> CronTimes:
        return self

    def next(self, _wall: datetime) -> datetime | None:
        return None

    def previous(self, _wall: datetime) -> datetime | None:
        return None


SUNDIALS = Sundials()


@pytest.fixture(autouse=True)
def ours_again() -> Iterator[None]:
    yield
    set_cron_implementation(None)


def test_a_schedule_may_name_the_dotted_path_of_its_own() -> None:
    schedule = Cron("every 90", implementation=f"{HERE}.Sundials")
    assert schedule.next_after(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 01:30")
    assert schedule.latest_before(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 00:00")


def test_the_path_may_be_that_of_an_object() -> None:
    assert find_implementation(f"{HERE}.SUNDIALS") is SUNDIALS


def test_a_schedule_may_name_a_registered_one() -> None:
    register_cron_implementation("sundial", SUNDIALS)
    schedule = Cron("every 90", implementation="sundial")
    assert schedule.next_after(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 01:30")
    assert schedule.to_dict()["implementation"] == "sundial"


def test_a_name_registered_anew_is_read_anew() -> None:
    register_cron_implementation("changing", SUNDIALS)
    schedule = Cron("every 90", implementation="changing")
    register_cron_implementation("changing", Never())
    with pytest.raises(ScheduleError):
        schedule.next_after(utc("2026-01-05 00:10"), **terms())


def test_the_process_may_use_another_for_all_that_name_none() -> None:
    set_cron_implementation(SUNDIALS)
    schedule = Cron("every 90")
    assert schedule.next_after(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 01:30")
    ours = Cron("0 9 * * *", implementation=DEFAULT)
    assert ours.next_after(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 09:00")
    set_cron_implementation(None)
    assert Cron("0 9 * * *").describe() == "At 09:00 every day"


def test_the_process_may_name_another() -> None:
    set_cron_implementation(f"{HERE}.Sundials")
    assert Cron("every 5").next_after(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 00:15")


def test_prefix_and_aliases_are_ours_whoever_reads_the_rest() -> None:
    schedule = Cron("TZ=Asia/Kolkata every 60", implementation=f"{HERE}.Sundials")
    assert schedule.next_after(utc("2026-01-05 00:10"), **terms()) == utc("2026-01-05 00:30")
    with pytest.raises(ScheduleError, match=r"cannot be read: (0 is not a word of mine|too many)"):
        Cron("@daily", implementation=f"{HERE}.Sundials")


def test_its_fixed_times_obey_the_policies_of_gap_and_fold() -> None:
    schedule = Cron("every 30", implementation=f"{HERE}.Sundials")
    autumn = {"after": utc("2026-11-01 04:40"), **terms("America/New_York")}
    assert schedule.preview(3, **autumn) == [  # type: ignore[arg-type]
        utc("2026-11-01 05:00"),
        utc("2026-11-01 05:30"),
        utc("2026-11-01 07:00"),
    ]


def test_its_wildcard_schedules_follow_the_clock() -> None:
    schedule = Cron("each 30", implementation=f"{HERE}.Sundials")
    ticks = schedule.preview(3, after=utc("2026-11-01 05:10"), **terms("America/New_York"))
    assert ticks == [utc("2026-11-01 05:30"), utc("2026-11-01 06:00"), utc("2026-11-01 06:30")]


def test_its_ticks_are_counted_by_walking() -> None:
    schedule = Cron("every 30", implementation=f"{HERE}.Sundials")
    span = utc("2026-01-05 00:00"), utc("2026-01-12 00:00")
    assert schedule.count_between(*span, **terms()) == 7 * 48
    assert schedule.count_between(*span[::-1], **terms()) == 0


def test_a_long_span_of_its_ticks_is_estimated() -> None:
    schedule = Cron("every 1", implementation=f"{HERE}.Sundials")
    count = schedule.count_between(utc("2026-01-05 00:00"), utc("2036-01-05 00:00"), **terms())
    assert count == pytest.approx(3652 * 1440, rel=0.001)


def test_it_is_described_by_its_expression() -> None:
    assert Cron("every 30", implementation=f"{HERE}.Sundials").describe() == "every 30"


def test_one_that_never_answers_never_fires() -> None:
    with pytest.raises(ScheduleError, match="never runs") as refused:
        Cron("x y", implementation=f"{HERE}.Never")
    assert (refused.value.code, refused.value.field) == ("never_fires", "expression")


def test_one_that_does_not_advance_never_fires() -> None:
    with pytest.raises(ScheduleError) as refused:
        Cron("stuck 5", implementation=f"{HERE}.Sundials")
    assert refused.value.code == "never_fires"


def test_one_that_stops_answering_has_no_more_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Cron("every 7", implementation=f"{HERE}.Sundials")
    monkeypatch.setattr(Sundial, "next", lambda _self, wall: wall)
    monkeypatch.setattr(Sundial, "previous", lambda _self, wall: wall + timedelta(1))
    assert schedule.next_after(utc("2026-01-05 00:10"), **terms()) is None
    assert schedule.latest_before(utc("2026-01-05 00:10"), **terms()) is None


def test_its_refusal_is_ours() -> None:
    with pytest.raises(ScheduleError, match="never is not a word of mine") as refused:
        Cron("never 5", implementation=f"{HERE}.Sundials")
    assert (refused.value.code, refused.value.field) == ("unreadable", "expression")


@pytest.mark.parametrize(
    "name", ["nobody", "no.such.module", f"{HERE}.Nothing", f"{HERE}.START", "", ".", "os", 5]
)
def test_what_is_no_implementation_is_refused(name: object) -> None:
    with pytest.raises(ScheduleError, match="is not a cron implementation") as refused:
        Cron("* * * * *", implementation=name)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.field) == ("implementation_unknown", "implementation")


def test_an_expression_is_read_once() -> None:
    assert Cron("1 2 3 4 *").times is Cron("1 2 3 4 *", timezone="Europe/Berlin").times
