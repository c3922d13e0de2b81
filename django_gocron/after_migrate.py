"""Declared jobs become rows as soon as ``migrate`` has made the tables, and when a scheduler starts."""

from __future__ import annotations

import logging
import sys
from typing import Any

from django_gocron.conf import get_settings
from django_gocron.declarations import sync
from django_gocron.exceptions import ConfigurationError
from django_gocron.models.alias import database
from django_gocron.tables import are_ready

logger = logging.getLogger("django_gocron")


def sync_after_migrate(
    sender: Any, using: str, verbosity: int = 1, stdout: Any = None, **kwargs: Any
) -> None:
    """The receiver of this app's ``post_migrate``: only on its own database, once its tables are there, and not under
    a test runner unless ``SYNC_ON_MIGRATE`` is True."""
    try:
        if not is_wanted() or using != database() or not are_ready(using):
            return
    except ConfigurationError:
        return  # the system check reports it
    report = sync(using)
    for outcome in report.refused:
        logger.error("%s", outcome.message)
    if verbosity > 0 and stdout is not None and report.outcomes:
        stdout.write(f"Scheduler: {report.summary}.\n")


def sync_at_start(sender: Any, using: str, **kwargs: Any) -> None:
    """The receiver of ``scheduler_starting``."""
    for outcome in sync(using).refused:
        logger.error("%s", outcome.message)


def is_wanted() -> bool:
    """What ``SYNC_ON_MIGRATE`` says; where it is not set, yes, except between Django's ``setup_test_environment()``
    and ``teardown_test_environment()``, which every test runner calls."""
    wanted = get_settings().sync_on_migrate
    state = getattr(sys.modules.get("django.test.utils"), "_TestState", None)
    return not hasattr(state, "saved_data") if wanted is None else wanted
