"""What tasks change of their process is put back, without pulling the rug from under those that execute beside."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from django_gocron.context import RunContext
from django_gocron.executors.listening import ahear, hear
from django_gocron.executors.surroundings import kept, look


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Iterator[Path]:
    """The working directory of the process."""
    home = tmp_path / "home"
    home.mkdir()
    with contextlib.chdir(home):
        yield home


@pytest.fixture
def away(tmp_path: Path) -> Path:
    away = tmp_path / "away"
    away.mkdir()
    return away


def a_run(number: int) -> RunContext:
    return RunContext(
        run_id=number,
        job_id=1,
        job_name="job",
        task="task",
        scheduled_for=datetime(2026, 1, 1, tzinfo=UTC),
        attempt=1,
        origin="schedule",
    )


def begin(number: int) -> ExitStack:
    """A run that executes until it is closed."""
    run = ExitStack()
    run.enter_context(kept(a_run(number)))
    return run


def test_what_is_as_it_was_is_not_told(caplog):
    before = look()
    begin(1).close()
    assert look() == before
    assert caplog.records == []


def test_what_a_run_has_changed_is_put_back_and_told(home, away, caplog):
    run = begin(1)
    os.chdir(away)
    run.close()
    assert Path.cwd() == home
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.name == "django_gocron"
    assert record.getMessage().startswith("Run 1 of job 'job'")
    assert f"has changed the working directory of the process to {str(away)!r}" in record.getMessage()


def test_what_the_program_changes_while_nothing_executes_stays(away, caplog):
    begin(1).close()
    os.chdir(away)
    begin(2).close()
    assert Path.cwd() == away
    assert caplog.records == []


def test_a_run_beside_is_let_out_first(home, away):
    careful, careless = begin(1), begin(2)
    os.chdir(away)
    careless.close()
    assert Path.cwd() == away
    careful.close()
    assert Path.cwd() == home


def test_a_run_that_leaves_the_directory_as_it_was_is_not_disturbed(home, away, caplog):
    careful, beside = begin(1), begin(2)
    with contextlib.chdir(away):
        beside.close()
        assert Path.cwd() == away
    careful.close()
    assert Path.cwd() == home
    assert caplog.records == []


def test_runs_that_begin_later_are_not_waited_for(home, away):
    careless, beside = begin(1), begin(2)
    os.chdir(away)
    careless.close()
    later = begin(3)
    beside.close()
    assert Path.cwd() == home
    later.close()


def test_a_run_that_finds_what_another_has_left_is_not_the_next_to_be_asked(home, away):
    beside, careless = begin(1), begin(2)
    os.chdir(away)
    careless.close()
    begin(3).close()
    assert Path.cwd() == away
    beside.close()
    assert Path.cwd() == home


def test_a_directory_that_is_there_no_more_is_told_and_nothing_else(home, away, caplog):
    run = begin(1)
    os.chdir(away)
    home.rmdir()
    run.close()
    assert Path.cwd() == away
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    home.mkdir()


def test_the_error_of_a_run_goes_on_its_way(home, away):
    def fail() -> None:
        with kept(a_run(1)):
            os.chdir(away)
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        fail()
    assert Path.cwd() == home


def test_what_a_listener_has_changed_is_put_back(home, away):
    assert hear(lambda run: os.chdir(away), a_run(1)) is None
    assert Path.cwd() == home
    assert asyncio.run(ahear(lambda run: os.chdir(away), a_run(2))) is None
    assert Path.cwd() == home
