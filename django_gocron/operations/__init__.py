"""The use cases that the admin, the commands and Python callers share: views, shells, tasks.

Each is one transaction on the database of the job, answers what came of it, and works whether a scheduler is running
or not. ``by`` is who asked, as text; ``using`` is the alias of a database (default: the one schedulers work on).
Instants are aware UTC. A ``job`` that is looked up is a ``Job``, its identifier (UUID) or its name.
"""

from django_gocron.operations.cancelling import CancelAnswer, cancel
from django_gocron.operations.coming import next_run, next_runs
from django_gocron.operations.editing import add, remove, remove_by_tags, update
from django_gocron.operations.looking import (
    get_job,
    is_running,
    jobs,
    jobs_waiting_in_queue,
    last_run,
    last_run_completed_at,
    last_run_started_at,
)
from django_gocron.operations.pausing import LONGEST_REASON, pause, release, resume, skip_next
from django_gocron.operations.starting import run_now

__all__ = [
    "LONGEST_REASON",
    "CancelAnswer",
    "add",
    "cancel",
    "get_job",
    "is_running",
    "jobs",
    "jobs_waiting_in_queue",
    "last_run",
    "last_run_completed_at",
    "last_run_started_at",
    "next_run",
    "next_runs",
    "pause",
    "release",
    "remove",
    "remove_by_tags",
    "resume",
    "run_now",
    "skip_next",
    "update",
]
