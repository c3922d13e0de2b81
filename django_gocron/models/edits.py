"""Edits of jobs in bulk, and the lock that every edit takes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.db import models, router, transaction
from django.db.models import F, Max, Q

from django_gocron.models.changes import definition_changed
from django_gocron.models.state import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django_gocron.models.job import Job


class JobQuerySet(models.QuerySet["Job"]):
    """Every edit bumps ``plan_version`` in its own statement and is followed by a new plan in its transaction."""

    def get_by_natural_key(self, name: str) -> Job:
        return self.get(name=name)

    def tagged(self, *tags: str, match: str = "any") -> Self:
        """Jobs with any of the tags, or with ``match="all"`` with all of them."""
        if match not in {"any", "all"}:
            raise ValueError(f"match is 'any' or 'all', not {match!r}.")
        wanted = [Q(tags__contains=f"|{tag.strip().lower()}|") for tag in tags]
        condition = Q(pk__in=[]) if match == "any" else Q()
        for one in wanted:
            condition = condition | one if match == "any" else condition & one
        return self.filter(condition)

    def update(self, **changes: Any) -> int:
        with transaction.atomic(using=self._write_alias):
            lock_states(self._write_alias, self)
            count = super().update(**changes, plan_version=F("plan_version") + 1)
            self._announce()
        return count

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[Job], *args: Any, **kwargs: Any) -> list[Job]:
        objs = list(objs)
        with transaction.atomic(using=self._write_alias):
            if kwargs.get("update_conflicts"):
                kwargs["update_fields"] = [*kwargs["update_fields"], "plan_version"]
                self._outdate(objs)
            created = super().bulk_create(objs, *args, **kwargs)
            self._announce()
        return created

    def _outdate(self, objs: Iterable[Job]) -> None:
        """An upsert cannot count from what it meets: give its rows a version that no row has."""
        rows = self.model._base_manager.using(self._write_alias)
        highest = rows.aggregate(version=Max("plan_version"))["version"] or 0
        for job in objs:
            job.plan_version = highest + 1

    @property
    def _write_alias(self) -> str:
        alias: str | None = self._db  # type: ignore[attr-defined]
        return alias or router.db_for_write(self.model, **self._hints)  # type: ignore[attr-defined]

    def _announce(self) -> None:
        definition_changed.send(sender=self.model, using=self._write_alias, job_ids=None)


def lock_states(using: str, jobs: Any) -> int:
    """Take the state rows of these jobs (keys, or a queryset) before the jobs are written, in the order in which the
    engine takes locks; by a write, since SQLite wants one first. Answers how many there are."""
    return JobState.objects.using(using).filter(pk__in=jobs).update(version=F("version"))
