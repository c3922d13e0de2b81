"""The suite runs on the database it was asked to run on, and Redis answers through Django's cache."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import connection

from tests.services import find_service


@pytest.mark.django_db
def test_runs_on_the_database_that_was_asked_for():
    vendors = {"sqlite": "sqlite", "postgresql": "postgresql", "mariadb": "mysql"}
    assert connection.vendor == vendors[settings.TEST_DATABASE]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


@pytest.mark.needs("redis")
def test_keeps_a_value_in_redis(settings):
    settings.CACHES = {
        "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": find_service("redis").location}
    }
    caches["default"].set("gocron:greeting", "hello", timeout=10)
    assert caches["default"].get("gocron:greeting") == "hello"
    caches["default"].close()
