from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from signal import SIGINT, SIGTERM, Signals

import pytest

from tests.acceptance.projects import Project, copy_office

SOON = """
    from django_gocron import Every, job

    @job(Every(hours=1), first_run="immediately")
    def greet():
        print("good morning")
"""

LATER = """
    from django_gocron import Every, job

    @job(Every(hours=1))
    def close():
        print("good night")
"""

FAILING = """
    from django_gocron import Every, job

    @job(Every(hours=1), first_run="immediately")
    def greet():
        raise RuntimeError("nobody is in")
"""

PATIENT = """
    from pathlib import Path
    from threading import Event
    from django_gocron import Every, job

    @job(Every(seconds=1))
    def wait_for_release():
        print("working", flush=True)
        while not Path("release").exists():
            Event().wait(0.05)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evening:
    project: Project
    code: int
    lines: list[str]


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory, migrated_folder: Path) -> Iterator[Evening]:
    """A scheduler that has run a job and has then been told to stop."""
    project = copy_office(migrated_folder, tmp_path_factory.mktemp("evening"))
    project.write("office/jobs.py", SOON)
    scheduler = project.start("runscheduler", "--instance-name", "night shift")
    scheduler.wait_for("run succeeded")
    scheduler.send(SIGTERM)
    yield Evening(project=project, code=scheduler.wait(), lines=scheduler.lines)
    scheduler.end()


def statuses(project: Project) -> list[str]:
    return [status for (status,) in project.rows("SELECT status FROM gocron_run ORDER BY id")]


def began(project: Project) -> list[tuple[str, str, str | None]]:
    """Status, reason and lock of the runs that have begun."""
    return project.rows("SELECT status, reason, held_lock FROM gocron_run WHERE started_at IS NOT NULL")


def test_before_migrate_it_says_what_to_do_and_exits_with_1(new_office: Project) -> None:
    output = new_office.manage("runscheduler", code=1)
    assert "migrate" in output
    assert "Traceback" not in output


class TestAnEvening:
    def test_it_says_who_it_is_and_what_comes_next(self, evening: Evening) -> None:
        output = "\n".join(evening.lines)
        assert "django-gocron" in output
        assert "instance  night shift" in output
        assert "1 enabled, 0 paused, 0 broken" in output
        assert re.search("next      Greet (now|in )", output)  # not claimed yet, or it is

    def test_its_log_appears_without_configuration(self, evening: Evening) -> None:
        assert any("run succeeded" in line and 'job="Greet"' in line for line in evening.lines)

    def test_the_instance_has_the_name_it_is_given(self, evening: Evening) -> None:
        assert evening.project.rows("SELECT name FROM gocron_instance") == [("night shift",)]

    def test_it_ends_well_and_leaves_word_of_it(self, evening: Evening) -> None:
        assert evening.code == 0
        assert any("scheduler stopped" in line for line in evening.lines)
        assert evening.project.rows("SELECT count(*) FROM gocron_instance WHERE stopped_at IS NULL") == [(0,)]


def test_it_says_how_it_is_coordinated_with_others(office: Project) -> None:
    elector = "django_gocron.electors.database.DatabaseElector"
    office.append("office_settings.py", f"GOCRON['ELECTOR'] = {{'BACKEND': {elector!r}}}")
    table = "django_gocron.lockers.database.DatabaseLocker"
    office.append("office_settings.py", f"GOCRON['LOCKERS'] = {{'table': {{'BACKEND': {table!r}}}}}")
    office.write("office/jobs.py", SOON)
    scheduler = office.start("runscheduler")
    scheduler.wait_for("run succeeded")
    scheduler.send(SIGTERM)
    assert scheduler.wait() == 0
    output = "\n".join(scheduler.lines)
    assert "lockers   table" in output
    assert f"elector   {elector}: this instance leads" in output
    assert 'leader         instance="' in output
    assert 'leader no more instance="' in output


def test_a_job_whose_locker_is_unknown_is_told_at_the_start(office: Project) -> None:
    office.write("office/jobs.py", LATER)
    office.manage("gocron", "sync")
    office.rows("UPDATE gocron_job SET locker = 'nope'")
    scheduler = office.start("runscheduler")
    scheduler.wait_for("Press Ctrl-C")
    scheduler.send(SIGTERM)
    assert scheduler.wait() == 0
    assert "! Close: no locker is called 'nope'. Each of its ticks will be skipped." in "\n".join(
        scheduler.lines
    )


def test_a_locker_that_cannot_be_made_is_told_in_a_sentence(office: Project) -> None:
    cache = "django_gocron.lockers.cache.CacheLocker"
    office.append("office_settings.py", f"GOCRON['LOCKERS'] = {{'cache': {{'BACKEND': {cache!r}}}}}")
    output = office.manage("runscheduler", code=1)
    assert "LocMemCache cannot keep locks" in output
    assert "Traceback" not in output


def test_json_logs_are_one_object_a_line(office: Project) -> None:
    office.write("office/jobs.py", FAILING)
    scheduler = office.start("runscheduler", "--log-format", "json")
    scheduler.wait_for("run failed")
    records = [json.loads(line) for line in scheduler.lines if line.startswith("{")]
    [failed] = [record for record in records if record.get("event") == "run failed"]
    assert failed["job"] == "Greet"
    assert failed["error"] == "RuntimeError: nobody is in"
    assert failed["traceback"].startswith("Traceback")
    assert datetime.fromisoformat(failed["time"]).tzinfo is not None


def test_a_change_in_the_database_takes_effect_without_a_restart(office: Project) -> None:
    office.write("office/jobs.py", LATER)
    scheduler = office.start("runscheduler")
    scheduler.wait_for("Press Ctrl-C")
    office.rows("""UPDATE gocron_job SET schedule = '{"kind": "every", "version": 1, "seconds": 1}'""")
    scheduler.wait_for("run succeeded")


class TestOnce:
    def test_it_runs_what_is_due_and_ends(self, office: Project) -> None:
        office.write("office/jobs.py", SOON + LATER)
        output = office.manage("runscheduler", "--once")
        assert "good morning" in output
        assert "1 due: 1 succeeded" in output
        assert statuses(office) == ["succeeded"]

    def test_it_exits_with_1_when_a_run_fails(self, office: Project) -> None:
        office.write("office/jobs.py", FAILING)
        output = office.manage("runscheduler", "--once", code=1)
        assert "1 due: 1 failed" in output
        assert "RuntimeError: nobody is in" in output


class TestOptions:
    def test_one_worker_runs_one_job_at_a_time(self, office: Project) -> None:
        office.write("office/jobs.py", SOON + SOON.replace("def greet", "def greet_again"))
        office.manage("runscheduler", "--once", "--workers", "1")
        runs = office.rows("SELECT started_at, finished_at FROM gocron_run ORDER BY started_at")
        assert len(runs) == 2
        assert runs[0][1] <= runs[1][0]

    def test_a_labelled_job_waits_for_a_scheduler_with_its_label(self, office: Project) -> None:
        office.write("office/jobs.py", SOON.replace("first_run", "label='mail', first_run"))
        assert "0 due" in office.manage("runscheduler", "--once")
        assert "1 due: 1 succeeded" in office.manage("runscheduler", "--once", "--label", "mail")

    def test_no_workers_at_all_are_refused_in_one_sentence(self, office: Project) -> None:
        output = office.manage("runscheduler", "--workers", "0", code=2)
        assert "argument --workers: invalid" in output
        assert "Traceback" not in output

    def test_where_the_setting_forbids_it_no_job_runs(self, office: Project) -> None:
        office.write("office/jobs.py", SOON)
        office.append("office_settings.py", "GOCRON['ENABLED'] = False")
        assert "no job runs from here" in office.manage("runscheduler")
        assert statuses(office) == []

    def test_a_wrong_setting_is_told_in_one_sentence(self, office: Project) -> None:
        office.append("office_settings.py", "GOCRON['WORKERS'] = 4")
        output = office.manage("runscheduler", "--skip-checks", code=1)
        assert "unknown key 'WORKERS'" in output
        assert "Traceback" not in output


class TestStop:
    @pytest.mark.parametrize("number", [SIGINT, SIGTERM])
    def test_a_running_job_is_waited_for(self, office: Project, number: Signals) -> None:
        office.write("office/jobs.py", PATIENT)
        scheduler = office.start("runscheduler")
        scheduler.wait_for("working")
        scheduler.send(number)
        scheduler.wait_for("scheduler stopping")
        assert not scheduler.has_ended
        office.write("release", "")
        assert scheduler.wait() == 0
        assert began(office) == [("succeeded", "", None)]

    def test_told_again_it_waits_no_longer_and_records_the_run_as_lost(self, office: Project) -> None:
        office.write("office/jobs.py", PATIENT)
        scheduler = office.start("runscheduler")
        scheduler.wait_for("working")
        scheduler.send(SIGINT)
        scheduler.wait_for("scheduler stopping")
        scheduler.insist(SIGINT)
        assert scheduler.wait() == 1
        assert began(office) == [("lost", "shutdown", None)]
