"""What the pages of all three models share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from django_gocron.admin.moments import ago
from django_gocron.admin.situation import situation_of
from django_gocron.conf import Settings, get_settings
from django_gocron.exceptions import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import Model
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern
    from django.utils.functional import _StrOrPromise

    from django_gocron.admin.situation import Situation

    _Base = admin.ModelAdmin[Any]


def find_base_class() -> type[admin.ModelAdmin[Any]]:
    """``GOCRON["ADMIN_BASE_CLASS"]``; Django's own where it cannot be imported, which the system check reports."""
    try:
        base: type[admin.ModelAdmin[Any]] = import_string(get_settings().admin_base_class)
    except (ConfigurationError, ImportError):
        base = import_string(Settings().admin_base_class)
    return base


if not TYPE_CHECKING:
    _Base = find_base_class()


class GocronAdmin(_Base):
    """Stock pages, with a notice on each while no scheduler runs, and refusals in plain words."""

    searched: _StrOrPromise = ""
    """What the search looks into. (Django's own ``search_help_text`` leaves the box without a label.)"""
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    class Media:
        css = {"all": ["gocron/admin.css"]}
        js = ["gocron/admin.js"]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {**self.page_context(request), **(extra_context or {})}
        response: HttpResponse = super().changelist_view(request, context)
        return response

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context.update(self.page_context(request))
        return super().render_change_form(request, context, *args, **kwargs)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {**self.page_context(request), **(extra_context or {})}
        return super().history_view(request, object_id, context)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {**self.page_context(request), **(extra_context or {})}
        return super().delete_view(request, object_id, context)

    def page_context(self, request: HttpRequest) -> dict[str, Any]:
        """What our templates need on every page. ``gocron_here`` is where buttons lead back to."""
        return {
            "gocron_notice": notice(situation_of(request)),
            "gocron_here": request.get_full_path(),
        }

    def own_page(
        self, request: HttpRequest, template: str, status: int = 200, **context: Any
    ) -> HttpResponse:
        """A page of ours inside the admin."""
        request.current_app = self.admin_site.name
        everything = {
            **self.admin_site.each_context(request),
            **self.page_context(request),
            "opts": self.opts,
            "media": self.media,
            **context,
        }
        return TemplateResponse(request, f"admin/gocron/{template}", everything, status=status)

    def refuse(
        self, request: HttpRequest, status: int, title: str, text: str, back: str = ""
    ) -> HttpResponse:
        """Say no in plain words, with a way back."""
        back = back or self.url("changelist")
        return self.own_page(request, "refusal.html", status, title=title, text=text, back=back)

    def forbid(self, request: HttpRequest, text: str, permission: str) -> HttpResponse:
        advice = _("Ask an administrator for the permission “%(permission)s”.") % {"permission": permission}
        return self.refuse(request, 403, _("Not allowed"), f"{text} {advice}", reverse("admin:index"))

    def path(self, route: str, name: str, view: Callable[..., HttpResponse]) -> URLPattern:
        """An address of ours beside the stock ones of this model."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return path(route, self.admin_site.admin_view(view), name=name)

    def url(self, page: str, *args: Any) -> str:
        """The address of a page of this model: "changelist", "change" and so on."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=args, current_app=self.admin_site.name)

    def run_url(self, request: HttpRequest, pk: int | None) -> str:
        """The page of a run, or "" where there is none or the user may not see it."""
        if pk is None or not request.user.has_perm("gocron.view_run"):
            return ""
        return reverse("admin:gocron_run_change", args=[pk], current_app=self.admin_site.name)

    def runs_url(self, request: HttpRequest, **filters: Any) -> str:
        """The list of the runs that these filters let through, or "" where the user may not see it."""
        if not request.user.has_perm("gocron.view_run"):
            return ""
        address = reverse("admin:gocron_run_changelist", current_app=self.admin_site.name)
        return f"{address}?{urlencode(filters)}"

    def url_of(self, request: HttpRequest, obj: Model) -> str:
        """The page of a row, from which the list is found again as it was."""
        filters = self.get_preserved_filters(request)
        return add_preserved_filters(
            {"preserved_filters": filters, "opts": self.opts}, self.url("change", obj.pk)
        )

    def way_back(self, request: HttpRequest, default: str) -> str:
        """Where the form that was sent says it came from, if that is on this site."""
        target = request.POST.get("next", "")
        allowed = url_has_allowed_host_and_scheme(
            target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        return target if allowed else default


class ReadOnlyAdmin(GocronAdmin):
    """Rows that only the engine writes. The page of one is drawn by its template, without form fields."""

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return []

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def notice(situation: Situation) -> str:
    """When the last scheduler was heard of, where none is running; "" where one is."""
    if situation.live:
        return ""
    latest = situation.latest
    if latest is None:
        return _("No scheduler has ever run here.")
    when = ago(situation.now - latest.heartbeat_at)
    return _("Last heartbeat: %(name)s, %(when)s.") % {"name": latest.name, "when": when}
