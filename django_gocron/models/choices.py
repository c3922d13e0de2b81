"""The words that are stored."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Status(TextChoices):
    """Where a run stands; docs/explanation tells who moves it from one to the next."""

    QUEUED = "queued", _("queued")
    CLAIMED = "claimed", _("claimed")
    RUNNING = "running", _("running")
    HANDED_OVER = "handed_over", _("handed over")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    TIMED_OUT = "timed_out", _("timed out")
    CANCELLED = "cancelled", _("cancelled")
    LOST = "lost", _("lost")
    MISSED = "missed", _("missed")
    COALESCED = "coalesced", _("coalesced")
    SKIPPED = "skipped", _("skipped")


LIVE = (Status.QUEUED, Status.CLAIMED, Status.RUNNING, Status.HANDED_OVER)
"""The statuses of a run that has not ended."""


class Reason(TextChoices):
    """Why a run is queued, or why it ended as it did."""

    NONE = "", ""
    GIVEN_BACK = "given_back", _("given back by an instance")
    RECOVERED = "recovered", _("recovered from an instance that is gone")
    RETRY = "retry", _("retry")
    MANUAL = "manual", _("run by hand")
    OVERLAP = "overlap", _("the previous run was still live")
    QUEUE_FULL = "queue_full", _("the queue was full")
    SUPERSEDED = "superseded", _("a later tick took its place")
    LOCK_BUSY = "lock_busy", _("the lock was held")
    LOCK_ERROR = "lock_error", _("the locker could not answer")
    LIMIT = "limit", _("a limit was reached")
    BEFORE_RUN = "before_run", _("a listener refused it")
    DEADLINE = "deadline", _("later than its starting deadline")
    CALENDAR = "calendar", _("excluded by a calendar")
    BY_USER = "by_user", _("by a person")
    PAUSED = "paused", _("the job was paused, disabled or deleted")
    GRACE = "grace", _("later than the grace")
    WINDOW = "window", _("outside the catch-up window")
    CAP = "cap", _("more than the catch-up cap")
    EXCEPTION = "exception", _("the task raised an exception")
    EXIT = "exit", _("the task asked to exit")
    BAD_ARGUMENTS = "bad_arguments", _("the arguments do not fit the task")
    KILLED = "killed", _("killed")
    SHUTDOWN = "shutdown", _("the scheduler stopped")
    INSTANCE_GONE = "instance_gone", _("its instance is gone")


class Origin(TextChoices):
    SCHEDULE = "schedule", pgettext_lazy("origin of a run", "schedule")
    MANUAL = "manual", pgettext_lazy("origin of a run", "manual")
    BACKFILL = "backfill", pgettext_lazy("origin of a run", "backfill")
    CHAIN = "chain", pgettext_lazy("origin of a run", "chain")


class Coordination(TextChoices):
    LOCKED = "locked", _("one instance, under a lock")
    UNLOCKED = "unlocked", _("every instance, or the leader, without a lock")
    NODE_LOCAL = "node_local", _("every instance")


class OnLockError(TextChoices):
    SKIP = "skip", _("skip the run")
    RUN = "run", _("run it all the same")


class Overlap(TextChoices):
    SKIP = "skip", _("skip the new one")
    QUEUE = "queue", _("queue the new one")
    QUEUE_LATEST = "queue_latest", _("queue the latest only")
    ALLOW = "allow", _("let them run side by side")


class OnLost(TextChoices):
    FAIL = "fail", _("leave it lost")
    RETRY = "retry", _("try again")
