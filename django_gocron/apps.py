"""The app. When Django starts, code is looked through for jobs; the database is not touched."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core.signals import setting_changed
from django.db.models.signals import post_migrate
from django.utils import translation
from django.utils.translation import gettext_lazy as _


class GocronConfig(AppConfig):
    name = "django_gocron"
    label = "gocron"
    verbose_name = _("Scheduler")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django_gocron import after_migrate, checks, events, logs, registry, signals
        from django_gocron.engine import receivers
        from django_gocron.engine.scheduler import scheduler_starting
        from django_gocron.schedules import text

        text.install(translation)
        setting_changed.connect(follow_setting, dispatch_uid="gocron_setting")
        follow_setting("GOCRON")
        receivers.connect()
        checks.connect()
        scheduler_starting.connect(after_migrate.sync_at_start, dispatch_uid="gocron_sync_at_start")
        post_migrate.connect(after_migrate.sync_after_migrate, sender=self, dispatch_uid="gocron_sync")
        events.subscribe(signals.send)
        events.subscribe(logs.log)
        registry.autodiscover()


def follow_setting(setting: str, **kwargs: Any) -> None:
    """Put the setting into force where it is not read on demand. What is wrong with it, the system check reports."""
    from django_gocron import commands
    from django_gocron.conf import get_settings
    from django_gocron.exceptions import ConfigurationError, ScheduleError
    from django_gocron.schedules.cron_implementation import set_cron_implementation

    if setting != "GOCRON":
        return
    commands.register()
    try:
        set_cron_implementation(get_settings().cron)
    except (ConfigurationError, ScheduleError):
        set_cron_implementation(None)
