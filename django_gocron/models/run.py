"""Runs: the ledger. One row for each tick of an enabled job, or one that says how many were passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from django_gocron.models.actions import RunActions
from django_gocron.models.choices import LIVE, Origin, Reason, Status
from django_gocron.models.fields import InstantField, TolerantJSONField
from django_gocron.models.indexes import LiveIndex

if TYPE_CHECKING:
    from datetime import timedelta


class RunQuerySet(models.QuerySet["Run"]):
    def live(self) -> Self:
        """Runs that have not ended: queued, claimed, running, handed over."""
        return self.filter(status__in=LIVE)


class Run(RunActions, models.Model):
    """What became of a tick, or of a run by hand.

    ``held_lock`` is set while the run may not overlap another of its job: the unique key forbids two holders.
    ``job`` and ``instance`` are not checked by the database, so that an open edit of a job never blocks a claim.
    """

    job = models.ForeignKey(
        "gocron.Job", models.SET_NULL, null=True, related_name="runs", db_constraint=False, db_index=False
    )
    job_key = models.CharField(_("job key"), max_length=255, blank=True, default="")
    job_name = models.CharField(_("job name"), max_length=200, default="")
    task = models.CharField(_("task"), max_length=255, default="")
    args = TolerantJSONField(_("arguments"), default=list)
    kwargs = TolerantJSONField(_("named arguments"), default=dict)

    origin = models.CharField(_("origin"), max_length=10, choices=Origin, default=Origin.SCHEDULE)
    scheduled_for = InstantField(_("scheduled for"))
    attempt = models.PositiveIntegerField(_("attempt"), default=1)
    scope = models.CharField(_("scope"), max_length=64, blank=True, default="")
    status = models.CharField(_("status"), max_length=12, choices=Status, default=Status.QUEUED)
    reason = models.CharField(_("reason"), max_length=20, choices=Reason, blank=True, default="")
    count = models.PositiveBigIntegerField(_("ticks"), default=1)
    window_end = InstantField(_("last of its ticks"), null=True, default=None)

    instance = models.ForeignKey(
        "gocron.Instance",
        models.SET_NULL,
        null=True,
        related_name="runs",
        db_constraint=False,
        db_index=False,
    )
    claim_id = models.UUIDField(_("claim"), null=True, default=None)
    lock_key = models.CharField(_("lock key"), max_length=100, blank=True, default="")
    held_lock = models.CharField(_("held lock"), max_length=100, null=True, unique=True, default=None)  # noqa: DJ001
    token = models.BigIntegerField(_("token"), null=True, default=None)
    lock_lost = models.BooleanField(
        _("lock lost"),
        default=False,
        help_text=_("Whether the lock of its locker ran out while it executed."),
    )
    label = models.CharField(_("label"), max_length=100, blank=True, default="")
    priority = models.IntegerField(_("priority"), default=0)

    available_at = InstantField(_("available at"), null=True, default=None)
    claimed_at = InstantField(_("claimed at"), null=True, default=None)
    started_at = InstantField(_("started at"), null=True, default=None)
    finished_at = InstantField(_("finished at"), null=True, default=None)

    error_type = models.CharField(_("error"), max_length=255, blank=True, default="")
    error_message = models.TextField(_("error message"), blank=True, default="")
    traceback = models.TextField(_("traceback"), blank=True, default="")
    result = TolerantJSONField(_("result"), null=True, default=None)
    output = models.TextField(_("output"), blank=True, default="")
    progress = TolerantJSONField(_("progress"), null=True, default=None)

    cancel_requested_at = InstantField(_("cancel requested at"), null=True, default=None)
    requested_by = models.CharField(_("requested by"), max_length=200, blank=True, default="")
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, default=None, related_name="children", db_constraint=False
    )
    external_id = models.CharField(_("external id"), max_length=255, blank=True, default="")
    expires_at = InstantField(_("expires at"), null=True, default=None)

    objects = RunQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-id"]
        default_permissions = ("view", "delete")
        permissions = [("view_run_output", _("Can view run output")), ("cancel_run", _("Can cancel a run"))]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "scheduled_for", "attempt", "scope"], name="gocron_run_one_per_tick"
            ),
            models.CheckConstraint(condition=Q(count__gte=1), name="gocron_run_counts_a_tick"),
            models.CheckConstraint(condition=Q(attempt__gte=1), name="gocron_run_attempt_positive"),
        ]
        indexes = [
            LiveIndex(
                fields=["status", "available_at"],
                where=Q(status=Status.QUEUED.value),
                name="gocron_run_queued",
            ),
            LiveIndex(
                fields=["instance", "status"],
                where=Q(status__in=[status.value for status in LIVE]),
                name="gocron_run_live",
            ),
            models.Index(fields=["finished_at"], name="gocron_run_finished"),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.job_name}"

    @property
    def took(self) -> timedelta | None:
        """How long it executed, or None while it has not ended or when it never began."""
        return self.finished_at - self.started_at if self.started_at and self.finished_at else None

    @property
    def lag(self) -> timedelta | None:
        """How long after the instant it was due it began, or None when it has not begun."""
        due_at = self.available_at or self.scheduled_for
        return self.started_at - due_at if self.started_at else None
