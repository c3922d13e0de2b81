"""Declared jobs become rows. Run after ``migrate``, at the start of a scheduler, and by ``manage.py gocron sync``.

Any number of processes may do this at once. Each job is one short transaction that reads the row under its lock and
merges again, so two that agree write the same, and an edit made meanwhile is not lost; of two that insert a job, the
unique key lets one win, and the other goes on with the winner's row. A run that finds nothing to do is one query.

Jobs that no code declares any more are left alone: an older release may be declaring them still.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError
from django.db.models import F, Q

from django_gocron import merging, registry
from django_gocron.engine.database import unit
from django_gocron.exceptions import DeclarationError, OperationError
from django_gocron.merging import overridden_fields
from django_gocron.models import Job, JobState
from django_gocron.sync_report import Action, Outcome, SyncReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from django_gocron.merging import Merge
    from django_gocron.registry import Declaration

__all__ = ["build", "find_clashes", "overridden_fields", "reset_to_code", "sync"]

logger = logging.getLogger("django_gocron")


def sync(using: str, *, dry_run: bool = False) -> SyncReport:
    """Bring the rows in line with the declarations of this process; with ``dry_run``, only say what that would do.

    A declaration that cannot be followed is refused in the report, and the others go on.
    """
    outcomes = _Sync(using, registry.declarations(), dry_run=dry_run).run()
    return SyncReport(outcomes=tuple(sorted(outcomes, key=lambda outcome: outcome.key)))


def find_clashes(declared: Sequence[Declaration]) -> dict[str, str]:
    """Keys that several functions claim, each with a message."""
    by_key: dict[str, list[Declaration]] = {}
    for declaration in declared:
        by_key.setdefault(declaration.key, []).append(declaration)
    return {
        key: f"{' and '.join(one.where for one in several)}: two functions of one app claim the key {key!r}."
        " Rename one of them."
        for key, several in by_key.items()
        if len(several) > 1
    }


def build(declaration: Declaration) -> Job:
    """The job as declared, unsaved and valid. Raises ``DeclarationError`` (``invalid_job``), which says where."""
    values = merging.read_values(declaration)
    job = Job(key=declaration.key, declared=merging.copy_values(values), **values)
    _validate(job, declaration)
    return job


def _validate(job: Job, declaration: Declaration, overridden: Sequence[str] = ()) -> None:
    try:
        job.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        faults = " ".join(
            f"{field}{' (changed in the admin)' if field in overridden else ''}: {' '.join(messages)}"
            for field, messages in error.message_dict.items()
        )
        raise _refusal(declaration, faults, "invalid_job") from None


def _refusal(declaration: Declaration, message: str, code: str) -> DeclarationError:
    return DeclarationError(f"{declaration.where}: {declaration.key}: {message}", code=code)


class _Sync:
    """One pass over the declarations. Existing rows come first: a name that one of them gives up can be taken."""

    def __init__(self, using: str, declared: Sequence[Declaration], *, dry_run: bool) -> None:
        self._using = using
        self._dry_run = dry_run
        self._clashes = find_clashes(declared)
        self._keys = {declaration.key for declaration in declared}
        self._declared = declared
        self._by_key: dict[str, Job] = {}
        self._by_name: dict[str, Job] = {}

    def run(self) -> Iterator[Outcome]:
        if not self._declared:
            return
        self._remember(self._read())
        for declaration in sorted(self._declared, key=lambda one: self._find_row(one) is None):
            yield self._sync_one(declaration)

    def _read(self) -> Iterable[Job]:
        keys = set(self._keys)
        for declaration in self._declared:
            keys.update(declaration.aliases, filter(None, [declaration.other_key]))
        names = {declaration.name for declaration in self._declared}
        return Job.objects.using(self._using).filter(Q(key__in=keys) | Q(name__in=names))

    def _remember(self, rows: Iterable[Job]) -> None:
        for row in rows:
            self._by_name[row.name] = row
            if row.key is not None:
                self._by_key[row.key] = row

    def _find_row(self, declaration: Declaration) -> Job | None:
        """The row of that key, else the row of an earlier key that nobody declares any more."""
        if declaration.key in self._by_key:
            return self._by_key[declaration.key]
        former = [self._by_key[key] for key in declaration.aliases if key in self._by_key]
        other = self._by_key.get(declaration.other_key)
        if other and merging.read_declared(other)["name"] == declaration.name:
            former.append(other)
        return next((row for row in former if row.key not in self._keys), None)

    def _sync_one(self, declaration: Declaration) -> Outcome:
        try:
            if message := self._clashes.get(declaration.key):
                raise DeclarationError(message, code="key_taken")
            row = self._find_row(declaration)
            return self._create(declaration) if row is None else self._update(declaration, row)
        except DeclarationError as error:
            message = error.message
        except (DataError, OverflowError) as error:
            message = f"{declaration.where}: {declaration.key}: the database refuses it: {error}"
        return Outcome(key=declaration.key, name=declaration.name, action=Action.REFUSED, message=message)

    def _create(self, declaration: Declaration) -> Outcome:
        job = build(declaration)
        self._refuse_taken_name(declaration, job)
        if not self._dry_run:
            try:
                job = unit(self._using, lambda: self._insert(declaration))
            except IntegrityError:
                return self._update(declaration, self._find_winner(declaration))
        self._remember([job])
        return Outcome(key=declaration.key, name=job.name, action=Action.CREATED)

    def _insert(self, declaration: Declaration) -> Job:
        """A row made anew for each attempt: one that was rolled back takes itself for saved."""
        job = build(declaration)
        job.save(using=self._using)
        return job

    def _find_winner(self, declaration: Declaration) -> Job:
        """The row of another process that inserted the job first."""
        self._remember(self._read())
        if declaration.key in self._by_key:
            return self._by_key[declaration.key]
        raise self._name_taken(declaration, self._by_name.get(declaration.name))

    def _update(self, declaration: Declaration, row: Job) -> Outcome:
        former_key, former_name = row.key or "", row.name
        merged = merging.merge(row, declaration)
        if _is_settled(row, declaration, merged):
            return _describe(declaration, row, Action.UNCHANGED, merged)
        if "name" in merged.changes:
            self._refuse_taken_name(declaration, row)
        row, merged = self._follow(declaration, row)
        self._by_name.pop(former_name, None)
        self._remember([row])
        action = Action.UPDATED if former_key == declaration.key else Action.RENAMED
        return _describe(declaration, row, action, merged, former_key=former_key)

    def _follow(self, declaration: Declaration, row: Job) -> tuple[Job, Merge]:
        if self._dry_run:
            return row, _apply(row, declaration)
        try:
            return unit(self._using, lambda: self._write(declaration, row.pk))
        except IntegrityError:
            raise self._name_taken(declaration, None) from None

    def _write(self, declaration: Declaration, pk: int) -> tuple[Job, Merge]:
        """Lock the state, as every edit does first; then read the row again, merge again, and save."""
        JobState.objects.using(self._using).filter(pk=pk).update(version=F("version"))
        job = Job.objects.using(self._using).select_for_update().filter(pk=pk).first()
        if job is None:
            raise _refusal(
                declaration, "It was deleted just now. The next sync makes it anew.", "job_deleted"
            )
        merged = _apply(job, declaration)
        job.save(using=self._using, update_fields=["key", "declared", *merged.changes])
        return job, merged

    def _refuse_taken_name(self, declaration: Declaration, job: Job) -> None:
        other = self._by_name.get(declaration.name)
        if other is not None and other.pk != job.pk:
            raise self._name_taken(declaration, other)

    def _name_taken(self, declaration: Declaration, other: Job | None) -> DeclarationError:
        """What to do depends on where the other job comes from."""
        app_label = declaration.key.partition(".")[0]
        advice = f"Rename that one, or give this one another name, such as name='{declaration.name} ({app_label})'."
        if other is not None and other.key is not None and other.key not in self._keys:
            advice += f" If it is the same job under a new key, add aliases=[{other.key!r}]."
        whose = f" (key {other.key!r})" if other is not None and other.key else ""
        message = f"A job named {declaration.name!r} exists already{whose}. {advice}"
        return _refusal(declaration, message, "name_taken")


def _is_settled(row: Job, declaration: Declaration, merged: Merge) -> bool:
    return row.key == declaration.key and not merged.changes and merging.is_same_copy(row, merged.copy)


def _apply(job: Job, declaration: Declaration) -> Merge:
    """Let the row follow the declaration, in memory. Raises ``DeclarationError`` where the result makes no sense."""
    merged = merging.merge(job, declaration)
    for name, value in merged.changes.items():
        setattr(job, name, value)
    job.key, job.declared = declaration.key, dict(merged.copy)
    if merged.changes:
        _validate(job, declaration, merged.overridden)
    return merged


def _describe(
    declaration: Declaration, row: Job, action: Action, merged: Merge, *, former_key: str = ""
) -> Outcome:
    return Outcome(
        key=declaration.key,
        name=row.name,
        action=action,
        changed=tuple(merged.changes),
        overridden=merged.overridden,
        former_key=former_key,
    )


def reset_to_code(job: Job, *, by: str = "") -> list[str]:
    """Let every overridden field follow the code again, and answer which they were.

    Raises ``OperationError``: ``not_declared`` for a job that no code has declared, ``name_taken``.
    """
    if job.key is None or job.declared is None:
        raise OperationError(f"{job.name!r} was not declared in code.", code="not_declared")
    fields = overridden_fields(job)
    for name in fields:
        setattr(job, name, merging.declared_value(job, name))
    if fields:
        try:
            job.save(update_fields=fields)
        except IntegrityError:
            message = f"Another job is named {job.name!r} by now."
            raise OperationError(message, code="name_taken", field="name") from None
        logger.info(
            "%s follows the code again in: %s.%s", job.name, ", ".join(fields), f" By {by}." if by else ""
        )
    return fields
