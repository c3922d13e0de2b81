from __future__ import annotations

import shutil
from datetime import timedelta

from django.apps import AppConfig
from django.conf import settings
from django.utils import timezone

from django_gocron import EveryRandom, job


class ShopConfig(AppConfig):
    name = "shop"
    verbose_name = "Shop"


@job(EveryRandom(2, 4), tags=["operations"], description="Keeps a day of readings.")
def check_disk() -> dict[str, float]:
    """Take a reading of the disk that the shop lies on."""
    from shop.models import DiskReading  # there are no models yet while apps.py is imported

    usage = shutil.disk_usage(settings.BASE_DIR)
    reading = DiskReading.objects.create(total_bytes=usage.total, free_bytes=usage.free)
    DiskReading.objects.filter(taken_at__lt=timezone.now() - timedelta(days=1)).delete()
    return {"used_percent": reading.used_percent}
