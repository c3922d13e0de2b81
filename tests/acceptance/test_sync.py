from __future__ import annotations

import pytest

from tests.acceptance.projects import Project

JOBS = """
    from django_gocron import Daily, job

    @job(Daily(at="07:30"))
    def send_digest():
        pass
"""


@pytest.fixture
def declaring(office: Project) -> Project:
    """The project with its tables, and a declared job that is not in them yet."""
    office.write("office/jobs.py", JOBS)
    return office


def count_jobs(project: Project) -> int:
    return int(project.rows("SELECT count(*) FROM gocron_job")[0][0])


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(declaring: Project) -> None:
    output = declaring.manage("gocron", "sync", "--dry-run")
    assert "created    office.send_digest" in output
    assert "Nothing was written." in output
    assert count_jobs(declaring) == 0


def test_a_declared_job_becomes_a_row_with_a_next_run(declaring: Project) -> None:
    assert "1 created" in declaring.manage("gocron", "sync")
    rows = declaring.rows(
        "SELECT name, next_run_at IS NOT NULL FROM gocron_job JOIN gocron_jobstate ON job_id = id"
    )
    assert rows == [("Send digest", 1)]


def test_before_migrate_it_says_what_to_do_and_exits_with_1(new_office: Project) -> None:
    output = new_office.manage("gocron", "sync", code=1)
    assert "manage.py migrate" in output
    assert "Traceback" not in output
