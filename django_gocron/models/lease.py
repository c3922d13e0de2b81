"""Leases by name: leadership, and whatever else only one instance may have."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_gocron.models.fields import InstantField


class Lease(models.Model):
    """``holder`` has ``name`` until ``expires_at``; ``term`` grows with every change of holder."""

    name = models.CharField(_("name"), max_length=100, primary_key=True)
    holder = models.UUIDField(_("holder"), null=True, default=None)
    term = models.BigIntegerField(_("term"), default=0)
    expires_at = InstantField(_("expires at"), null=True, default=None)

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.name
