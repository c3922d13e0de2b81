"""Orders come in from the feed."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Literal

from django.db import transaction
from django.db.models import Max

from shop.feed import FEED, FeedError, read_orders
from shop.models import FeedImport, Order, OrderLine
from shop.stock import OutOfStockError, lock_products, sell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shop.feed import FeedOrder
    from shop.models import Product

logger = logging.getLogger("shop")

Outcome = Literal["imported", "known", "rejected"]


@transaction.atomic
def import_next(limit: int, *, path: Path = FEED) -> FeedImport | None:
    """Import the next ``limit`` orders of the feed; answer the record of it, or None when there are none.

    How far the feed has been read is written in the same transaction as the orders, so that an import that fails
    half-way is repeated whole. An order that cannot be is logged and passed over.
    """
    orders = list(islice(read_orders(after_line=last_line_read(), path=path), limit))
    if not orders:
        return None
    products = lock_products(row["sku"] for order in orders for row in order.rows)
    outcomes: Counter[Outcome] = Counter(_import(order, products) for order in orders)
    return FeedImport.objects.create(
        first_line=orders[0].first_line,
        last_line=orders[-1].last_line,
        imported=outcomes["imported"],
        known=outcomes["known"],
        rejected=outcomes["rejected"],
    )


def last_line_read() -> int:
    """0 before the first import."""
    last: int | None = FeedImport.objects.aggregate(last=Max("last_line"))["last"]
    return last or 0


def _import(order: FeedOrder, products: Mapping[str, Product]) -> Outcome:
    if Order.objects.filter(number=order.number).exists():
        return "known"
    try:
        with transaction.atomic():
            _save(order, products)
    except (FeedError, OutOfStockError) as error:
        logger.warning("Order %s was rejected: %s", order.number, error)
        return "rejected"
    return "imported"


def _save(order: FeedOrder, products: Mapping[str, Product]) -> None:
    """Raises ``FeedError``, ``OutOfStockError``."""
    lines = order.lines
    if unknown := sorted({line.sku for line in lines} - products.keys()):
        raise FeedError(f"unknown SKU {', '.join(unknown)}")
    saved = Order.objects.create(
        number=order.number,
        customer=order.customer,
        placed_at=order.placed_at,
        total=sum(line.quantity * line.price for line in lines),
    )
    for line in lines:
        product = products[line.sku]
        OrderLine.objects.create(order=saved, product=product, quantity=line.quantity, price=line.price)
        sell(product, line.quantity, saved)
