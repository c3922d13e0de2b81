"""For projects that test their jobs."""

from django_gocron.testing.clock import FakeClock

__all__ = ["FakeClock"]
