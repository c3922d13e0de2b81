"""Rows and querysets; no decisions."""

from django_gocron.models.changes import definition_changed
from django_gocron.models.instance import Instance
from django_gocron.models.job import Job
from django_gocron.models.lease import Lease
from django_gocron.models.run import Run
from django_gocron.models.state import JobState

__all__ = ["Instance", "Job", "JobState", "Lease", "Run", "definition_changed"]
