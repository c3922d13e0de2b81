"""Leases by name: locks and leadership that one holder has for a time."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_gocron.models.fields import InstantField


class Lease(models.Model):
    """``holder`` has ``name`` until ``expires_at``, on the database's clock; ``token`` is what it proves that with, ""
    while nobody has it. ``term`` grows with every change of holder."""

    name = models.CharField(_("name"), max_length=255, primary_key=True)
    holder = models.CharField(_("holder"), max_length=255, blank=True, default="")
    token = models.CharField(_("token"), max_length=64, blank=True, default="")
    term = models.BigIntegerField(_("term"), default=0)
    acquired_at = InstantField(_("acquired at"), null=True, default=None)
    expires_at = InstantField(_("expires at"), null=True, default=None)

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.name
