"""The shop's jobs. Some come every few seconds, so that there is something to watch."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from django_gocron import Cron, Daily, Every, Monthly, current_run, job
from shop import orders, sales, stock, supplier
from shop.models import Product

logger = logging.getLogger("shop")


@job(Every(seconds=2), tags=["orders"], owner="Sales")
def import_orders(limit: int = 2) -> dict[str, int]:
    """Import the next orders of the feed."""
    done = orders.import_next(limit)
    if done is None:
        logger.info("The feed has nothing new after line %d.", orders.last_line_read())
        return {"imported": 0}
    return {"imported": done.imported, "known": done.known, "rejected": done.rejected}


@job(Cron("*/5 * * * * *"), name="Digest of the minute", tags=["mail"], kwargs={"minutes": 1})
@job(Daily(at="07:30"), name="Daily digest", tags=["mail"], timezone="Europe/Berlin", owner="Sales")
async def send_digest(minutes: int = 24 * 60, recipient: str = "owner@shop.example") -> dict[str, object]:
    """Mail what was sold of late."""
    run = current_run()
    until = run.scheduled_for if run else timezone.now()
    digest = await sales.mail_digest(recipient, since=until - timedelta(minutes=minutes))
    return {"orders": digest.orders, "revenue": f"{digest.revenue:.2f}"}


@job(Every(seconds=3), tags=["prices"], description="The supplier is not always up: then it fails.")
def fetch_prices() -> dict[str, int]:
    """Ask the supplier what our products cost."""
    prices = dict(Product.objects.values_list("sku", "price"))
    for sku, cost in supplier.fetch_costs(prices).items():
        Product.objects.filter(sku=sku).update(cost=cost)
    return {"products": len(prices)}


@job(Every(seconds=5), tags=["stock"])
def recount_stock() -> dict[str, object]:
    """Compare the stock of each product with its movements, and correct it."""
    return {"corrected": stock.recount()}


@job(Cron("*/10 * * * * *"), tags=["stock"], kwargs={"minimum": 20})
def reorder_stock(minimum: int = 20, level: int = 100) -> dict[str, object]:
    """Order from the supplier what is running out."""
    return {"delivered": stock.reorder(minimum=minimum, level=level)}


@job(Monthly(on=[-1], at="23:50"), timezone="Europe/Berlin", tags=["reports"], owner="Accounts")
def close_month() -> dict[str, object]:
    """Add up the month."""
    today = timezone.localtime()
    return sales.turnover(since=today.replace(day=1, hour=0, minute=0, second=0, microsecond=0))


@job  # nobody has scheduled it here: staff do, in the admin
def report_best_sellers(days: int = 7, top: int = 5) -> list[dict[str, object]]:
    """List the products that sell best."""
    return sales.best_sellers(since=timezone.now() - timedelta(days=days), top=top)
