"""Zones that change their clocks, each in its own way, and the instants at which they did."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

# Years in which each zone changed its clocks in its own way.
ZONES: dict[str, list[int]] = {
    "UTC": [],
    "Africa/Cairo": [2010, 2023],  # from midnight to one; four changes around Ramadan
    "Africa/Casablanca": [2025],  # back for Ramadan
    "Africa/Juba": [2021],  # one change, at midnight
    "Africa/Sao_Tome": [2018, 2019],
    "America/Asuncion": [2024],  # at midnight, then never again
    "America/Caracas": [2007, 2016],  # by half an hour
    "America/Goose_Bay": [2010],  # at 00:01, so the date goes back too
    "America/Havana": [2025],  # forward at midnight, back at one
    "America/Juneau": [1983],  # by two hours
    "America/New_York": [2024, 2026],
    "America/Nuuk": [2023, 2024],  # late in the evening, across midnight
    "America/Santiago": [2026],  # at midnight
    "America/Sao_Paulo": [2017],  # at midnight
    "America/St_Johns": [1988, 2006],  # at 00:01; by two hours in 1988
    "Antarctica/Casey": [2009, 2010, 2020],  # by three hours
    "Antarctica/Macquarie": [2010, 2011],
    "Antarctica/Troll": [2024],  # by two hours
    "Antarctica/Vostok": [2023],
    "Asia/Amman": [2022],
    "Asia/Beirut": [2024],  # at midnight
    "Asia/Gaza": [2011, 2023],  # four times a year
    "Asia/Kathmandu": [1985, 1986],  # by a quarter of an hour
    "Asia/Pyongyang": [2015, 2018],  # by half an hour
    "Asia/Tehran": [2021],  # at midnight
    "Asia/Tokyo": [],
    "Atlantic/Azores": [2025],
    "Australia/Lord_Howe": [2024, 2026],  # by half an hour
    "Europe/Berlin": [2025],
    "Europe/Bucharest": [2024],
    "Europe/Dublin": [2025],  # standard time in summer
    "Europe/Lisbon": [1992, 1996],
    "Europe/London": [2026],
    "Europe/Moscow": [2011, 2014],
    "Pacific/Apia": [2011, 2012],  # skipped a whole day
    "Pacific/Chatham": [2025],  # at 02:45
    "Pacific/Fakaofo": [2011],  # skipped a whole day
    "Pacific/Kiritimati": [1994, 1995],  # skipped New Year's Day
    "Pacific/Kwajalein": [1969, 1993],  # repeated most of a day; skipped a whole one
    "Pacific/Norfolk": [2015, 2019],
}


def _transitions(zone: str, year: int) -> Iterator[datetime]:
    """The instants of a year at which the offset of a zone changes, by looking each day, then each minute."""
    tzinfo = ZoneInfo(zone)
    for n in range(366):
        day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n)
        if _offset(day, tzinfo) != _offset(day + timedelta(days=1), tzinfo):
            minutes = [day + timedelta(minutes=m) for m in range(24 * 60 + 1)]
            offsets = [_offset(minute, tzinfo) for minute in minutes]
            yield from (minutes[m] for m in range(1, len(minutes)) if offsets[m] != offsets[m - 1])


def _offset(instant: datetime, tzinfo: ZoneInfo) -> timedelta | None:
    return instant.astimezone(tzinfo).utcoffset()


TRANSITIONS = {
    zone: sorted({instant for year in years for instant in _transitions(zone, year)})
    for zone, years in ZONES.items()
}
