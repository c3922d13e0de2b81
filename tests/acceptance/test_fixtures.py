from __future__ import annotations

import pytest

from tests.acceptance.projects import Project

JOBS = """
    from datetime import UTC, datetime
    from django_gocron import Cron, Daily, Every, EveryRandom, Monthly, OneTime, Weekly, job

    @job(Cron("*/15 9-17 * * mon-fri"), name="Sync", timezone="Europe/Berlin", tags=["a", "b"], kwargs={"limit": 5})
    @job(Daily(at=["09:00", "17:30"]), name="Twice a day", args=[3], jitter=20)
    @job(Every(minutes=5), name="Often", starts_at=datetime(2020, 1, 1, tzinfo=UTC), description="<often> & more")
    @job(EveryRandom(60, 120), name="At random", owner="Anna")
    @job(Monthly(on=[-1, "first mon"], at="23:50"), name="Each month", keep_days=7)
    @job(OneTime(datetime(2999, 1, 1, tzinfo=UTC)), name="Once", max_runs=1)
    @job(Weekly(on=["mon", "thu"], at="07:00"), name="Each week", misfire="skip")
    @job(name="By hand")
    def sync(limit: int = 10):
        pass
"""

EVERYTHING_STAFF_EDIT = """
    SELECT key, identifier, name, description, tags, owner, task, args, kwargs, schedule, timezone, starts_at,
           max_runs, jitter, misfire, keep_days, enabled, declared
    FROM gocron_job ORDER BY name
"""


NUMBER_OF_JOBS = 8


@pytest.fixture
def declaring(office: Project) -> Project:
    """A project with a job of every kind."""
    office.write("office/jobs.py", JOBS)
    office.manage("gocron", "sync")
    return office


def test_jobs_loaded_into_an_empty_database_are_the_same_and_planned(declaring: Project) -> None:
    dumped = declaring.rows(EVERYTHING_STAFF_EDIT)
    declaring.manage("dumpdata", "gocron.job", "--output", "dump.json")
    declaring.rows("DELETE FROM gocron_jobstate")
    declaring.rows("DELETE FROM gocron_job")
    declaring.manage("loaddata", "dump.json")
    assert declaring.rows(EVERYTHING_STAFF_EDIT) == dumped
    unplanned = declaring.rows(
        "SELECT name FROM gocron_job LEFT JOIN gocron_jobstate ON job_id = id WHERE next_run_at IS NULL"
    )
    assert unplanned == [("By hand",)]
    assert declaring.rows("SELECT count(*) FROM gocron_jobstate") == [(NUMBER_OF_JOBS,)]


def test_jobs_loaded_from_xml_take_the_place_of_those_of_their_name(declaring: Project) -> None:
    dumped = declaring.rows(EVERYTHING_STAFF_EDIT)
    declaring.manage("dumpdata", "gocron.job", "--natural-primary", "--format", "xml", "--output", "dump.xml")
    declaring.rows("UPDATE gocron_job SET description = 'changed', schedule = NULL, args = '[]'")
    declaring.manage("loaddata", "dump.xml")
    assert declaring.rows(EVERYTHING_STAFF_EDIT) == dumped
    assert declaring.rows("SELECT count(*) FROM gocron_jobstate WHERE next_run_at IS NOT NULL") == [
        (NUMBER_OF_JOBS - 1,)
    ]
