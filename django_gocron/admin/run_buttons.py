"""The button of a run that is live: Cancel. The same for a selection of runs, of which each is told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.admin.utils import unquote
from django.http import HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_gocron.admin import acts
from django_gocron.admin.marks import find_status
from django_gocron.admin.moments import in_zone, project_zone
from django_gocron.exceptions import GocronError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

    from django_gocron.admin.base import GocronAdmin
    from django_gocron.models import Run

    _Base = GocronAdmin
else:
    _Base = object

NAMED = 20
"""Refusals that are told one by one, at most."""


class RunButtons(_Base):
    """For a ``ModelAdmin``."""

    actions = ["cancel_selected"]

    def has_cancel_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return self.has_view_permission(request, obj) and request.user.has_perm("gocron.cancel_run")

    def get_urls(self) -> list[URLPattern]:
        cancel = self.path("<path:object_id>/cancel/", "cancel", self.cancel_view)
        return [cancel, *super().get_urls()]

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """It answers to its button alone, and asks before it acts."""
        if request.method != "POST":
            return self._refuse_get(request)
        if not self.has_cancel_permission(request):
            return self.forbid(request, _("You may not cancel runs."), _("Can cancel a run"))
        run = self.get_object(request, unquote(object_id))
        if run is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
        if "sure" not in request.POST:
            return self.confirm_cancel(request, [run], self.url("cancel", run.pk))
        self._cancel(request, [run])
        return HttpResponseRedirect(self.way_back(request, self.url_of(request, run)))

    def _refuse_get(self, request: HttpRequest) -> HttpResponse:
        text = _("This address acts on a run, so it answers only when its button is pressed.")
        response = self.refuse(request, 405, _("Press the button"), text)
        response["Allow"] = "POST"
        return response

    def confirm_cancel(
        self, request: HttpRequest, runs: Sequence[Run], target: str = "", **context: Any
    ) -> HttpResponse:
        """Ask before cancelling. ``target`` is where the answer goes; "" is this page."""
        return self.own_page(
            request,
            "run/confirm_cancel.html",
            title=_("Cancel?"),
            runs=[(run.job_name, in_zone(run.scheduled_for, project_zone()), _word(run)) for run in runs],
            target=target,
            next=self.way_back(request, self.url("changelist")),
            **context,
        )

    @admin.action(permissions=["cancel"], description=gettext_lazy("Cancel"))
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Run]) -> HttpResponse | None:
        if "sure" in request.POST:
            self._cancel(request, list(queryset))
            return None
        return self.confirm_cancel(
            request,
            list(queryset),
            action="cancel_selected",
            selected=request.POST.getlist(helpers.ACTION_CHECKBOX_NAME),
            select_across=request.POST.get("select_across", "0"),
            checkbox_name=helpers.ACTION_CHECKBOX_NAME,
        )

    def _cancel(self, request: HttpRequest, runs: Sequence[Run]) -> None:
        done: list[str] = []
        refused: list[str] = []
        for run in runs:
            try:
                sentence = acts.cancel(run, by=request.user.get_username())
            except GocronError as error:
                refused.append(f"{run.job_name}: {error.message}")
            else:
                done.append(sentence)
                self.log_change(request, run, sentence)
        if done:
            self.message_user(request, done[0] if len(done) == 1 else _in_sum(len(done)), messages.SUCCESS)
        self._tell_refusals(request, refused)

    def _tell_refusals(self, request: HttpRequest, refused: Sequence[str]) -> None:
        for reason in refused[:NAMED]:
            self.message_user(request, reason, messages.WARNING)
        if left := len(refused[NAMED:]):
            more = ngettext("%(n)d more run could not either.", "%(n)d more runs could not either.", left)
            self.message_user(request, more % {"n": left}, messages.WARNING)


def _in_sum(number: int) -> str:
    text = ngettext("%(n)d run is cancelled.", "%(n)d runs are cancelled.", number) % {"n": number}
    return f"{text} {_('Those that execute have been asked to end.')}"


def _word(run: Run) -> str:
    status = find_status(run.status)
    return str(status.label) if status else run.status
