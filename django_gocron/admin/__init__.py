"""The admin: jobs to edit and press buttons on, runs and instances to read."""

from __future__ import annotations

from django.contrib import admin

from django_gocron.admin.instances import InstanceAdmin
from django_gocron.admin.jobs import JobAdmin
from django_gocron.admin.runs import RunAdmin
from django_gocron.models import Instance, Job, Run


def register(site: admin.AdminSite) -> None:
    """Put the pages on an admin site. Django's default site has them already."""
    site.register(Job, JobAdmin)
    site.register(Run, RunAdmin)
    site.register(Instance, InstanceAdmin)


register(admin.site)
