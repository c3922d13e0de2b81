"""Who leads, where instances elect a leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_gocron.admin.moments import ago
from django_gocron.admin.situation import is_live

if TYPE_CHECKING:
    from django_gocron.admin.situation import Situation
    from django_gocron.models import Instance


def role_of(instance: Instance, situation: Situation) -> str:
    """ "Leader (term 7)", "Follower"; "-" for one that is gone."""
    if not is_live(instance, situation.now):
        return "-"
    if instance == situation.leader:
        return _("Leader (term %(term)d)") % {"term": instance.term}
    return _("Follower")


def describe_schedulers(situation: Situation) -> str:
    """ "2 instances running. Leader: web-1 (heartbeat 3 seconds ago)."; "" where none runs: a notice says so."""
    number = len(situation.live)
    if not number:
        return ""
    text = ngettext("%(n)d instance running.", "%(n)d instances running.", number) % {"n": number}
    return f"{text} {_describe_leader(situation)}".rstrip()


def _describe_leader(situation: Situation) -> str:
    leader = situation.leader
    if leader is not None:
        message = _("Leader: %(name)s (heartbeat %(when)s).")
        return message % {"name": leader.name, "when": ago(situation.now - leader.heartbeat_at)}
    if situation.has_election:
        return _("None of them leads now: jobs wait until one does, except those that every instance runs.")
    return ""
