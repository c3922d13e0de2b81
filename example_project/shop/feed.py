"""The order feed: a CSV file that the web shop's provider appends to, one row for each line of an order."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FEED = Path(__file__).parent / "data" / "orders.csv"

Row = dict[str, str]


class FeedError(Exception):
    """Something in the feed is not as it should be; the text says where and what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLine:
    sku: str
    quantity: int
    price: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOrder:
    """The rows of one order as they stand in the file, from ``first_line`` on."""

    number: str
    first_line: int
    rows: Sequence[Row]

    @property
    def last_line(self) -> int:
        return self.first_line + len(self.rows) - 1

    @property
    def customer(self) -> str:
        return self.rows[0]["customer"]

    @property
    def placed_at(self) -> datetime:
        """Aware. Raises ``FeedError``."""
        try:
            placed_at = datetime.fromisoformat(self.rows[0]["placed_at"])
        except ValueError as error:
            raise FeedError(f"line {self.first_line}: {error}") from error
        if placed_at.tzinfo is None:
            raise FeedError(f"line {self.first_line}: the time {placed_at} lacks a zone")
        return placed_at

    @property
    def lines(self) -> list[FeedLine]:
        """Raises ``FeedError``."""
        return [_read_line(row, number) for number, row in enumerate(self.rows, self.first_line)]


def read_orders(*, after_line: int = 0, path: Path = FEED) -> Iterator[FeedOrder]:
    """The orders that begin after a line of the file (the headings are line 1), in its order."""
    with path.open(encoding="utf-8", newline="") as file:
        numbered = enumerate(csv.DictReader(file), 2)
        unread = ((line, row) for line, row in numbered if line > after_line)
        for number, group in groupby(unread, lambda pair: pair[1]["order"]):
            pairs = list(group)
            yield FeedOrder(number=number, first_line=pairs[0][0], rows=[row for _line, row in pairs])


def _read_line(row: Row, line: int) -> FeedLine:
    try:
        quantity, price = int(row["quantity"]), Decimal(row["price"])
    except (ValueError, InvalidOperation):
        message = f"line {line}: {row['quantity']!r} at {row['price']!r} is no quantity at a price"
        raise FeedError(message) from None
    if quantity < 1 or not price.is_finite() or price < 0:
        raise FeedError(f"line {line}: {quantity} at {price} cannot be")
    return FeedLine(sku=row["sku"], quantity=quantity, price=price)
