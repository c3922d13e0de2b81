"""Columns on a real database: what cannot be read, instants whatever the settings, tags."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Count, F, Max, Min, Value
from django.db.models.functions import Greatest
from django.test import override_settings

from django_gocron.models import Instance, Job, Run
from django_gocron.models.fields import InstantField, ScheduleField, TagsField, TolerantJSONField, Unreadable
from django_gocron.schedules import Cron, Daily, Every, OneTime

pytestmark = pytest.mark.django_db

HUGE = "1" * 5000
"""A number that JSON allows, every database keeps, and Python refuses to read."""

DEEP = "[" * 101 + "]" * 101
"""One list more than is read; PostgreSQL takes thousands of them."""

VERY_DEEP = "[" * 200_000 + "]" * 200_000


def make(name: str = "Job", **values: Any) -> Job:
    return Job.objects.create(name=name, task="shop.tasks.sync", **values)


def write(job: Job, column: str, text: str | None) -> Job:
    """As another system would, past Django. Answers the job as it is then read."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE gocron_job SET {column} = %s WHERE id = %s", [text, job.pk])
    return Job.objects.get(pk=job.pk)


def stored(job: Job, column: str) -> Any:
    """The JSON as the database has it, in its own spelling."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM gocron_job WHERE id = %s", [job.pk])
        value = cursor.fetchone()[0]
    return value if isinstance(value, str | None) else json.dumps(value)


UNREADABLE: list[tuple[str, str]] = [
    ("args", f"[{HUGE}]"),
    ("kwargs", f'{{"n": {HUGE}}}'),
    ("schedule", f'{{"kind": "every", "seconds": {HUGE}}}'),
    ("schedule", '{"kind": "lunar"}'),
    ("schedule", '{"kind": "cron", "expression": "99 * * * *"}'),
    ("schedule", '"*/5 * * * *"'),
    ("schedule", "[1, 2]"),
    ("schedule", "7"),
]
unreadable = pytest.mark.parametrize(
    ("column", "text"), UNREADABLE, ids=lambda value: value if len(value) < 50 else f"{value[:25]}..."
)


# What cannot be read


@unreadable
def test_reading_never_raises(column: str, text: str):
    job = write(make(), column, text)
    value = getattr(job, column)
    assert isinstance(value, Unreadable)
    assert value.reason
    assert list(Job.objects.all()) == [job]


@unreadable
def test_an_unreadable_value_survives_a_save(column: str, text: str):
    job = write(make(), column, text)
    before = stored(job, column)
    job.description = "edited"
    job.save()
    assert stored(job, column) == before


@unreadable
def test_an_unreadable_value_survives_a_bulk_update(column: str, text: str):
    job = write(make(), column, text)
    before = stored(job, column)
    Job.objects.bulk_update([job], [column])
    assert stored(job, column) == before


@unreadable
def test_an_unreadable_value_can_be_copied_by_an_update(column: str, text: str):
    job, other = write(make(), column, text), make("Other")
    Job.objects.filter(pk=other.pk).update(**{column: getattr(job, column)})
    assert stored(other, column) == stored(job, column)


@unreadable
def test_an_unreadable_value_is_the_same_after_a_refresh(column: str, text: str):
    job = write(make(), column, text)
    value = getattr(job, column)
    job.refresh_from_db()
    assert getattr(job, column) == value


@unreadable
def test_an_unreadable_value_is_found_by_itself(column: str, text: str):
    job = write(make(), column, text)
    make("Other")
    assert list(Job.objects.filter(**{column: getattr(job, column)})) == [job]


@unreadable
def test_an_unreadable_value_can_be_pickled(column: str, text: str):
    job = write(make(), column, text)
    assert getattr(pickle.loads(pickle.dumps(job)), column) == getattr(job, column)


@unreadable
@pytest.mark.parametrize("language", ["json", "jsonl", "xml", "python"])
def test_an_unreadable_value_goes_through_a_fixture_unharmed(column: str, text: str, language: str):
    job = write(make(), column, text)
    before = stored(job, column)
    dumped = serializers.serialize(language, [job])
    job.delete()
    for loaded in serializers.deserialize(language, dumped):
        loaded.save()
    assert stored(Job.objects.get(), column) == before


@unreadable
def test_only_validation_refuses_an_unreadable_value(column: str, text: str):
    job = write(make(), column, text)
    with pytest.raises(ValidationError) as caught:
        job.full_clean()
    (fault,) = caught.value.error_dict[column]
    assert fault.code == getattr(job, column).code


def test_says_why_a_schedule_cannot_be_read():
    job = write(make(), "schedule", '{"kind": "cron", "expression": "99 * * * *"}')
    assert isinstance(job.schedule, Unreadable)
    assert job.schedule.code == "minute_out_of_range"
    assert job.schedule.describe() == job.schedule.reason


@pytest.mark.only_on("sqlite", "postgresql")
def test_what_is_nested_too_deeply_is_unreadable():
    """MariaDB keeps 32 levels at most."""
    job = write(make(), "args", DEEP)
    assert isinstance(job.args, Unreadable)
    assert write(job, "args", DEEP[1:-1]).args == json.loads(DEEP[1:-1])


@pytest.mark.only_on("postgresql")
def test_a_depth_that_python_cannot_follow_breaks_no_listing():
    job = write(make(), "args", "[" * 3000 + "]" * 3000)
    assert isinstance(job.args, Unreadable)


def test_many_lists_beside_one_another_are_not_deep():
    job = make(args=[[number] for number in range(500)])
    job.refresh_from_db()
    assert len(job.args) == 500


@pytest.mark.parametrize("text", [None, "null"])
def test_no_schedule_is_none_whether_in_sql_or_in_json(text: str | None):
    assert write(make(schedule=Every(60)), "schedule", text).schedule is None


def test_of_equal_keys_the_last_counts():
    assert write(make(), "kwargs", '{"n": 1, "n": 2}').kwargs == {"n": 2}


def test_results_and_progress_of_runs_are_as_tolerant():
    run = Run.objects.create(job=make(), scheduled_for=datetime(2026, 1, 1, tzinfo=UTC))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gocron_run SET result = %s, progress = %s", [HUGE, f"[{HUGE}]"])
    run = Run.objects.get()
    assert isinstance(run.result, Unreadable)
    assert isinstance(run.progress, Unreadable)


# JSON that can be read


@pytest.mark.parametrize(
    "schedule",
    [
        Every(90),
        Cron("0 9 * * mon"),
        Daily(every=2, at=["09:00", "17:30"]),
        OneTime(datetime(2030, 1, 1, tzinfo=UTC)),
    ],
    ids=lambda schedule: schedule.kind,
)
def test_a_schedule_comes_back_equal(schedule: Any):
    job = make(schedule=schedule)
    job.refresh_from_db()
    assert job.schedule == schedule
    assert list(Job.objects.filter(schedule=schedule)) == [job]


def test_a_schedule_can_be_written_as_plain_data():
    job = make(schedule={"kind": "every", "seconds": 90})
    job.refresh_from_db()
    assert job.schedule == Every(90)


def test_a_schedule_is_written_by_updates():
    job = make(schedule=Every(60))
    Job.objects.update(schedule=Every(90))
    job.refresh_from_db()
    assert job.schedule == Every(90)
    job.schedule = Cron("0 9 * * *")
    Job.objects.bulk_update([job], ["schedule"])
    job.refresh_from_db()
    assert job.schedule == Cron("0 9 * * *")


def test_a_schedule_can_be_taken_away_by_updates():
    job = make(schedule=Every(60))
    job.schedule = None
    Job.objects.bulk_update([job], ["schedule"])
    assert Job.objects.filter(schedule__isnull=True).exists()
    Job.objects.update(schedule=Every(60))
    Job.objects.update(schedule=None)
    assert Job.objects.filter(schedule__isnull=True).exists()


def test_parts_of_a_schedule_can_be_asked_for():
    make(schedule=Every(60))
    make("Other", schedule=Cron("0 9 * * *"))
    assert Job.objects.get(schedule__kind="cron").name == "Other"
    assert set(Job.objects.values_list("schedule__kind", flat=True)) == {"every", "cron"}


def test_parts_of_arguments_can_be_asked_for():
    make(kwargs={"region": "eu", "limit": 5})
    assert list(Job.objects.values_list("kwargs__region", "kwargs__limit")) == [("eu", 5)]


@pytest.mark.parametrize("language", ["json", "jsonl", "xml", "python"])
def test_a_job_goes_through_a_fixture_unharmed(language: str):
    start = datetime(2030, 1, 1, 12, 0, 0, 123000, tzinfo=UTC)  # Django's JSON has milliseconds
    job = make(
        schedule=Daily(at="09:00"),
        args=["a", 1, None],
        kwargs={"nested": {"deep": [1.5, True]}},
        tags=["one", "two"],
        starts_at=start,
        jitter=timedelta(seconds=5),
    )
    dumped = serializers.serialize(language, [job])
    job.delete()
    for loaded in serializers.deserialize(language, dumped):
        loaded.save()
    again = Job.objects.get()
    assert (again.schedule, again.args, again.kwargs) == (job.schedule, job.args, job.kwargs)
    assert (again.tags, again.starts_at, again.jitter) == (["one", "two"], start, timedelta(seconds=5))


def test_a_text_that_looks_like_json_stays_a_text():
    run = Run.objects.create(job=make(), scheduled_for=datetime(2026, 1, 1, tzinfo=UTC), result="[1]")
    (loaded,) = serializers.deserialize("json", serializers.serialize("json", [run]))
    assert loaded.object.result == "[1]"  # type: ignore[attr-defined]


# Forms that are not the admin's


class JobForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Job
        fields = ["args", "schedule", "tags"]


def submit(job: Job, **data: str) -> JobForm:
    """What a browser sends when these fields are filled in and the others left as they are."""
    form = JobForm(instance=job)
    shown = {name: form[name].value() for name in form.fields}
    before = {f"initial-{name}": value for name, value in shown.items()}
    return JobForm(before | shown | data, instance=job)


@pytest.mark.parametrize(
    "text",
    [f"[{HUGE}]", DEEP, VERY_DEEP, "[1,", "nonsense"],
    ids=["huge", "deep", "very deep", "open", "text"],
)
@pytest.mark.parametrize("field", ["args", "schedule"])
def test_a_form_refuses_what_it_cannot_read(field: str, text: str):
    form = submit(make(schedule=Every(60)), **{field: text})
    assert form.errors.as_data()[field][0].code == "invalid"
    assert text in str(form[field])


def test_a_form_shows_an_unreadable_value_as_it_is_stored():
    job = write(make(), "schedule", '{"kind": "lunar"}')
    assert JobForm(instance=job)["schedule"].value() == '{"kind": "lunar"}'


def test_a_form_that_is_sent_back_has_changed_nothing():
    for job in (
        make(schedule=Every(60), tags=["a", "b"]),
        write(make("Other"), "schedule", '{"kind": "lunar"}'),
    ):
        assert submit(job).changed_data == []


def test_the_order_of_keys_is_no_change():
    form = submit(make(schedule=Every(60)), schedule='{"version": 1, "seconds": 60, "kind": "every"}')
    assert form.changed_data == []


def test_a_form_sees_another_schedule():
    form = submit(make(schedule=Every(60)), schedule='{"kind": "every", "seconds": 90}')
    assert form.changed_data == ["schedule"]
    form = submit(
        write(make("Other"), "schedule", '{"kind": "lunar"}'), schedule='{"kind": "every", "seconds": 90}'
    )
    assert form.changed_data == ["schedule"]


# Instants

CHICAGO = ZoneInfo("America/Chicago")
FIRST_PASS = datetime(2026, 11, 1, 1, 30, tzinfo=CHICAGO).astimezone(UTC)
SECOND_PASS = datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=CHICAGO).astimezone(UTC)


@pytest.fixture(params=[True, False], ids=["USE_TZ", "no USE_TZ"])
def _in_chicago(request: pytest.FixtureRequest) -> Any:
    """The settings of a project elsewhere; the connection is told as at the start of a process."""
    with override_settings(USE_TZ=request.param, TIME_ZONE="America/Chicago"):
        yield


def ledger(*instants: datetime) -> list[Run]:
    job = make()
    return Run.objects.bulk_create([Run(job=job, scheduled_for=instant) for instant in instants])


in_chicago = pytest.mark.usefixtures("_in_chicago")


@in_chicago
def test_an_instant_comes_back_aware_and_in_utc():
    job = make(starts_at=FIRST_PASS)
    job.refresh_from_db()
    assert job.starts_at == FIRST_PASS
    assert job.starts_at
    assert job.starts_at.tzinfo is UTC


@in_chicago
def test_the_two_passes_of_an_autumn_hour_stay_apart():
    ledger(FIRST_PASS, SECOND_PASS)
    assert FIRST_PASS + timedelta(hours=1) == SECOND_PASS
    found = Run.objects.order_by("scheduled_for").values_list("scheduled_for", flat=True)
    assert list(found) == [FIRST_PASS, SECOND_PASS]


@in_chicago
@pytest.mark.parametrize(
    ("lookup", "value", "count"),
    [
        ("scheduled_for", SECOND_PASS, 1),
        ("scheduled_for__gt", FIRST_PASS, 1),
        ("scheduled_for__gte", FIRST_PASS, 2),
        ("scheduled_for__lt", FIRST_PASS, 0),
        ("scheduled_for__in", [FIRST_PASS, SECOND_PASS], 2),
        ("scheduled_for__range", (FIRST_PASS, SECOND_PASS - timedelta(seconds=1)), 1),
        ("scheduled_for", SECOND_PASS.astimezone(CHICAGO), 1),
    ],
)
def test_instants_are_looked_up_as_instants(lookup: str, value: Any, count: int):
    ledger(FIRST_PASS, SECOND_PASS)
    assert Run.objects.filter(**{lookup: value}).count() == count


@in_chicago
def test_aggregates_of_instants_are_instants():
    ledger(FIRST_PASS, SECOND_PASS)
    found = Run.objects.aggregate(first=Min("scheduled_for"), last=Max("scheduled_for"))
    assert found == {"first": FIRST_PASS, "last": SECOND_PASS}
    grouped = Run.objects.values("job").annotate(last=Max("scheduled_for"), number=Count("pk"))
    assert [(row["last"], row["number"]) for row in grouped] == [(SECOND_PASS, 2)]


@in_chicago
def test_an_aggregate_of_nothing_is_none():
    assert Run.objects.aggregate(last=Max("scheduled_for")) == {"last": None}


@in_chicago
def test_instants_are_written_by_updates():
    (run,) = ledger(FIRST_PASS)
    Run.objects.update(finished_at=SECOND_PASS)
    run.refresh_from_db()
    assert run.finished_at == SECOND_PASS
    Run.objects.update(started_at=F("scheduled_for"))
    run.refresh_from_db()
    assert run.started_at == FIRST_PASS
    run.started_at = SECOND_PASS.astimezone(CHICAGO)
    Run.objects.bulk_update([run], ["started_at"])
    run.refresh_from_db()
    assert run.started_at == SECOND_PASS


@in_chicago
def test_an_instant_can_be_a_value_in_a_statement():
    (run,) = ledger(FIRST_PASS)
    later = Value(SECOND_PASS, output_field=InstantField())
    assert Run.objects.filter(scheduled_for__lt=later).exists()
    Run.objects.update(started_at=Greatest(F("scheduled_for"), later))
    run.refresh_from_db()
    assert run.started_at == SECOND_PASS


@in_chicago
def test_instants_of_related_rows_are_instants():
    ledger(FIRST_PASS)
    Job.objects.update(starts_at=SECOND_PASS)
    assert list(Run.objects.values_list("job__starts_at", flat=True)) == [SECOND_PASS]
    job = Run.objects.select_related("job").get().job
    assert job
    assert job.starts_at == SECOND_PASS


@in_chicago
def test_a_value_without_a_zone_is_taken_for_utc():
    job = make(starts_at=datetime(2026, 7, 1, 12, 0))  # noqa: DTZ001
    job.refresh_from_db()
    assert job.starts_at == datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


@in_chicago
def test_an_instant_can_be_written_as_text():
    job = make(starts_at="2026-07-01T12:00:00+02:00")
    job.refresh_from_db()
    assert job.starts_at == datetime(2026, 7, 1, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z"])
def test_a_text_that_is_no_instant_is_refused(text: str):
    with pytest.raises(ValidationError) as caught:
        Job(name="Job", task="shop.tasks.sync", starts_at=text).full_clean()
    assert caught.value.error_dict["starts_at"][0].code == "invalid"


@in_chicago
@pytest.mark.parametrize("language", ["json", "xml"])
def test_instants_go_through_fixtures_unharmed(language: str):
    instance = Instance.objects.create(
        name="web-1", started_at=FIRST_PASS, heartbeat_at=SECOND_PASS, lease_expires_at=SECOND_PASS
    )
    dumped = serializers.serialize(language, [instance])
    Instance.objects.all().delete()
    for loaded in serializers.deserialize(language, dumped):
        loaded.save()
    again = Instance.objects.get()
    assert (again.started_at, again.heartbeat_at, again.reaped_at) == (FIRST_PASS, SECOND_PASS, None)


def test_microseconds_are_kept():
    instant = datetime(2026, 7, 1, 12, 0, 0, 123456, tzinfo=UTC)
    (run,) = ledger(instant)
    run.refresh_from_db()
    assert run.scheduled_for == instant


# Tags


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([], []),
        (["Sync", " shop "], ["sync", "shop"]),
        (["sync", "SYNC", ""], ["sync"]),
        ("Sync, shop", ["sync", "shop"]),
        ("sync", ["sync"]),
        ("", []),
        (("a", "b"), ["a", "b"]),
        (None, []),
    ],
)
def test_tags_are_a_list_of_lower_case_texts_without_doubles(given: Any, kept: list[str]):
    job = make(tags=given)
    job.refresh_from_db()
    assert job.tags == kept
    if kept:
        assert list(Job.objects.tagged(kept[0])) == [job]


def tagged(*tags: str, **options: Any) -> set[str]:
    return set(Job.objects.tagged(*tags, **options).values_list("name", flat=True))


@pytest.fixture
def _three_jobs() -> None:
    make("Both", tags=["team-3", "shop"])
    make("Shop", tags=["shop"])
    make("None")
    make("Similar", tags=["shopping", "my shop", "team-33"])


@pytest.mark.usefixtures("_three_jobs")
@pytest.mark.parametrize(
    ("tags", "match", "names"),
    [
        (["shop"], "any", {"Both", "Shop"}),
        (["shop", "team-3"], "any", {"Both", "Shop"}),
        (["shop", "team-3"], "all", {"Both"}),
        (["TEAM-3"], "any", {"Both"}),
        ([" shop "], "all", {"Both", "Shop"}),
        (["absent"], "any", set()),
        (["shop", "absent"], "any", {"Both", "Shop"}),
        (["shop", "absent"], "all", set()),
        ([], "any", set()),
        ([], "all", {"Both", "Shop", "None", "Similar"}),
        (["%"], "any", set()),
        (["sho_"], "any", set()),
    ],
)
def test_finds_jobs_by_whole_tags(tags: list[str], match: str, names: set[str]):
    assert tagged(*tags, match=match) == names


def test_any_of_the_tags_is_enough_unless_told_otherwise():
    make("One", tags=["a"])
    assert tagged("a", "b") == {"One"}


def test_refuses_another_way_to_match():
    with pytest.raises(ValueError, match="'any' or 'all', not 'both'"):
        Job.objects.tagged("a", match="both")


def test_finds_tagged_jobs_through_a_filtered_queryset():
    make("On", tags=["a"])
    make("Off", tags=["a"], enabled=False)
    assert [job.name for job in Job.objects.filter(enabled=False).tagged("a")] == ["Off"]


def test_tags_are_written_by_updates():
    job = make()
    Job.objects.update(tags=["A", "b"])
    assert tagged("a", "b", match="all") == {"Job"}
    Job.objects.update(tags="c, D")
    assert tagged("c", "d", match="all") == {"Job"}
    job.tags = ["e"]
    Job.objects.bulk_update([job], ["tags"])
    assert tagged("e") == {"Job"}
    assert tagged("c") == set()


@pytest.mark.parametrize("tag", ["a|b", "a,b"])
def test_a_tag_cannot_contain_a_delimiter(tag: str):
    with pytest.raises(ValidationError) as caught:
        TagsField().clean([tag], None)
    assert caught.value.code == "tag_delimiter"


def test_too_many_tags_are_refused():
    with pytest.raises(ValidationError) as caught:
        TagsField().clean([f"tag number {number}" for number in range(100)], None)
    assert caught.value.error_list[0].code == "max_length"


# Migrations


@pytest.mark.parametrize(
    "field", [TolerantJSONField(null=True), ScheduleField(null=True), InstantField(), TagsField()]
)
def test_a_field_is_made_again_by_what_a_migration_keeps_of_it(field: Any):
    _name, path, args, kwargs = field.deconstruct()
    assert path == f"django_gocron.models.fields.{type(field).__name__}"
    again: Callable[..., Any] = type(field)
    assert again(*args, **kwargs).deconstruct() == field.deconstruct()
