"""Actions on several jobs at once. Each job is told apart: one that cannot does not keep the others from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.admin.actions import delete_selected as delete_stock
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_gocron.admin import acts
from django_gocron.admin.job_buttons import token, who
from django_gocron.admin.job_list import state_of
from django_gocron.admin.moments import project_zone
from django_gocron.admin.overrides import why_it_stays
from django_gocron.admin.pause_form import PauseForm
from django_gocron.admin.situation import situation_of
from django_gocron.conf import get_settings
from django_gocron.exceptions import GocronError, OperationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse

    from django_gocron.admin.job_buttons import JobButtons
    from django_gocron.models import Job

    _Base = JobButtons
else:
    _Base = object

NAMED = 20
"""Jobs named one by one in messages, at most."""


class JobActions(_Base):
    """For a ``ModelAdmin`` with :class:`JobButtons`."""

    actions = ["run_selected", "pause_selected", "resume_selected", "skip_selected", "delete_selected"]

    @admin.action(permissions=["run"], description=gettext_lazy("Run now"))
    def run_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        if get_settings().confirm_run != "never" and "sure" not in request.POST:
            return self.confirm_run(request, list(queryset), **_again(request, "run_selected"))
        situation = situation_of(request)

        def run(job: Job) -> str:
            _refuse_disabled(job)
            acts.run(job, situation, by=who(request), press=token(request))
            return _("Asked to run now.")

        done = self._each(request, queryset, run)
        if done:
            text = ngettext("%(n)d job is queued: %(names)s.", "%(n)d jobs are queued: %(names)s.", len(done))
            if not situation.live:
                text += f" {_('No scheduler is running, so they will start when one does.')}"
            self._report(request, text, done)
        return None

    @admin.action(permissions=["pause"], description=gettext_lazy("Pause…"))
    def pause_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        sure = "sure" in request.POST
        form = PauseForm(request.POST if sure else None, zone=project_zone())
        if not sure or not form.is_valid():
            return self.ask_pause(request, list(queryset), form, **_again(request, "pause_selected"))
        done = self._each(
            request, queryset, lambda job: acts.pause(job, by=who(request), **form.cleaned_data)
        )
        text = ngettext("%(n)d job is paused: %(names)s.", "%(n)d jobs are paused: %(names)s.", len(done))
        self._report(request, text, done)
        return None

    @admin.action(permissions=["pause"], description=gettext_lazy("Resume"))
    def resume_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        def resume(job: Job) -> str:
            if job.paused_at is None and state_of(job).quarantined_at is None:
                raise OperationError(_("It is not paused."), code="not_paused")
            return acts.resume(job)

        done = self._each(request, queryset, resume)
        text = ngettext("%(n)d job is resumed: %(names)s.", "%(n)d jobs are resumed: %(names)s.", len(done))
        self._report(request, text, done)

    @admin.action(permissions=["pause"], description=gettext_lazy("Skip next run"))
    def skip_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        done = self._each(request, queryset, lambda job: acts.skip(job, by=who(request)))
        text = ngettext(
            "%(n)d job will skip its next run: %(names)s.",
            "%(n)d jobs will skip their next run: %(names)s.",
            len(done),
        )
        self._report(request, text, done)

    @admin.action(permissions=["delete"], description=gettext_lazy("Delete"))
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        staying = {job.pk: why for job in queryset if (why := why_it_stays(job))}
        for why in list(staying.values())[:NAMED]:
            self.message_user(request, why, messages.ERROR)
        leaving = queryset.exclude(pk__in=list(staying))
        if not leaving.exists():
            return None
        response = delete_stock(self, request, leaving)
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            response.context_data.update(self.page_context(request))
        return response

    def _each(self, request: HttpRequest, jobs: QuerySet[Job], act: Callable[[Job], str]) -> list[str]:
        """Do it to each; answer the names of those that could, and name the others with their reasons."""
        done, refused = [], []
        for job in jobs:
            try:
                self.log_change(request, job, act(job))
            except GocronError as error:
                refused.append(f"{job.name}: {error.message}")
            else:
                done.append(job.name)
        for reason in refused[:NAMED]:
            self.message_user(request, reason, messages.WARNING)
        if len(refused) > NAMED:
            left = len(refused) - NAMED
            more = ngettext("%(n)d more job could not either.", "%(n)d more jobs could not either.", left)
            self.message_user(request, more % {"n": left}, messages.WARNING)
        return done

    def _report(self, request: HttpRequest, text: str, done: Sequence[str]) -> None:
        if done:
            names = ", ".join(done[:NAMED]) + (", …" if len(done) > NAMED else "")
            self.message_user(request, text % {"n": len(done), "names": names}, messages.SUCCESS)


def _refuse_disabled(job: Job) -> None:
    """In a selection a disabled job is more likely an oversight than a wish."""
    if not job.enabled:
        message = _("It is disabled. Run it from its own row or page if you mean it.")
        raise OperationError(message, code="disabled")


def _again(request: HttpRequest, action: str) -> dict[str, Any]:
    """What the page that asks has to send with the answer, so that the same action is done to the same jobs."""
    return {
        "action": action,
        "selected": request.POST.getlist(helpers.ACTION_CHECKBOX_NAME),
        "select_across": request.POST.get("select_across", "0"),
        "checkbox_name": helpers.ACTION_CHECKBOX_NAME,
    }
