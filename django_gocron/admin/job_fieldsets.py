"""How the form of a job is divided: what, when, and how it behaves. Each kind of schedule has a part of its own."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy

from django_gocron.admin.schedule_editor import offered_kinds

Fieldset = tuple[Any, dict[str, Any]]

WHAT: Fieldset = (
    gettext_lazy("What"),
    {"fields": ["name", "enabled", "task", "kwargs", "args", "description", "tags", "owner", "seen_version"]},
)
WHEN: Fieldset = (gettext_lazy("When"), {"fields": ["kind"], "classes": ["gocron-when"]})
WINDOW: Fieldset = (
    gettext_lazy("Time zone and window"),
    {"fields": ["timezone", "starts_at", "ends_at"], "classes": ["gocron-when", "gocron-window"]},
)
FINE_POINTS: Fieldset = (
    gettext_lazy("Fine points of the schedule"),
    {
        "fields": ["first_run", "max_runs", "interval_from_completion", "jitter", "gap", "fold"],
        "classes": ["collapse", "gocron-when"],
    },
)
BEHAVIOUR: Fieldset = (
    gettext_lazy("Behaviour"),
    {
        "fields": [
            "overlap",
            "max_queued",
            "misfire",
            "misfire_grace",
            "catchup_window",
            "max_catchup",
            "starting_deadline",
            "timeout",
        ],
        "classes": ["collapse"],
    },
)
FAILURES: Fieldset = (
    gettext_lazy("When a run fails or is lost"),
    {
        "fields": [
            "retries",
            "retry_delay",
            "retry_backoff",
            "retry_max_delay",
            "retry_jitter",
            "on_lost",
            "max_crashes",
        ],
        "classes": ["collapse"],
    },
)
PLACES: Fieldset = (
    gettext_lazy("Where it runs"),
    {"fields": ["coordination", "locker", "on_lock_error", "label", "priority"], "classes": ["collapse"]},
)
HISTORY: Fieldset = (
    gettext_lazy("How long its history is kept"),
    {"fields": ["keep_days", "keep_runs"], "classes": ["collapse"]},
)


def fieldsets_to_edit(schedule: Any) -> list[Fieldset]:
    """For a job that has this schedule, or None."""
    return [WHAT, WHEN, *_kinds(schedule), WINDOW, FINE_POINTS, BEHAVIOUR, FAILURES, PLACES, HISTORY]


def _kinds(schedule: Any) -> list[Fieldset]:
    """One for each kind that has fields. Without the script all are shown, and the heading tells which to fill in."""
    return [
        (
            kind.label,
            {"fields": kind.fields, "classes": ["gocron-when", "gocron-kind", f"gocron-kind-{kind.name}"]},
        )
        for kind in offered_kinds(schedule)
        if kind.fields
    ]


def fieldsets_to_view() -> list[Fieldset]:
    """For people who may look at a job and not change it."""
    return [
        (
            gettext_lazy("What"),
            {"fields": ["name", "enabled", "task", "arguments", "description", "tags_in_words", "owner"]},
        ),
        (
            gettext_lazy("When"),
            {"fields": ["schedule_in_words", "timezone", "starts", "ends", *FINE_POINTS[1]["fields"]]},
        ),
        BEHAVIOUR,
        FAILURES,
        PLACES,
        HISTORY,
    ]
