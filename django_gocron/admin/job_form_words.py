"""What the form says of fields whose names alone do not tell what to enter, and in which unit."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

LABELS = {
    "on_lock_error": gettext_lazy("When the locker does not answer"),
    "on_lost": gettext_lazy("When it is lost"),
    "max_crashes": gettext_lazy("Maximum crashes"),
}

HELP_TEXTS = {
    "max_queued": gettext_lazy(
        "How many ticks may wait for the end of the live run. A further one is skipped, or takes the place of the"
        " oldest where only the latest are queued. Counts only where new ones are queued."
    ),
    "misfire_grace": gettext_lazy(
        "Where missed runs are skipped: how late a run may still begin, such as 60 s or 5 min."
    ),
    "catchup_window": gettext_lazy(
        "Where all missed runs are run: from how long ago, such as 12 h or 2 d. Empty: without limit."
    ),
    "max_catchup": gettext_lazy("Where all missed runs are run: how many of the latest, at most."),
    "starting_deadline": gettext_lazy(
        "How late a run may begin at all, whatever delayed it, such as 10 min. Empty: without limit."
    ),
    "retries": gettext_lazy(
        "How many more times a run that fails or times out is tried, with the same arguments. The task has to bear"
        " being repeated. 0: not at all."
    ),
    "retry_delay": gettext_lazy("From a failure to the first retry, such as 30 s or 5 min."),
    "retry_backoff": gettext_lazy(
        "Each further delay is as many times as long as the one before. 1: all are the same."
    ),
    "retry_max_delay": gettext_lazy("No delay grows beyond it, such as 30 min or 1 h."),
    "retry_jitter": gettext_lazy(
        "A share from 0 to 1: each delay is longer by up to as much, so that many jobs that fail together are not"
        " tried again together. 0.1 is up to 10 %."
    ),
    "on_lost": gettext_lazy(
        "Nobody knows how far a lost run came. Where it is tried again, it is so at once and whatever the retries"
        " above, until the maximum of crashes is reached."
    ),
    "on_lock_error": gettext_lazy(
        "A lock that somebody else holds keeps the job from running whatever is chosen here."
    ),
    "max_crashes": gettext_lazy(
        "After as many runs in a row that were lost with their instances, the job is quarantined: it is not run until"
        " somebody releases it."
    ),
}
