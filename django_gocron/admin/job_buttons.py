"""The buttons of one job: Run now, Pause, Resume, Release, Skip next run, Reset to code.

Their addresses only answer POST. Who lacks the permission is told so in plain words.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.http import HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_gocron.admin import acts
from django_gocron.admin.moments import zone_of
from django_gocron.admin.pause_form import PauseForm
from django_gocron.admin.situation import situation_of
from django_gocron.conf import get_settings
from django_gocron.exceptions import GocronError
from django_gocron.models import Job

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern

    from django_gocron.admin.base import GocronAdmin

    _Base = GocronAdmin
else:
    _Base = object

PERMISSIONS = {
    "run": (gettext_lazy("You may not run jobs."), gettext_lazy("Can run a job now")),
    "pause": (gettext_lazy("You may not pause or resume jobs."), gettext_lazy("Can pause and resume a job")),
    "change": (gettext_lazy("You may not change jobs."), gettext_lazy("Can change job")),
}


class JobButtons(_Base):
    """Views for a ``ModelAdmin``."""

    def has_run_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return self.has_view_permission(request, obj) and request.user.has_perm("gocron.run_job")

    def has_pause_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return self.has_view_permission(request, obj) and request.user.has_perm("gocron.pause_job")

    def get_urls(self) -> list[URLPattern]:
        buttons = {
            "run": ("run", self.press_run),
            "pause": ("pause", self.press_pause),
            "resume": ("pause", self.press_resume),
            "release": ("pause", self.press_release),
            "skip": ("pause", self.press_skip),
            "reset": ("change", self.press_reset),
        }
        urls = [
            self.path(f"<path:object_id>/{name}/", name, self._button(permission, press))
            for name, (permission, press) in buttons.items()
        ]
        return [*urls, *super().get_urls()]

    def _button(self, permission: str, press: Callable[[HttpRequest, Job], HttpResponse]) -> Any:
        """The view of a button: it has to be pressed, by somebody who may."""

        def view(request: HttpRequest, object_id: str) -> HttpResponse:
            if request.method != "POST":
                return self._refuse_method(request)
            if not getattr(self, f"has_{permission}_permission")(request):
                text, name = PERMISSIONS[permission]
                return self.forbid(request, str(text), str(name))
            job = self.get_object(request, unquote(object_id))
            if job is None:
                return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
            return press(request, job)

        return update_wrapper(view, press)

    def _refuse_method(self, request: HttpRequest) -> HttpResponse:
        text = _("This address acts on a job, so it answers only when its button is pressed.")
        response = self.refuse(request, 405, _("Press the button"), text)
        response["Allow"] = "POST"
        return response

    def _go_back(self, request: HttpRequest, job: Job) -> HttpResponse:
        return HttpResponseRedirect(self.way_back(request, self.url_of(request, job)))

    def press_run(self, request: HttpRequest, job: Job) -> HttpResponse:
        if get_settings().confirm_run == "always" and "sure" not in request.POST:
            return self.confirm_run(request, [job], self.url("run", job.pk))
        try:
            run, sentence = acts.run(job, situation_of(request), by=who(request), press=token(request))
        except GocronError as error:
            self.message_user(request, f"{job.name}: {error.message}", messages.ERROR)
        else:
            self.log_change(request, job, _("Asked to run now."))
            self.message_user(request, self._with_link(request, sentence, run.pk), messages.SUCCESS)
        return self._go_back(request, job)

    def _with_link(self, request: HttpRequest, sentence: str, run_id: int) -> str:
        address = self.run_url(request, run_id)
        return (
            format_html('{} <a href="{}">{}</a>', sentence, address, _("View run")) if address else sentence
        )

    def confirm_run(
        self, request: HttpRequest, jobs: list[Job], target: str = "", **context: Any
    ) -> HttpResponse:
        """Ask before running. ``target`` is where the answer goes; "" is this page."""
        return self.own_page(
            request,
            "job/confirm_run.html",
            title=_("Run now?"),
            jobs=jobs,
            target=target,
            next=self.way_back(request, self.url("changelist")),
            **context,
        )

    def press_pause(self, request: HttpRequest, job: Job) -> HttpResponse:
        zone = zone_of(job)
        asked = "ask" in request.POST
        form = PauseForm(None if asked else request.POST, zone=zone)
        if asked or not form.is_valid():
            return self.ask_pause(request, [job], form, self.url("pause", job.pk))
        return self._act(request, job, lambda: acts.pause(job, by=who(request), **form.cleaned_data))

    def ask_pause(
        self, request: HttpRequest, jobs: list[Job], form: PauseForm, target: str = "", **context: Any
    ) -> HttpResponse:
        """Ask for the reason and the end of a pause."""
        return self.own_page(
            request,
            "job/pause.html",
            title=_("Pause"),
            jobs=jobs,
            form=form,
            target=target,
            next=self.way_back(request, self.url("changelist")),
            **context,
        )

    def press_resume(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self._act(request, job, lambda: acts.resume(job))

    def press_release(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self._act(request, job, lambda: acts.release(job, now=situation_of(request).now))

    def press_skip(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self._act(request, job, lambda: acts.skip(job, by=who(request)))

    def press_reset(self, request: HttpRequest, job: Job) -> HttpResponse:
        return self._act(request, job, lambda: acts.reset(job, by=who(request)))

    def _act(self, request: HttpRequest, job: Job, act: Callable[[], str]) -> HttpResponse:
        try:
            sentence = act()
        except GocronError as error:
            self.message_user(request, f"{job.name}: {error.message}", messages.ERROR)
        else:
            self.log_change(request, job, sentence)
            self.message_user(request, sentence, messages.SUCCESS)
        return self._go_back(request, job)


def who(request: HttpRequest) -> str:
    return request.user.get_username()


def token(request: HttpRequest) -> str:
    """Differs from one rendering of a page to the next."""
    return request.POST.get("csrfmiddlewaretoken", "")
