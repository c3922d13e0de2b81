"""Lockers and the elector: whether they can be made, and what their caches may lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks
from django.core.cache import caches
from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.memcached import BaseMemcachedCache

from django_gocron.conf import get_settings
from django_gocron.electors.base import Elector
from django_gocron.electors.cache import CacheElector
from django_gocron.exceptions import ConfigurationError
from django_gocron.lockers.base import Locker
from django_gocron.lockers.cache import CacheLocker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.core.cache.backends.base import BaseCache
    from django.core.checks import CheckMessage

    from django_gocron.backends import Backend


def check_coordination(**kwargs: Any) -> list[CheckMessage]:
    """E004: a locker, or the elector, cannot be made. W013: its cache drops what it has no room for. W014: its cache
    keeps errors to itself."""
    try:
        current = get_settings()
    except ConfigurationError:
        return []  # E001 says so
    if current.coordination == "off":
        return []
    kinds: list[tuple[Backend, type[Any]]] = [(backend, Locker) for backend in current.lockers.values()]
    kinds += [(current.elector, Elector)] if current.elector else []
    return [message for backend, kind in kinds for message in _check(backend, kind)]


def _check(backend: Backend, kind: type[Any]) -> Iterator[CheckMessage]:
    try:
        made = backend.make(kind)
    except ConfigurationError as error:
        page = "Elect a leader" if kind is Elector else "Choose a locker"
        hint = f"See {page!r} in the documentation. For local work, write GOCRON['COORDINATION'] = 'off'."
        yield checks.Error(error.message, hint=hint, id="gocron.E004")
        return
    if isinstance(made, CacheLocker | CacheElector):
        alias = backend.options.get("cache", "default")
        yield from _check_cache(backend.setting, alias, caches[alias])


def _check_cache(setting: str, alias: str, cache: BaseCache) -> Iterator[CheckMessage]:
    if isinstance(cache, BaseMemcachedCache | DatabaseCache):
        yield checks.Warning(
            f"{setting}: the cache {alias!r} drops entries when it is full, locks and leadership too.",
            hint="Give it an alias of its own, with room to spare, or use Redis. No tick runs twice in any case.",
            id="gocron.W013",
        )
    if _ignores_exceptions(settings.CACHES[alias]):
        yield checks.Warning(
            f"{setting}: the cache {alias!r} ignores exceptions, so everything else that uses it takes an outage for"
            " an empty cache. Locks do not: they ask Redis past that.",
            hint="Give locks an alias of their own, without IGNORE_EXCEPTIONS.",
            id="gocron.W014",
        )


def _ignores_exceptions(values: dict[str, Any]) -> bool:
    is_general = getattr(settings, "DJANGO_REDIS_IGNORE_EXCEPTIONS", False)
    return bool(values.get("OPTIONS", {}).get("IGNORE_EXCEPTIONS", is_general))
