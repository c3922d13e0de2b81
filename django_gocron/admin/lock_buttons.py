"""The table of the locks that are held, and the button of each lease: Release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.utils.translation import gettext as _

from django_gocron.admin import locks
from django_gocron.admin.situation import situation_of
from django_gocron.conf import get_settings
from django_gocron.exceptions import OperationError
from django_gocron.models.alias import database

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

    from django_gocron.admin.base import GocronAdmin
    from django_gocron.models import Lease

    _Base = GocronAdmin
else:
    _Base = object


class LockButtons(_Base):
    """For a ``ModelAdmin``."""

    def has_release_permission(self, request: HttpRequest) -> bool:
        """Whoever may change jobs can take their locks away altogether."""
        return self.has_view_permission(request) and request.user.has_perm("gocron.change_job")

    def get_urls(self) -> list[URLPattern]:
        return [self.path("locks/release/", "release_lock", self.release_view), *super().get_urls()]

    def locks_context(self, request: HttpRequest) -> dict[str, Any]:
        """What the table of locks needs."""
        shown, has_more = locks.read_locks(
            database(), situation_of(request), lambda pk: self.run_url(request, pk)
        )
        return {
            "locks": shown,
            "has_more_locks": has_more,
            "has_lockers": bool(get_settings().lockers),
            "release_url": self.url("release_lock") if self.has_release_permission(request) else "",
        }

    def release_view(self, request: HttpRequest) -> HttpResponse:
        """It answers to its button alone, and asks before it acts."""
        if request.method != "POST":
            return self._refuse_get(request)
        if not self.has_release_permission(request):
            return self.forbid(request, _("You may not release locks."), _("Can change job"))
        try:
            lease = locks.get_lease(database(), request.POST.get("lock", ""), request.POST.get("version", ""))
            if "sure" not in request.POST:
                return self._confirm_release(request, lease)
            sentence = locks.release(database(), lease)
        except OperationError as error:
            self.message_user(request, error.message, messages.WARNING)
        else:
            self.log_change(request, lease, sentence)
            self.message_user(request, sentence, messages.SUCCESS)
        return HttpResponseRedirect(self.way_back(request, self.url("changelist")))

    def _refuse_get(self, request: HttpRequest) -> HttpResponse:
        text = _("This address acts on a lock, so it answers only when its button is pressed.")
        response = self.refuse(request, 405, _("Press the button"), text)
        response["Allow"] = "POST"
        return response

    def _confirm_release(self, request: HttpRequest, lease: Lease) -> HttpResponse:
        return self.own_page(
            request,
            "instance/confirm_release.html",
            title=_("Release the lock?"),
            lease=lease,
            instance=locks.holding_instance(lease),
            version=locks.version_of(lease),
            target=self.url("release_lock"),
            next=self.way_back(request, self.url("changelist")),
        )
