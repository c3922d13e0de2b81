"""What every question to a schedule carries besides the moment, checked and normalised once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from django_gocron.exceptions import ScheduleError
from django_gocron.schedules.text import gettext as _
from django_gocron.schedules.wallclock import EPOCH

LATEST = datetime(9998, 1, 1)  # noqa: DTZ001 - naive UTC, as everything inside this package
EARLIEST = datetime(2, 2, 1)  # noqa: DTZ001
"""Outside of these no schedule fires: local times at the very ends of the calendar cannot be represented."""

AWARE_EPOCH = EPOCH.replace(tzinfo=UTC)
_EARLIEST, _LATEST = EARLIEST - EPOCH, LATEST - EPOCH

GAPS = ("run_after", "skip")
FOLDS = ("first", "second", "both")


@dataclass(frozen=True, slots=True)
class Terms:
    """``anchor`` is naive UTC; ``gap`` and ``fold`` are one of the words above; ``seed`` is any text."""

    zone: tzinfo
    anchor: datetime
    gap: str
    fold: str
    seed: str

    def __post_init__(self) -> None:
        if not isinstance(self.zone, tzinfo):
            raise ScheduleError(_("The time zone must be a ZoneInfo."), code="timezone_unknown", field="zone")
        _one_of(GAPS, self.gap, "gap")
        _one_of(FOLDS, self.fold, "fold")


def _one_of(words: tuple[str, ...], word: str, field: str) -> None:
    if word not in words:
        message = _("%(field)s must be one of %(words)s, not '%(word)s'.")
        message %= {"field": field, "words": ", ".join(words), "word": word}
        raise ScheduleError(message, code=f"{field}_unknown", field=field)


def naive_utc(moment: datetime, field: str) -> datetime:
    """The instant as naive UTC, kept inside the years a schedule can answer for.

    Raises ``ScheduleError`` (``naive_datetime``) where ``moment`` names no zone.
    """
    try:
        elapsed = moment - AWARE_EPOCH
    except TypeError as error:
        message = _("%(field)s must be a datetime with a time zone; without one it names no instant.")
        raise ScheduleError(message % {"field": field}, code="naive_datetime", field=field) from error
    return EPOCH + min(max(elapsed, _EARLIEST), _LATEST)


def in_utc(moment: datetime, field: str) -> datetime:
    """The instant as aware UTC; raises as ``naive_utc`` does."""
    return AWARE_EPOCH + (naive_utc(moment, field) - EPOCH)


def aware(instant: datetime | None) -> datetime | None:
    """Naive UTC as aware UTC; None stays None."""
    return None if instant is None else AWARE_EPOCH + (instant - EPOCH)
