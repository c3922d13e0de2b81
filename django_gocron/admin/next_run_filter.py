"""The filter of jobs by their next run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.utils.translation import gettext_lazy

from django_gocron.admin.everywhere import next_instant
from django_gocron.admin.job_filters import Chip
from django_gocron.admin.job_list import state_of
from django_gocron.admin.situation import situation_of
from django_gocron.engine.everywhere import jobs_everywhere
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet
    from django.http import HttpRequest

SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}

OTHERS = ("later", "never")


class NextRunFilter(Chip):
    """By the state of each job; of those that every instance runs, whose states know no next run, by computing it."""

    title = gettext_lazy("Next run")
    parameter_name = "next"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("hour", gettext_lazy("within an hour")),
            ("day", gettext_lazy("within a day")),
            ("week", gettext_lazy("within 7 days")),
            ("later", gettext_lazy("later")),
            ("never", gettext_lazy("never")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        choice, now = self.value() or "", situation_of(request).now
        if choice not in (*SPANS, *OTHERS):
            return queryset
        everywhere = list(jobs_everywhere().using(database()).select_related("state"))
        found = [job.pk for job in everywhere if _is_in(choice, next_instant(job, state_of(job), now), now)]
        by_state = _condition(choice, now) & ~Q(pk__in=[job.pk for job in everywhere])
        return queryset.filter(by_state | Q(pk__in=found))


def _condition(choice: str, now: datetime) -> Q:
    match choice:
        case "never":
            return Q(state__next_run_at__isnull=True)
        case "later":
            return Q(state__next_run_at__gt=now + SPANS["week"])
        case _:
            return Q(state__next_run_at__lte=now + SPANS[choice])


def _is_in(choice: str, next_run_at: datetime | None, now: datetime) -> bool:
    if next_run_at is None or choice == "never":
        return next_run_at is None and choice == "never"
    if choice == "later":
        return next_run_at > now + SPANS["week"]
    return next_run_at <= now + SPANS[choice]
