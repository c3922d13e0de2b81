"""A real browser before a real server, under a strict Content-Security-Policy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from django_gocron import registry
from tests.integration.admin_support import send_report, tidy
from tests.services import find_service

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

PATIENCE = 30_000  # milliseconds


class StrictPolicy:
    """Middleware: what a careful project sends."""

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self._get_response(request)
        response["Content-Security-Policy"] = POLICY
        return response


@dataclass
class Visit:
    """A page, and what the browser has complained about so far."""

    page: Page
    server: str
    complaints: list[str] = field(default_factory=list)

    def go(self, address: str) -> Page:
        self.page.goto(f"{self.server}{address}")
        return self.page

    def note(self, message: Any) -> None:
        if message.type in ("error", "warning") and not message.location["url"].endswith("/favicon.ico"):
            self.complaints.append(message.text)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Playwright runs an event loop in this thread, in which Django would refuse to touch the database."""
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_service("chromium").location, args=["--no-sandbox"]
        )
        yield browser
        browser.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(autouse=True)
def _tasks() -> Iterator[None]:
    with registry.isolated():
        registry.register(send_report)
        registry.register(tidy)
        yield


@pytest.fixture
def server(transactional_db: None) -> Iterator[str]:
    middleware = [f"{__name__}.StrictPolicy", *settings.MIDDLEWARE]
    with override_settings(MIDDLEWARE=middleware):
        live = LiveServer("localhost")
        yield live.url
        live.stop()


@pytest.fixture
def visit(server: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Signed in as a superuser. ``@pytest.mark.parametrize("visit", [{...}], indirect=True)`` sets the browser up."""
    options = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{"name": "sessionid", "value": _sign_in(), "url": server}])
    visit = Visit(context.new_page(), server)
    visit.page.on("console", visit.note)
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    yield visit
    context.close()


def _sign_in() -> str:
    client = Client()
    client.force_login(User.objects.create_superuser("anna"))
    return client.cookies["sessionid"].value
