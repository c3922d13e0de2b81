"""Database routers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core import checks
from django.db import router

if TYPE_CHECKING:
    from django.core.checks import CheckMessage


def check_routers(**kwargs: Any) -> list[CheckMessage]:
    """W009: our rows are read from another database than they are written to.

    Aliases are compared, not servers: a replica is another database even where tests mirror it.
    """
    models = apps.get_app_config("gocron").get_models()
    routes = {(router.db_for_read(model), router.db_for_write(model)) for model in models}
    return [
        checks.Warning(
            f"Rows of the app 'gocron' are read from {read!r} and written to {written!r}: the admin shows jobs and"
            " runs as they were, and what it saves may undo what the scheduler has written since.",
            hint="Let db_for_read() of the router answer what db_for_write() does where"
            " model._meta.app_label == 'gocron'.",
            id="gocron.W009",
        )
        for read, written in sorted(routes)
        if read != written
    ]
