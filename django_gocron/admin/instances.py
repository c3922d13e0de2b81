"""The pages of instances: to be read."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ChangeList
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin import marks
from django_gocron.admin.base import ReadOnlyAdmin
from django_gocron.admin.leaders import describe_schedulers, role_of
from django_gocron.admin.lock_buttons import LockButtons
from django_gocron.admin.moments import ago, in_zone, project_zone, short, time_tag
from django_gocron.admin.situation import is_live, situation_of
from django_gocron.conf import get_settings
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.utils.safestring import SafeString

    from django_gocron.admin.situation import Situation
    from django_gocron.models import Instance

CLOCK_TROUBLE = 1.0
"""Seconds of difference to the database's clock from which people should look."""


class InstanceChangeList(ChangeList):
    """A stock list whose instances know the situation."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: Any = list(self.result_list)
        for instance in self.result_list:
            instance.situation = situation_of(request)


class InstanceAdmin(LockButtons, ReadOnlyAdmin):
    list_display = [
        "title",
        "state",
        "role",
        "heartbeat",
        "running_now",
        "workers",
        "labels_column",
        "host",
        "pid",
        "clock",
        "versions_column",
        "started",
    ]
    list_display_links = ["title"]
    search_fields = ["name", "host"]
    actions = None

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Without roles where nobody elects a leader."""
        hidden = () if situation_of(request).has_election else ("role",)
        return [name for name in self.list_display if name not in hidden]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "schedulers": describe_schedulers(situation_of(request)),
            **self.locks_context(request),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instance]:
        instances: QuerySet[Instance] = self.model._default_manager.using(database())
        return instances.order_by("-heartbeat_at")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ("-heartbeat_at",)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[InstanceChangeList]:
        return InstanceChangeList

    def has_delete_permission(self, request: HttpRequest, obj: Instance | None = None) -> bool:
        return False

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        *args: Any,
        obj: Instance | None = None,
        **kwargs: Any,
    ) -> HttpResponse:
        if obj is not None:
            obj.situation = situation_of(request)  # type: ignore[attr-defined]
            context["facts"] = self._facts(request, obj)
            context["runs_url"] = self.runs_url(request, instance=obj.pk)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def _facts(self, request: HttpRequest, instance: Any) -> list[tuple[Any, Any]]:
        """What the list says, one below the other."""
        names = [str(name) for name in self.get_list_display(request) if name != "title"]
        return [
            (capfirst(str(label_for_field(name, self.model, self))), lookup_field(name, instance, self)[2])
            for name in names
        ]

    @admin.display(description=gettext_lazy("Name"), ordering="name")
    def title(self, instance: Any) -> str:
        return instance.name or str(instance.pk)

    @admin.display(description=gettext_lazy("State"))
    def state(self, instance: Any) -> SafeString:
        return marks.badge(*state_of(instance, instance.situation))

    @admin.display(description=gettext_lazy("Role"))
    def role(self, instance: Any) -> str:
        return role_of(instance, instance.situation)

    @admin.display(description=gettext_lazy("Heartbeat"), ordering="heartbeat_at")
    def heartbeat(self, instance: Any) -> SafeString:
        return time_tag(instance.heartbeat_at, ago(instance.situation.now - instance.heartbeat_at))

    @admin.display(description=gettext_lazy("Running now"))
    def running_now(self, instance: Any) -> int:
        return instance.situation.count_on(instance.pk)  # type: ignore[no-any-return]

    @admin.display(description=gettext_lazy("Labels"))
    def labels_column(self, instance: Any) -> str:
        return ", ".join(map(str, instance.labels)) if isinstance(instance.labels, list) else ""

    @admin.display(description=gettext_lazy("Clock"), ordering="clock_offset")
    def clock(self, instance: Any) -> str:
        return clock_text(instance.clock_offset)

    @admin.display(description=gettext_lazy("Versions"))
    def versions_column(self, instance: Any) -> str:
        versions = instance.versions if isinstance(instance.versions, dict) else {}
        return ", ".join(f"{name} {version}" for name, version in versions.items())

    @admin.display(description=gettext_lazy("Started"), ordering="started_at")
    def started(self, instance: Any) -> SafeString:
        return _moment(instance.started_at)


def _moment(instant: datetime) -> SafeString:
    return time_tag(instant, in_zone(instant, project_zone()))


def state_of(instance: Instance, situation: Situation) -> tuple[str, str, str]:
    """Shape, tone and word: OK, Late (its heartbeat is overdue), Dead (its lease is over), Stopped."""
    silent = situation.now - instance.heartbeat_at
    if instance.stopped_at:
        return "hollow-circle", "quiet", _("Stopped")
    if not is_live(instance, situation.now):
        return "cross", "failed", _("Dead")
    if silent > 2 * get_settings().heartbeat:
        return "triangle", "late", _("Late")
    return "circle", "ok", _("OK")


def clock_text(offset: float) -> str:
    """``offset`` is how many seconds the database's clock is ahead of the instance's."""
    if abs(offset) < CLOCK_TROUBLE:
        return _("in step")
    message = _("%(duration)s behind: check NTP") if offset > 0 else _("%(duration)s ahead: check NTP")
    return message % {"duration": short(timedelta(seconds=abs(offset)))}
