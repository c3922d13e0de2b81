"""Instances: scheduler processes, each with a lease that it renews by heartbeat."""

from __future__ import annotations

import uuid
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from django_gocron.models.fields import InstantField, TolerantJSONField
from django_gocron.models.indexes import LiveIndex


class InstanceQuerySet(models.QuerySet["Instance"]):
    def unreaped(self) -> Self:
        """Instances that have neither stopped nor been reaped; their leases may have expired."""
        return self.filter(reaped_at__isnull=True, stopped_at__isnull=True)


class Instance(models.Model):
    """One scheduler process. Its id is new at each start and after each lost lease."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=255)
    host = models.CharField(_("host"), max_length=255, default="")
    pid = models.PositiveIntegerField(_("pid"), default=0)
    versions = TolerantJSONField(_("versions"), default=dict)
    labels = TolerantJSONField(_("labels"), default=list)
    workers = models.PositiveIntegerField(_("workers"), default=0)
    tasks = TolerantJSONField(_("tasks it knows"), default=list)
    declares = TolerantJSONField(_("jobs it declares"), default=list)

    started_at = InstantField(_("started at"))
    heartbeat_at = InstantField(_("heartbeat at"))
    lease_expires_at = InstantField(_("lease expires at"))
    reaped_at = InstantField(_("reaped at"), null=True, default=None)
    stopped_at = InstantField(_("stopped at"), null=True, default=None)
    clock_offset = models.FloatField(
        _("clock difference to the database"), default=0.0, help_text=_("In seconds.")
    )
    term = models.BigIntegerField(
        _("term"), null=True, default=None, help_text=_("Of leadership, while this instance leads.")
    )
    stop_requested_at = InstantField(_("stop requested at"), null=True, default=None)

    objects = InstanceQuerySet.as_manager()

    class Meta:
        verbose_name = _("instance")
        verbose_name_plural = _("instances")
        ordering = ["-started_at"]
        default_permissions = ("view",)
        indexes = [
            LiveIndex(
                fields=["lease_expires_at"],
                where=Q(reaped_at__isnull=True, stopped_at__isnull=True),
                name="gocron_instance_unreaped",
            ),
        ]

    def __str__(self) -> str:
        return self.name
