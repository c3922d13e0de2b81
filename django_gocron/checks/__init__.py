"""What ``manage.py check`` says. Each message has an id with a section of its own in the reference.

Checks that ask a database run only where ``databases`` names the one that schedulers work on, as ``check --database``
and ``migrate`` do; the others touch none.
"""

from __future__ import annotations

from django.core import checks

from django_gocron.checks.connecting import check_connections
from django_gocron.checks.coordination import check_coordination
from django_gocron.checks.declared import check_declarations
from django_gocron.checks.monitoring import check_monitors
from django_gocron.checks.routing import check_routers
from django_gocron.checks.setting import check_commands, check_setting
from django_gocron.checks.sqlite import check_sqlite
from django_gocron.checks.zones import check_stored_zones, check_zone_data

TAG = "gocron"

WITHOUT_A_DATABASE = (
    check_setting,
    check_commands,
    check_declarations,
    check_routers,
    check_connections,
    check_coordination,
    check_monitors,
    check_zone_data,
)
WITH_A_DATABASE = (check_sqlite, check_stored_zones)


def connect() -> None:
    """Let Django run the checks."""
    for check in WITHOUT_A_DATABASE:
        checks.register(check, TAG)
    for check in WITH_A_DATABASE:
        checks.register(check, TAG, checks.Tags.database)
