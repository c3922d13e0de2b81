"""The supplier's price service: far away, and not always up.

There is no network here. The service keeps its real counterpart's habits: for three seconds out of nine it is down.
"""

from __future__ import annotations

import time
from decimal import Decimal

CYCLE, DOWN = 9, 3
"""Seconds from one breakdown to the next, and how many of them it lasts."""


class SupplierError(Exception):
    """The supplier's service gave no prices; the text says why."""


def fetch_costs(prices: dict[str, Decimal]) -> dict[str, Decimal]:
    """What each SKU costs the shop today. Raises ``SupplierError``."""
    try:
        return {sku: _ask(sku, price) for sku, price in prices.items()}
    except ConnectionError as error:
        raise SupplierError("No prices from supplier.example, the old ones stay.") from error


def _ask(sku: str, price: Decimal) -> Decimal:
    seconds = int(time.time())
    if seconds % CYCLE < DOWN:
        raise ConnectionRefusedError(f"GET https://supplier.example/prices/{sku}: connection refused")
    percent = 55 + (seconds // CYCLE + len(sku)) % 10
    return (price * percent / 100).quantize(Decimal("0.01"))
