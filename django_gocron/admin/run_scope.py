"""Whose a run is, where one instance alone may have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from django_gocron.engine.everywhere import find_instance

if TYPE_CHECKING:
    from django_gocron.admin.situation import Situation
    from django_gocron.models import Run


def describe_scope(run: Run, situation: Situation) -> str:
    """ "of instance web-1 alone"; "" for a run that any may have. It asks no database, so it may not know the name."""
    instance_id = find_instance(run.scope)
    if instance_id is None:
        return ""
    name = run.instance.name if run.instance else situation.find_name(instance_id)
    return _("of instance %(instance)s alone") % {"instance": name} if name else _("of one instance alone")
