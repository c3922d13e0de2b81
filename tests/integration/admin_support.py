"""What the tests of the admin share: users, rows, and reading a page as a browser without scripts does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from django_gocron.models import Instance, Job, Run
from django_gocron.models.choices import Status

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def send_report(region: str = "eu", limit: int = 100) -> None:
    """Send the report of a region."""


def tidy() -> None: ...


TASK = f"{__name__}.send_report"
TIDY = f"{__name__}.tidy"


def sign_in(*permissions: str, name: str = "anna") -> Client:
    """A browser in which a member of staff with these permissions is signed in."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def sign_in_superuser(name: str = "root") -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(name))
    return client


def start_instance(*tasks: str, name: str = "web-1", **values: Any) -> Instance:
    """A row of a scheduler that is alive."""
    now = datetime.now(UTC)
    values = {"started_at": now, "heartbeat_at": now, "lease_expires_at": now + timedelta(hours=1), **values}
    return Instance.objects.create(name=name, tasks=list(tasks or (TASK, TIDY)), **values)


def make_run(job: Job, status: Status = Status.SUCCEEDED, **values: Any) -> Run:
    values = {"scheduled_for": START, "task": job.task, "job_name": job.name, **values}
    return Run.objects.create(job=job, status=status, **values)


def url(page: str, *args: Any, model: str = "job") -> str:
    return reverse(f"admin:gocron_{model}_{page}", args=args)


def get_text(client: Client, address: str, **query: str) -> str:
    response = client.get(address, query)
    assert response.status_code == 200, response.status_code
    return text_of(response.content.decode())


def text_of(html: str) -> str:
    """What is to be read on a page, in one line."""
    reader = _TextReader()
    reader.feed(html)
    return re.sub(r"\s+", " ", "".join(reader.parts))


def messages_after(response: Any) -> list[str]:
    """What the next page tells of the request that was answered."""
    return [text_of(str(message)) for message in response.wsgi_request._messages]


def history_of(job: Job) -> list[str]:
    entries = LogEntry.objects.filter(object_id=str(job.pk)).order_by("pk")
    return [entry.get_change_message() for entry in entries]


def read_form(client: Client, address: str, form_id: str = "job_form") -> dict[str, Any]:
    """The values that a browser would send back if nothing were touched."""
    reader = _FormReader(form_id)
    reader.feed(client.get(address).content.decode())
    return reader.values


def field_errors(response: Any) -> dict[str, list[str]]:
    """The messages of a form that was refused, by field."""
    form = response.context["adminform"].form
    return {name: [str(error) for error in errors] for name, errors in form.errors.items()}


class _TextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("script", "style", "datalist", "select")
        self.parts.append(" " if tag in ("td", "br", "li", "p", "div", "th", "button") else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "datalist", "select")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


class _FormReader(HTMLParser):
    """The fields of one form, as a browser sends them."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self._form_id = form_id
        self._inside = False
        self._open = ""
        self._text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = dict(attrs)
        name = found.get("name") or ""
        if tag == "form":
            self._inside = found.get("id") == self._form_id
        if not self._inside:
            return
        match tag:
            case "input" if found.get("type") in ("checkbox", "radio"):
                self._add(name, found.get("value") or "on", "checked" in found)
            case "input" if found.get("type") not in ("submit", "button"):
                self.values[name] = found.get("value") or ""
            case "select":
                self._open = name
                self.values[name] = ""
            case "option" if "selected" in found:
                self.values[self._open] = found.get("value") or ""
            case "textarea":
                self._open, self._text = name, ""
            case _:
                pass

    def _add(self, name: str, value: str, is_checked: bool) -> None:
        if is_checked and name in self.values:
            self.values[name] = [*self.values[name], value]
        elif is_checked:
            self.values[name] = [value]

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == "textarea":
            self.values[self._open] = self._text.removeprefix("\n")
        elif tag == "form":
            self._inside = False
