"""The three-way merge of one declared job: what the code says, what it said last, and what the row says.

``Job.declared`` keeps what the code said last, field by field, as JSON. A field of the row that still equals it
follows the code; one that differs was changed by people, stays theirs, and is called overridden. A field that the
copy lacks (it was written by an older release, or cannot be read) counts as last declared with its default.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.utils.duration import duration_iso_string

from django_gocron.conf import get_settings
from django_gocron.models import Job
from django_gocron.models.fields import Unreadable
from django_gocron.options import OPTIONS
from django_gocron.schedules import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django_gocron.registry import Declaration

FIELDS = ("task", "schedule", *OPTIONS)
"""The fields of a job that code declares. All others, the pause among them, are never touched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """``changes`` are the fields that follow the code, with their new values; ``copy`` is the new ``Job.declared``."""

    changes: Mapping[str, Any]
    overridden: tuple[str, ...]
    copy: Mapping[str, Any]


def read_values(declaration: Declaration) -> dict[str, Any]:
    """Every declared field: the declaration's own, else that of ``JOB_DEFAULTS``, else the model's default."""
    values = {
        **{name: default_of(name) for name in FIELDS},
        **get_settings().job_defaults,
        **declaration.options,
        "task": declaration.task.name,
        "name": declaration.name,
        "schedule": declaration.schedule,
    }
    return {name: _field(name).to_python(values[name]) for name in FIELDS}


def copy_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON, as ``Job.declared`` keeps them."""
    return {name: _plain(value) for name, value in values.items()}


def merge(job: Job, declaration: Declaration) -> Merge:
    """What the row has to change to follow the declaration."""
    values = read_values(declaration)
    theirs, last, code = read_row(job), read_declared(job), copy_values(values)
    followed = [name for name in FIELDS if _same(theirs[name], last[name])]
    return Merge(
        changes={name: values[name] for name in followed if not _same(theirs[name], code[name])},
        overridden=tuple(
            name for name in FIELDS if name not in followed and not _same(theirs[name], code[name])
        ),
        copy=code,
    )


def overridden_fields(job: Job) -> list[str]:
    """The fields of a declared job that people changed; none for a job that no code has declared."""
    if job.key is None or job.declared is None:
        return []
    theirs, last = read_row(job), read_declared(job)
    return [name for name in FIELDS if not _same(theirs[name], last[name])]


def read_row(job: Job) -> dict[str, Any]:
    """The declared fields of the row, as JSON."""
    return copy_values({name: getattr(job, name) for name in FIELDS})


def read_declared(job: Job) -> dict[str, Any]:
    """What the code said last, field by field, as JSON."""
    last = job.declared if isinstance(job.declared, dict) else {}
    return {name: last[name] if name in last else _plain(default_of(name)) for name in FIELDS}


def declared_value(job: Job, name: str) -> Any:
    """What the code said last of one field, as the row would hold it."""
    return _field(name).to_python(read_declared(job)[name])


def is_same_copy(job: Job, copy: Mapping[str, Any]) -> bool:
    """Whether the row keeps this copy already."""
    return isinstance(job.declared, dict) and _same(job.declared, dict(copy))


def default_of(name: str) -> Any:
    """What a job has in that field unless somebody says otherwise."""
    return _field(name).get_default()


def _field(name: str) -> Any:
    return Job._meta.get_field(name)


def _plain(value: Any) -> Any:
    match value:
        case Schedule():
            return _plain(value.to_dict())
        case Unreadable():
            return {"unreadable": value.text}
        case timedelta():
            return duration_iso_string(value)
        case datetime():
            return value.isoformat()
        case str():
            return str.__str__(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case _:
            return value


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON: True is not 1, but 1.0 and 1e25 are whole numbers, which PostgreSQL makes of them."""
    if type(one) is type(other) and not isinstance(one, list | dict):
        return bool(one == other)
    return json.dumps(_numbers(one), sort_keys=True) == json.dumps(_numbers(other), sort_keys=True)


def _numbers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(Decimal(repr(value)))
        case list():
            return [_numbers(item) for item in value]
        case dict():
            return {key: _numbers(item) for key, item in value.items()}
        case _:
            return value
