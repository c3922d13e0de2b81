"""For projects that test their jobs."""

from django_gocron.testing.clock import FakeClock
from django_gocron.testing.electors import ElectorContract
from django_gocron.testing.lockers import LockerContract
from django_gocron.testing.scheduler import HandDrivenScheduler

__all__ = ["ElectorContract", "FakeClock", "HandDrivenScheduler", "LockerContract"]
