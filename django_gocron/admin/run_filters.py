"""Filters of the runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from django_gocron.admin.job_filters import Chip
from django_gocron.admin.situation import situation_of
from django_gocron.models import Instance, Job
from django_gocron.models.alias import database
from django_gocron.models.choices import Origin, Status

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet
    from django.http import HttpRequest


class StatusFilter(Chip):
    title = gettext_lazy("Status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class OriginFilter(Chip):
    title = gettext_lazy("Origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Origin.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(origin=self.value()) if self.value() else queryset


class PeriodFilter(Chip):
    """By the instant a run was scheduled for."""

    title = gettext_lazy("Period")
    parameter_name = "period"

    SPANS = {
        "1h": timedelta(hours=1),
        "24h": timedelta(days=1),
        "7d": timedelta(days=7),
        "30d": timedelta(days=30),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("1h", gettext_lazy("last hour")),
            ("24h", gettext_lazy("last 24 hours")),
            ("7d", gettext_lazy("last 7 days")),
            ("30d", gettext_lazy("last 30 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        span = self.SPANS.get(self.value() or "")
        return queryset.filter(scheduled_for__gte=situation_of(request).now - span) if span else queryset


class LinkedFilter(Chip):
    """A filter that other pages link to: while it is in force it shows the row whose runs it lets through."""

    linked: type[Model]
    found: Any = None

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        value = self.value()
        if not value:
            return []
        self.found = self._find(value)
        return [(value, self.found.name if self.found else value)]

    def _find(self, value: str) -> Any:
        try:
            return self.linked._default_manager.using(database()).filter(pk=value).first()
        except (ValueError, ValidationError):
            return None

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        return queryset.filter(**{str(self.parameter_name): self.found.pk}) if self.found else queryset.none()


class JobFilter(LinkedFilter):
    title = gettext_lazy("Job")
    parameter_name = "job"
    linked = Job


class InstanceFilter(LinkedFilter):
    title = gettext_lazy("Instance")
    parameter_name = "instance"
    linked = Instance
