"""What the lists cost: the number of queries, whatever the number of rows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_gocron import Every
from django_gocron.models import Job, Run
from django_gocron.models.choices import Status
from tests.integration.admin_support import START, TASK, sign_in_superuser, start_instance

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("report_task")]

MOST = 8


@pytest.fixture
def client() -> Client:
    return sign_in_superuser()


def make_jobs(number: int) -> None:
    Job.objects.bulk_create(
        Job(name=f"Job {place}", task=TASK, schedule=Every(hours=1), tags="a, b") for place in range(number)
    )


def make_runs(number: int) -> None:
    job = Job.objects.create(name="Digest", task=TASK)
    Run.objects.bulk_create(
        Run(
            job=job,
            job_name=job.name,
            scheduled_for=START + timedelta(seconds=place),
            status=Status.SUCCEEDED,
        )
        for place in range(number)
    )


def queries(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in captured.captured_queries]


@pytest.mark.parametrize("number", [1, 100, 1000])
@pytest.mark.parametrize("has_scheduler", [True, False])
def test_the_list_of_jobs_takes_as_many_queries_for_any_number(
    client: Client, number: int, has_scheduler: bool
):
    if has_scheduler:
        start_instance()
    make_jobs(number)
    assert len(queries(client, "/admin/gocron/job/")) <= MOST


@pytest.mark.parametrize("query", ["standing=failing", "q=Job&o=2.-5", "kind=every&source=admin&next=day"])
def test_filters_and_orders_add_none(client: Client, query: str):
    make_jobs(3)
    assert len(queries(client, f"/admin/gocron/job/?{query}")) <= MOST


@pytest.mark.parametrize("number", [1, 100, 300])
def test_the_list_of_runs_takes_as_many_queries_for_any_number(client: Client, number: int):
    make_runs(number)
    assert len(queries(client, "/admin/gocron/run/")) <= MOST


@pytest.mark.parametrize("query", ["", "status=failed", "q=Digest"])
def test_runs_are_never_counted_to_the_end(client: Client, query: str):
    make_runs(3)
    counting = [sql for sql in queries(client, f"/admin/gocron/run/?{query}") if "COUNT(" in sql.upper()]
    assert counting
    assert all("LIMIT 10001" in sql for sql in counting if "gocron_run" in sql)


def test_the_list_of_runs_reads_no_heavy_columns(client: Client):
    make_runs(3)
    assert not any("traceback" in sql for sql in queries(client, "/admin/gocron/run/"))


def test_the_list_of_instances_takes_as_many_queries_for_any_number(client: Client):
    for place in range(60):
        start_instance(name=f"web-{place}")
    # One more than other lists: the locks below it are two, the leases and the ledger's own.
    assert len(queries(client, "/admin/gocron/instance/")) <= MOST + 1


def test_the_page_of_a_job_takes_a_handful(client: Client):
    make_runs(30)
    ContentType.objects.clear_cache()
    assert len(queries(client, f"/admin/gocron/job/{Job.objects.get().pk}/change/")) <= 12
