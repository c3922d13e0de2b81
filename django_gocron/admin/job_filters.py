"""Filters of the jobs, drawn as chips above the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.utils.translation import gettext_lazy

from django_gocron.admin.schedule_kinds import JSON, KINDS, MANUAL
from django_gocron.admin.standing import Standing
from django_gocron.models.choices import Coordination
from django_gocron.schedules.codec import kinds

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


class Chip(admin.SimpleListFilter):
    """A filter that unfolds above the list."""

    template = "admin/gocron/parts/chip.html"


class StandingFilter(Chip):
    title = gettext_lazy("Status")
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(standing.name.lower(), standing.label) for standing in Standing]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        names = {standing.name.lower(): standing for standing in Standing}
        chosen = names.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(standing=chosen)


class KindFilter(Chip):
    title = gettext_lazy("Schedule")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        others = [(name, name) for name in kinds() if name not in KINDS]
        return [(kind.name, kind.label) for kind in KINDS.values() if kind.name != JSON] + others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case None:
                return queryset
            case name if name == MANUAL:
                return queryset.filter(schedule__isnull=True)
            case name:
                return queryset.filter(schedule__kind=name)


class SourceFilter(Chip):
    title = gettext_lazy("Defined in")
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("code", gettext_lazy("code")), ("admin", gettext_lazy("the admin"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "code":
                return queryset.filter(key__isnull=False)
            case "admin":
                return queryset.filter(key__isnull=True)
            case _:
                return queryset


class CoordinationFilter(Chip):
    title = gettext_lazy("Coordination")
    parameter_name = "coordination"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Coordination.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(coordination=self.value()) if self.value() else queryset
