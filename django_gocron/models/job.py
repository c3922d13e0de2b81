"""Jobs: what people decide. The engine never writes here."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models, router, transaction
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from django_gocron.conf import get_settings
from django_gocron.models import choices
from django_gocron.models.actions import JobActions
from django_gocron.models.changes import definition_changed
from django_gocron.models.edits import JobQuerySet, lock_states
from django_gocron.models.fields import InstantField, ScheduleField, TagsField, TolerantJSONField
from django_gocron.models.indexes import LiveIndex
from django_gocron.models.validation import find_faults
from django_gocron.planning import FirstRun, Misfire, RetryPolicy
from django_gocron.schedules import find_zone

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from zoneinfo import ZoneInfo

FIRST_RUN = {
    FirstRun.ON_SCHEDULE.value: _("on schedule"),
    FirstRun.IMMEDIATELY.value: _("immediately, once"),
    FirstRun.AT_STARTS_AT.value: _("at its start"),
}
MISFIRE = {
    Misfire.RUN_ONCE.value: _("run once"),
    Misfire.RUN_ALL.value: _("run all, up to the cap"),
    Misfire.SKIP.value: _("skip them"),
}
GAP = {"run_after": _("run right after the gap"), "skip": _("skip it")}
FOLD = {"first": _("the first time"), "second": _("the second time"), "both": _("both times")}


class Job(JobActions, models.Model):
    """A task, its arguments, its schedule and its policies."""

    key = models.CharField(
        _("key"), max_length=255, unique=True, null=True, blank=True, default=None, editable=False
    )
    identifier = models.UUIDField(_("identifier"), default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(
        _("name"),
        max_length=200,
        unique=True,
        error_messages={"unique": _("A job named like this already exists.")},
    )
    description = models.TextField(_("description"), blank=True, default="")
    tags = TagsField(
        _("tags"), blank=True, default=list, help_text=_("Separated by commas. Kept in lower case.")
    )
    owner = models.CharField(_("owner"), max_length=200, blank=True, default="")

    task = models.CharField(_("task"), max_length=255)
    args = TolerantJSONField(_("arguments"), blank=True, default=list)
    kwargs = TolerantJSONField(_("named arguments"), blank=True, default=dict)

    schedule = ScheduleField(
        _("schedule"), null=True, blank=True, default=None, help_text=_("Empty: by hand only.")
    )
    timezone = models.CharField(
        _("time zone"), max_length=64, blank=True, default="", help_text=_("Empty: the project's.")
    )
    starts_at = InstantField(_("starts at"), null=True, blank=True, default=None)
    ends_at = InstantField(_("ends at"), null=True, blank=True, default=None)
    first_run = models.CharField(
        _("first run"), max_length=20, choices=FIRST_RUN, default=FirstRun.ON_SCHEDULE.value
    )
    max_runs = models.PositiveIntegerField(
        _("maximum of runs"),
        null=True,
        blank=True,
        default=None,
        help_text=_("The job is finished after as many. Empty: no limit."),
    )
    interval_from_completion = models.BooleanField(
        _("count the interval from completion"),
        default=False,
        help_text=_("The next run comes an interval after the end of the last."),
    )
    jitter = models.DurationField(
        _("jitter"),
        blank=True,
        default=timedelta(0),
        help_text=_("Each run starts up to as much later, always by the same for the same tick."),
    )
    gap = models.CharField(_("a time the clock skips"), max_length=10, choices=GAP, default="run_after")
    fold = models.CharField(_("a time the clock repeats"), max_length=10, choices=FOLD, default="first")
    enabled = models.BooleanField(_("enabled"), default=True)

    paused_at = InstantField(_("paused at"), null=True, blank=True, default=None, editable=False)
    paused_until = InstantField(_("paused until"), null=True, blank=True, default=None, editable=False)
    paused_by = models.CharField(_("paused by"), max_length=200, blank=True, default="", editable=False)
    pause_reason = models.CharField(
        _("reason for the pause"), max_length=200, blank=True, default="", editable=False
    )
    skip_until = InstantField(_("skip until"), null=True, blank=True, default=None, editable=False)

    coordination = models.CharField(
        _("coordination"),
        max_length=20,
        choices=choices.Coordination,
        default=choices.Coordination.LOCKED,
    )
    locker = models.CharField(_("locker"), max_length=100, blank=True, default="")
    on_lock_error = models.CharField(
        _("when the locker fails"),
        max_length=10,
        choices=choices.OnLockError,
        default=choices.OnLockError.SKIP,
    )
    overlap = models.CharField(
        _("when the previous run is still live"),
        max_length=20,
        choices=choices.Overlap,
        default=choices.Overlap.SKIP,
    )
    max_queued = models.PositiveIntegerField(_("maximum queued"), default=1)
    misfire = models.CharField(
        _("missed runs"), max_length=10, choices=MISFIRE, default=Misfire.RUN_ONCE.value
    )
    misfire_grace = models.DurationField(_("grace"), default=timedelta(seconds=60))
    catchup_window = models.DurationField(_("catch-up window"), null=True, blank=True, default=None)
    max_catchup = models.PositiveIntegerField(_("maximum caught up"), default=100)
    starting_deadline = models.DurationField(_("starting deadline"), null=True, blank=True, default=None)

    executor = models.CharField(_("executor"), max_length=100, default="threads")
    executor_options = TolerantJSONField(_("executor options"), blank=True, default=dict)
    label = models.CharField(
        _("label"),
        max_length=100,
        blank=True,
        default="",
        help_text=_("Run only by schedulers started with --label of this name. Empty: by any."),
    )
    priority = models.IntegerField(_("priority"), default=0, help_text=_("Higher starts first."))
    group = models.CharField(_("group"), max_length=100, blank=True, default="")
    group_limit = models.PositiveIntegerField(_("group limit"), null=True, blank=True, default=None)

    timeout = models.DurationField(_("timeout"), null=True, blank=True, default=None)
    retries = models.PositiveIntegerField(_("retries"), default=0)
    retry_delay = models.DurationField(_("retry delay"), default=timedelta(seconds=60))
    retry_backoff = models.FloatField(_("retry backoff"), default=2.0)
    retry_max_delay = models.DurationField(_("longest retry delay"), default=timedelta(hours=1))
    retry_jitter = models.FloatField(_("retry jitter"), default=0.1)
    on_lost = models.CharField(
        _("when its instance dies"), max_length=10, choices=choices.OnLost, default=choices.OnLost.FAIL
    )
    max_crashes = models.PositiveIntegerField(_("maximum of crashes in a row"), default=3)

    keep_days = models.PositiveIntegerField(
        _("keep days"), null=True, blank=True, default=None, help_text=_("Empty: the settings'.")
    )
    keep_runs = models.PositiveIntegerField(
        _("keep runs"), null=True, blank=True, default=None, help_text=_("Empty: the settings'.")
    )

    declared = TolerantJSONField(_("declared"), null=True, blank=True, default=None, editable=False)
    plan_version = models.BigIntegerField(_("plan version"), default=1, editable=False)

    objects = JobQuerySet.as_manager()

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        ordering = ["name"]
        permissions = [
            ("run_job", _("Can run a job now")),
            ("pause_job", _("Can pause and resume a job")),
        ]
        indexes = [
            LiveIndex(
                fields=["coordination"],
                where=~Q(coordination=choices.Coordination.LOCKED.value),
                name="gocron_job_not_locked",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(starts_at__isnull=True) | Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                name="gocron_job_ends_after_start",
                violation_error_code="end_not_after_start",
                violation_error_message=_("The end must be after the start."),
            ),
            models.CheckConstraint(
                condition=Q(max_runs__isnull=True) | Q(max_runs__gte=1), name="gocron_job_max_runs_positive"
            ),
            models.CheckConstraint(
                condition=Q(jitter__gte=timedelta(0)), name="gocron_job_jitter_not_negative"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="gocron_job_name_not_empty"),
            models.CheckConstraint(condition=~Q(task=""), name="gocron_job_task_not_empty"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, **kwargs: Any) -> None:
        """Also plans the job anew, in the same transaction."""
        using = kwargs.get("using") or router.db_for_write(type(self), instance=self)
        with transaction.atomic(using=using):
            if self._state.adding or self.pk is None:
                self.plan_version = 1
            else:
                self._bump(using, kwargs)
            super().save(**kwargs)
            definition_changed.send(sender=type(self), using=using, job_ids=[self.pk])
        if not isinstance(self.plan_version, int):
            del self.plan_version

    save.alters_data = True  # type: ignore[attr-defined]

    def natural_key(self) -> tuple[str]:
        return (self.name,)

    @property
    def zone(self) -> ZoneInfo:
        """The zone its schedule is read in. Raises ``ScheduleError`` (``timezone_unknown``)."""
        return find_zone(self.timezone or get_settings().time_zone)

    @property
    def retry_policy(self) -> RetryPolicy:
        return RetryPolicy(
            retries=self.retries,
            delay=self.retry_delay,
            backoff=self.retry_backoff,
            max_delay=self.retry_max_delay,
            jitter=self.retry_jitter,
        )

    def is_paused_at(self, moment: datetime) -> bool:
        """Whether an operator's pause holds at an aware instant; one with an end is over by itself."""
        return self.paused_at is not None and (self.paused_until is None or moment < self.paused_until)

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Also refuses what does not go together, each fault on its field: a form that has not the field is spared.
        A jitter that was left empty is none."""
        self.jitter = self.jitter or timedelta(0)
        errors: dict[str, Any] = {}
        try:
            super().clean_fields(exclude)
        except ValidationError as error:
            errors = error.update_error_dict(errors)
        spared = {*(exclude or ()), *errors}
        errors |= {field: faults for field, faults in find_faults(self).items() if field not in spared}
        if errors:
            raise ValidationError(errors)

    def _bump(self, using: str, kwargs: dict[str, Any]) -> None:
        """Count the edit in the edit's own statement. A row that is gone is about to be inserted again."""
        if not lock_states(using, [self.pk]) and not type(self)._base_manager.using(using).filter(pk=self.pk):
            self.plan_version = 1
            return
        self.plan_version = F("plan_version") + 1
        if kwargs.get("update_fields") is not None:
            kwargs["update_fields"] = {*kwargs["update_fields"], "plan_version"}
