"""What to run, what to skip and what comes next: pure functions of a job, its progress and the instant.

No Django, no clock, no I/O. Instants are aware UTC, durations are ``timedelta``.
"""

from django_gocron.planning.misfires import PUNCTUAL
from django_gocron.planning.plans import BATCH, plan
from django_gocron.planning.retries import RetryPolicy
from django_gocron.planning.ticks import MICROSECOND, after_completion, due, first_tick, next_tick
from django_gocron.planning.values import LONGEST, Definition, FirstRun, Misfire, Passed, Plan, Progress, Tick

__all__ = [
    "BATCH",
    "LONGEST",
    "MICROSECOND",
    "PUNCTUAL",
    "Definition",
    "FirstRun",
    "Misfire",
    "Passed",
    "Plan",
    "Progress",
    "RetryPolicy",
    "Tick",
    "after_completion",
    "due",
    "first_tick",
    "next_tick",
    "plan",
]
