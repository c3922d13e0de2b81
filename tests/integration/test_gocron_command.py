from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from django_gocron import Every, job, registry, tables
from django_gocron.management.commands.gocron import find_subcommands
from django_gocron.management.subcommands import sync
from django_gocron.models import Job

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _empty_registry() -> Iterator[None]:
    with registry.isolated():
        yield


def sync_orders() -> None: ...


def fetch_orders() -> None: ...


def tidy() -> None: ...


def gocron(*args: str) -> tuple[list[str], list[str], int]:
    """Lines of stdout and of stderr, and the exit code."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command("gocron", *args, stdout=out, stderr=err)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return out.getvalue().splitlines(), err.getvalue().splitlines(), code


def test_every_module_beside_the_contract_is_a_subcommand():
    assert isinstance(find_subcommands()["sync"], sync.Command)


def test_a_missing_or_unknown_subcommand_is_refused():
    for args in ([], ["sink"]):
        with pytest.raises(CommandError):
            gocron(*args)


def test_sync_prints_what_became_of_each_job():
    job(Every(minutes=10))(sync_orders)
    job(Every(minutes=10))(tidy)
    assert gocron("sync") == (
        [
            "created    tests.sync_orders  'Sync orders'",
            "created    tests.tidy  'Tidy'",
            "2 declared jobs: 2 created.",
        ],
        [],
        0,
    )


def test_sync_tells_updates_renames_and_what_is_kept_from_the_admin():
    job(Every(minutes=10), name="Orders")(sync_orders)
    job(Every(minutes=10))(tidy)
    gocron("sync")
    Job.objects.filter(key="tests.tidy").update(enabled=False)
    with registry.isolated():
        job(Every(minutes=15), name="Orders", aliases=["tests.sync_orders"])(fetch_orders)
        job(Every(minutes=10), tags=["a"])(tidy)
        lines, _errors, _code = gocron("sync")
        again, _errors, _code = gocron("sync")
    assert lines == [
        "renamed    tests.fetch_orders  'Orders'; was tests.sync_orders; follows the code: task, schedule",
        "updated    tests.tidy  'Tidy'; follows the code: tags; kept from the admin: enabled",
        "2 declared jobs: 1 updated, 1 renamed.",
    ]
    assert again == [
        "unchanged  tests.fetch_orders  'Orders'",
        "overridden tests.tidy  'Tidy'; kept from the admin: enabled",
        "2 declared jobs: 2 unchanged.",
    ]


def test_sync_ends_with_1_where_a_declaration_is_refused():
    job(Every(minutes=10), timezone="Mars/X")(sync_orders)
    job(Every(minutes=10))(tidy)
    lines, errors, code = gocron("sync")
    assert code == 1
    assert lines == ["created    tests.tidy  'Tidy'", "2 declared jobs: 1 created, 1 refused."]
    assert errors[0].startswith("refused    tests/integration/test_gocron_command.py:")


def test_a_dry_run_writes_nothing_and_says_so():
    job(Every(minutes=10))(sync_orders)
    lines, _errors, _code = gocron("sync", "--dry-run")
    assert lines[-1] == "1 declared job: 1 created. Nothing was written."
    assert not Job.objects.exists()


def test_before_migrate_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "are_ready", lambda _using: False)
    with pytest.raises(CommandError, match=r"The tables are not ready\. Run: manage\.py migrate"):
        gocron("sync")


def test_a_wrong_setting_is_told_without_a_traceback(settings: Any):
    settings.GOCRON = {"MAX_WORKERS": 0}
    with pytest.raises(CommandError, match="MAX_WORKERS"):
        gocron("sync")


def test_a_database_that_is_away_is_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch):
    def away(_using: str) -> bool:
        raise OperationalError("connection refused")

    monkeypatch.setattr(tables, "are_ready", away)
    with pytest.raises(CommandError, match="The database cannot be used now: connection refused"):
        gocron("sync")
