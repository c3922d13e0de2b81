"""For projects that test their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django_gocron.testing.clock import FakeClock
from django_gocron.testing.electors import ElectorContract
from django_gocron.testing.lockers import LockerContract

if TYPE_CHECKING:
    from django_gocron.testing.scheduler import HandDrivenScheduler

__all__ = ["ElectorContract", "FakeClock", "HandDrivenScheduler", "LockerContract"]


def __getattr__(name: str) -> Any:
    """The scheduler is imported when it is asked for: it needs Django's apps, and the rest does not."""
    if name == "HandDrivenScheduler":
        from django_gocron.testing.scheduler import HandDrivenScheduler

        return HandDrivenScheduler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
