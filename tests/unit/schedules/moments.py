"""Short ways to write moments and terms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypedDict
from zoneinfo import ZoneInfo


class Terms(TypedDict):
    zone: ZoneInfo
    anchor: datetime


def utc(text: str) -> datetime:
    """ "2026-03-08 07:00" as an aware instant."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def terms(zone: str = "UTC", anchor: str = "2026-01-01 00:00") -> Terms:
    return Terms(zone=ZoneInfo(zone), anchor=utc(anchor))
