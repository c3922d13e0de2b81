"""Which database the scheduler works on."""

from __future__ import annotations

from django.db import router

from django_gocron.conf import get_settings
from django_gocron.models.job import Job


def database() -> str:
    """Its alias: the settings', else where jobs are written."""
    return get_settings().database or router.db_for_write(Job)
