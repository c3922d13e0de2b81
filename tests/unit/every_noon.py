"""A cron implementation that hears noon in every expression."""

from __future__ import annotations

from datetime import datetime, timedelta


class Noons:
    wildcard = False

    def next(self, wall: datetime) -> datetime:
        noon = wall.replace(hour=12, minute=0, second=0, microsecond=0)
        return noon if noon > wall else noon + timedelta(days=1)

    def previous(self, wall: datetime) -> datetime:
        noon = wall.replace(hour=12, minute=0, second=0, microsecond=0)
        return noon if noon <= wall else noon - timedelta(days=1)


class EveryNoon:
    def parse(self, expression: str) -> Noons:
        return Noons()
