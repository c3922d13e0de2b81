"""An elector that is wrong."""

from __future__ import annotations

from datetime import timedelta

from django_gocron.electors.base import Elector


class EverybodyLeads(Elector):
    ttl = timedelta(seconds=15)

    def campaign(self, candidate: str, *, name: str) -> int | None:
        return 1

    def resign(self, candidate: str) -> bool:
        return True
