"""Job states: what the engine knows of each job. People never write here."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from django_gocron.models.fields import InstantField, TolerantJSONField
from django_gocron.models.indexes import LiveIndex

RING = 30
"""How many of the latest outcomes a state row keeps."""


class JobStateManager(models.Manager["JobState"]):
    def get_by_natural_key(self, name: str) -> JobState:
        return self.get(job__name=name)


class JobState(models.Model):
    """The machine-owned row beside a job.

    Its key is the job's and it has no other unique key, so that a bulk upsert can only meet its own row; every
    column has a default, so that the insert half of the upsert is complete. The database does not check the key: on
    MariaDB that would make each upsert wait for whoever is editing the job.
    """

    job = models.OneToOneField(
        "gocron.Job", models.CASCADE, primary_key=True, related_name="state", db_constraint=False
    )

    next_tick_at = InstantField(_("next tick"), null=True, default=None)
    next_run_at = InstantField(_("next run"), null=True, default=None, db_index=True)
    planned_through = InstantField(_("planned through"), null=True, default=None)
    anchor_at = InstantField(_("anchor"), null=True, default=None)
    version = models.BigIntegerField(_("version"), default=0)
    planned_version = models.BigIntegerField(_("planned version"), default=0)
    planned_hash = models.CharField(_("planned from"), max_length=64, default="")

    run_count = models.BigIntegerField(_("runs"), default=0)
    token_counter = models.BigIntegerField(_("last token"), default=0)
    failures_in_row = models.PositiveIntegerField(_("failures in a row"), default=0)
    crashes_in_row = models.PositiveIntegerField(_("crashes in a row"), default=0)
    quarantined_at = InstantField(_("quarantined at"), null=True, default=None)
    finished_at = InstantField(_("finished at"), null=True, default=None)
    broken_code = models.CharField(_("why it is broken (code)"), max_length=50, default="")
    broken_text = models.TextField(_("why it is broken"), default="")

    last_run = models.BigIntegerField(_("last run"), null=True, default=None)
    last_status = models.CharField(_("last status"), max_length=20, default="")
    last_started_at = InstantField(_("last started at"), null=True, default=None)
    last_finished_at = InstantField(_("last finished at"), null=True, default=None)
    last_success = models.BigIntegerField(_("last success"), null=True, default=None)
    last_success_at = InstantField(_("last success at"), null=True, default=None)
    last_failure = models.BigIntegerField(_("last failure"), null=True, default=None)
    last_failure_at = InstantField(_("last failure at"), null=True, default=None)
    outcomes = TolerantJSONField(_("latest outcomes"), default=list)

    objects = JobStateManager()

    class Meta:
        verbose_name = _("job state")
        verbose_name_plural = _("job states")
        default_permissions = ()
        indexes = [
            LiveIndex(fields=["broken_code"], where=~Q(broken_code=""), name="gocron_state_broken"),
        ]

    def __str__(self) -> str:
        return f"state of job {self.pk}"

    def natural_key(self) -> tuple[str]:
        return self.job.natural_key()

    natural_key.dependencies = ["gocron.job"]  # type: ignore[attr-defined]

    def add_outcome(self, status: str, seconds: float | None) -> None:
        """Put one more outcome at the end of the ring: ``[status, seconds]``."""
        ring: list[Any] = self.outcomes if isinstance(self.outcomes, list) else []
        self.outcomes = [*ring, [status, None if seconds is None else round(seconds, 3)]][-RING:]


JobState._meta.get_field("job").serialize = True  # type: ignore[attr-defined]
"""Django leaves keys out of fixtures that have natural ones; this key says whose state it is."""
