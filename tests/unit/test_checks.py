from __future__ import annotations

import re
import sys
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.db.utils import ConnectionHandler

import django_gocron
from django_gocron import Every, job, registry
from django_gocron.checks import TAG, connecting


@pytest.fixture(autouse=True)
def _empty_registry() -> Iterator[None]:
    with registry.isolated():
        yield


def found() -> list[tuple[str | None, str]]:
    return [(message.id, message.msg) for message in checks.run_checks(tags=[TAG], databases=[])]


def tidy() -> None: ...


def clean() -> None: ...


def test_a_right_project_has_nothing_to_report(settings: Any):
    settings.GOCRON = {"COMMANDS": ["clearsessions"], "DATABASE": "default"}
    job(Every(minutes=5))(tidy)
    assert found() == []


def test_every_fault_of_the_setting_is_reported(settings: Any):
    settings.GOCRON = {"MAX_WORKERS": 0, "COLOUR": "red"}
    assert found() == [
        ("gocron.E001", "GOCRON['MAX_WORKERS'] must be 1 or more, not 0."),
        ("gocron.E001", "GOCRON has an unknown key 'COLOUR'."),
    ]


@pytest.mark.parametrize(
    ("key", "path"), [("CRON", "nowhere.Cron"), ("ADMIN_BASE_CLASS", "django.contrib.admin.NoSuch")]
)
def test_a_path_that_cannot_be_imported_is_reported(settings: Any, key: str, path: str):
    settings.GOCRON = {key: path}
    ((identity, message),) = found()
    assert (identity, message.startswith(f"GOCRON['{key}']")) == ("gocron.E001", True)


def test_jobs_written_to_another_database_are_reported(settings: Any):
    settings.DATABASE_ROUTERS = [ElsewhereRouter()]
    settings.GOCRON = {"DATABASE": "default"}
    assert found() == [
        ("gocron.W001", "The scheduler works on the database 'default', but jobs are written to 'elsewhere'.")
    ]


class ElsewhereRouter:
    def db_for_write(self, model: type, **hints: Any) -> str:
        return "elsewhere"

    db_for_read = db_for_write


def test_an_unknown_command_is_reported_with_a_suggestion(settings: Any):
    settings.GOCRON = {"COMMANDS": ["clearsesions", "greet"]}
    assert found() == [
        (
            "gocron.W002",
            "GOCRON['COMMANDS'] has 'clearsesions', which is no management command. Did you mean 'clearsessions'?",
        )
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"locker": "redis"},
            "locker: No locker is called 'redis'. The setting GOCRON['LOCKERS'] names: none yet.",
        ),
        ({"timezone": "Mars/X"}, "timezone: 'Mars/X' is not a known time zone."),
        ({"misfire": "sometimes"}, "misfire: Value 'sometimes' is not a valid choice."),
        ({"max_runs": 0}, "max_runs: Enter 1 or more"),
        ({"jitter": -5}, "jitter: A duration cannot be negative."),
    ],
)
def test_a_declaration_that_could_not_be_saved_is_reported_with_its_place(
    options: dict[str, Any], words: str
):
    job(Every(minutes=5), **options)(tidy)
    ((identity, message),) = found()
    assert identity == "gocron.W003"
    assert message.startswith("tests/unit/test_checks.py:")
    assert f": tests.tidy: {words}" in message


def test_two_jobs_of_one_name_are_reported():
    job(Every(minutes=5), name="Tidy up")(tidy)
    job(Every(minutes=5), name="Tidy up")(clean)
    ((identity, message),) = found()
    assert (identity, message.endswith("two jobs are named 'Tidy up'.")) == ("gocron.W004", True)


def test_two_functions_of_one_app_that_claim_one_key_are_reported():
    from tests.unit import claims_tidy

    job(Every(minutes=5))(tidy)
    job(Every(minutes=5))(claims_tidy.tidy)
    assert ("gocron.W004", True) in [
        (identity, "two functions of one app claim the key 'tests.tidy'" in message)
        for identity, message in found()
    ]


def test_with_a_wrong_setting_only_that_is_reported(settings: Any):
    settings.GOCRON = {"COLOUR": "red", "COMMANDS": ["no_such"]}
    job(Every(minutes=5), misfire="sometimes")(tidy)
    assert [identity for identity, _message in found()] == ["gocron.E001"]


# --- routers -----------------------------------------------------------------------------------------


class ReplicaRouter:
    def db_for_read(self, model: type, **hints: Any) -> str:
        return "replica"

    def db_for_write(self, model: type, **hints: Any) -> str:
        return "default"


class ReplicaForOthersRouter(ReplicaRouter):
    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "default" if model._meta.app_label == "gocron" else "replica"


def test_reads_that_go_to_a_replica_are_reported_once(settings: Any):
    settings.DATABASE_ROUTERS = [ReplicaRouter()]
    ((identity, message),) = found()
    assert identity == "gocron.W009"
    assert "read from 'replica' and written to 'default'" in message


def test_a_replica_for_the_rest_of_the_project_is_no_trouble(settings: Any):
    settings.DATABASE_ROUTERS = [ReplicaForOthersRouter()]
    assert found() == []


# --- connections -------------------------------------------------------------------------------------

POSTGRESQL = "django.db.backends.postgresql"
SQLITE = "django.db.backends.sqlite3"


@pytest.fixture
def connect_by(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the default database be one with these settings; nothing connects to it."""

    def use(engine: str = POSTGRESQL, **values: Any) -> None:
        handler = ConnectionHandler({"default": {"ENGINE": engine, "NAME": "shop", **values}})
        monkeypatch.setattr(connecting, "connections", handler)

    return use


@pytest.mark.parametrize("age", [60, None])
def test_a_pool_of_persistent_connections_is_an_error(connect_by: Any, age: int | None):
    connect_by(CONN_MAX_AGE=age, OPTIONS={"pool": {"max_size": 20}})
    ((identity, message),) = found()
    assert identity == "gocron.E002"
    assert f"CONN_MAX_AGE = {age}" in message


@pytest.mark.parametrize(
    ("pool", "size"), [(True, 4), ({"min_size": 6}, 6), ({"min_size": 2, "max_size": 13}, 13)]
)
def test_a_pool_that_the_workers_would_empty_is_reported(connect_by: Any, pool: Any, size: int):
    connect_by(OPTIONS={"pool": pool})
    ((identity, message),) = found()
    assert identity == "gocron.W011"
    assert f"holds {size}, but a scheduler with 10 workers uses up to 14" in message


def test_a_pool_for_all_workers_and_the_engine_is_no_trouble(settings: Any, connect_by: Any):
    settings.GOCRON = {"MAX_WORKERS": 6}
    connect_by(OPTIONS={"pool": {"max_size": 10}})
    assert found() == []


@pytest.mark.parametrize("age", [None, 301])
@pytest.mark.parametrize("engine", [POSTGRESQL, "django.db.backends.mysql"])
def test_connections_kept_for_long_that_nobody_looks_at_are_reported(
    connect_by: Any, engine: str, age: int | None
):
    connect_by(engine, CONN_MAX_AGE=age)
    assert [identity for identity, _ in found()] == ["gocron.W010"]


@pytest.mark.parametrize(
    "values",
    [
        {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True},
        {"CONN_MAX_AGE": 300, "ATOMIC_REQUESTS": True},
        {"CONN_MAX_AGE": 0},
        {"ENGINE": SQLITE, "CONN_MAX_AGE": None},
    ],
    ids=str,
)
def test_other_connections_are_no_trouble(connect_by: Any, values: dict[str, Any]):
    connect_by(**{"engine": values.pop("ENGINE", POSTGRESQL), **values})
    assert found() == []


def test_where_nobody_knows_the_database_only_the_setting_is_reported(settings: Any, connect_by: Any):
    settings.GOCRON = {"DATABASE": "nowhere"}
    connect_by(CONN_MAX_AGE=None)
    assert [identity for identity, _message in found()] == ["gocron.E001"]


# --- time zones --------------------------------------------------------------------------------------


@pytest.fixture
def without_zone_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a system that has none, with no package that brings it."""
    for name in {"tzdata", "tzdata.zoneinfo", *filter(lambda name: name.startswith("tzdata."), sys.modules)}:
        monkeypatch.setitem(sys.modules, name, None)
    path = zoneinfo.TZPATH
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath(to=path)
    zoneinfo.ZoneInfo.clear_cache()


def test_a_system_without_time_zone_data_is_an_error(without_zone_data: None):
    assert "gocron.E003" in [identity for identity, _message in found()]


# --- the reference -----------------------------------------------------------------------------------

PACKAGE = Path(django_gocron.__file__).parent
REFERENCE = PACKAGE.parent / "docs" / "reference" / "checks.md"


def test_every_id_has_a_section_of_its_own_in_the_reference_and_the_reverse():
    code = "".join(file.read_text() for file in (PACKAGE / "checks").glob("*.py"))
    known = set(re.findall(r'id="gocron\.([EW]\d{3})"', code))
    sections = re.findall(r"^\(gocron-([ew]\d{3})\)=\n## gocron\.(\w+)$", REFERENCE.read_text(), re.MULTILINE)
    assert {anchor.upper() for anchor, _title in sections} == {title for _anchor, title in sections} == known


def test_every_message_says_what_to_write():
    code = "".join(file.read_text() for file in (PACKAGE / "checks").glob("*.py"))
    assert len(re.findall(r"checks\.(?:Error|Warning)\(", code)) == len(re.findall(r"hint=", code))
