"""What was sold, for those who want to know: by mail, as a list, by month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.core.mail import send_mail
from django.db.models import Count, F, Sum
from django.utils import timezone

from shop.models import Digest, Order, OrderLine

if TYPE_CHECKING:
    from datetime import datetime


async def mail_digest(recipient: str, *, since: datetime) -> Digest:
    """Mail what was sold since then, and keep a record of it."""
    orders = Order.objects.filter(imported_at__gte=since)
    sums = await orders.aaggregate(number=Count("id"), revenue=Sum("total", default=0))
    latest = [f"{order.number:10} {order.total:10.2f}  {order.customer}" async for order in orders[:10]]
    subject = f"{sums['number']} orders, {sums['revenue']:.2f} EUR"
    head = f"Since {timezone.localtime(since):%d %B %Y %H:%M:%S %Z}: {subject}."
    await sync_to_async(send_mail)(subject, "\n".join([head, "", *latest]), None, [recipient])
    return await Digest.objects.acreate(
        since=since, recipient=recipient, orders=sums["number"], revenue=sums["revenue"]
    )


def best_sellers(*, since: datetime, top: int) -> list[dict[str, object]]:
    """The products that brought in most since then, best first."""
    lines = OrderLine.objects.filter(order__imported_at__gte=since)
    sums = lines.values("product__sku").annotate(
        pieces=Sum("quantity"), revenue=Sum(F("quantity") * F("price"))
    )
    return [
        {"sku": line["product__sku"], "pieces": line["pieces"], "revenue": f"{line['revenue']:.2f}"}
        for line in sums.order_by("-revenue", "product__sku")[:top]
    ]


def turnover(*, since: datetime) -> dict[str, object]:
    """Number and value of the orders since then."""
    sums = Order.objects.filter(imported_at__gte=since).aggregate(
        orders=Count("id"), revenue=Sum("total", default=0)
    )
    return {"orders": sums["orders"], "revenue": f"{sums['revenue']:.2f}"}
