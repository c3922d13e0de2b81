"""The lockers that a job may be given, and what its form says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from django_gocron.conf import get_settings
from django_gocron.engine.entries import DEFAULT_LOCKER

if TYPE_CHECKING:
    from django_gocron.admin.job_form import JobForm


def explain_coordination(form: JobForm, fields: dict[str, Any]) -> None:
    """What the fields of coordination offer and say under the settings in force."""
    fields["coordination"].help_text = _describe_coordination()
    fields["locker"].choices = locker_choices(form.instance.locker)
    fields["locker"].help_text = _describe_lockers()


def locker_choices(stored: str) -> list[tuple[str, str]]:
    """The default, and every other alias; a stored one that the settings do not name stays to be chosen."""
    known = get_settings().lockers
    default = _("the default locker") if DEFAULT_LOCKER in known else _("the ledger's own lock alone")
    aliases = [alias for alias in known if alias != DEFAULT_LOCKER]
    if stored and stored not in aliases:
        aliases.append(stored)
    return [("", default), *((alias, alias) for alias in aliases)]


def _describe_coordination() -> str:
    if get_settings().has_elector:
        return _(
            "The leader runs it, under a lock or without one. “Every instance”: each runs it for itself, whoever leads."
        )
    return _(
        "Under a lock, one instance runs each tick. Otherwise every instance runs it for itself: there is no elector."
    )


def _describe_lockers() -> str:
    settings = get_settings()
    if settings.lockers and settings.coordination == "off":
        return _(
            "Coordination is off in the settings, so no locker is asked. The ledger's own lock still holds."
        )
    if settings.lockers:
        return _(
            "Whom to ask for a lock before each run, besides the ledger's own. Only for jobs under a lock."
        )
    return _("No other is configured. The setting GOCRON['LOCKERS'] names those that can be chosen here.")
