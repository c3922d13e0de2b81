"""Goods come and go, each time by a movement; the stock of a product is the sum of its movements.

Jobs run side by side. None deadlocks with another: a transaction changes one product, or has locked all that it will
change by ``lock_products``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F, Sum

from shop.models import Product, StockMovement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shop.models import Order

logger = logging.getLogger("shop")


class OutOfStockError(Exception):
    """There is less of a product than is to leave."""


def lock_products(skus: Iterable[str]) -> dict[str, Product]:
    """Those of these products that there are, by SKU, locked until the transaction ends."""
    products = Product.objects.select_for_update().filter(sku__in=set(skus)).order_by("sku")
    return {product.sku: product for product in products}


@transaction.atomic
def sell(product: Product, quantity: int, order: Order) -> None:
    """Take goods for an order out of the stock. Raises ``OutOfStockError``, and then changes nothing."""
    enough = Product.objects.filter(pk=product.pk, stock__gte=quantity)
    if not enough.update(stock=F("stock") - quantity):
        raise OutOfStockError(f"{product} is out of stock")
    StockMovement.objects.create(
        product=product, quantity=-quantity, reason=StockMovement.Reason.SALE, order=order
    )


@transaction.atomic
def receive(product: Product, quantity: int) -> None:
    """Put delivered goods into the stock."""
    Product.objects.filter(pk=product.pk).update(stock=F("stock") + quantity)
    StockMovement.objects.create(product=product, quantity=quantity, reason=StockMovement.Reason.DELIVERY)


def reorder(*, minimum: int, level: int) -> dict[str, int]:
    """Fill up to ``level`` whatever is below ``minimum``; answer how many pieces of each SKU came."""
    delivered = {}
    for product in Product.objects.filter(stock__lt=minimum):
        delivered[product.sku] = level - product.stock
        receive(product, delivered[product.sku])
    return delivered


def recount() -> dict[str, int]:
    """Set each product's stock to the sum of its movements; answer by how much those that were wrong differed."""
    differences = {sku: _recount(sku) for sku in Product.objects.values_list("sku", flat=True)}
    return {sku: difference for sku, difference in differences.items() if difference}


@transaction.atomic
def _recount(sku: str) -> int:
    product = lock_products([sku])[sku]
    counted: int = product.movements.aggregate(sum=Sum("quantity", default=0))["sum"]
    difference = counted - product.stock
    if difference:
        logger.warning("%s: %d in stock, %d counted", product, product.stock, counted)
        product.stock = counted
        product.save(update_fields=["stock"])
    return difference
