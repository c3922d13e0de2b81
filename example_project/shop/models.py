"""What the shop has, and what happened to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from decimal import Decimal


class ProductManager(models.Manager["Product"]):
    def get_by_natural_key(self, sku: str) -> Product:
        return self.get(sku=sku)


class Product(models.Model):
    """``stock`` is kept up to date by every movement; the movements are the truth."""

    sku = models.CharField("SKU", max_length=20, unique=True)
    name = models.CharField(max_length=100)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    cost = models.DecimalField("supplier's price", max_digits=8, decimal_places=2, null=True, blank=True)
    stock = models.IntegerField(default=0)

    objects = ProductManager()

    class Meta:
        ordering = ["sku"]

    def __str__(self) -> str:
        return f"{self.name} ({self.sku})"

    def natural_key(self) -> tuple[str]:
        return (self.sku,)


class FeedImport(models.Model):
    """One reading of the order feed, from ``first_line`` to ``last_line`` of the file. No line is read twice."""

    first_line = models.PositiveIntegerField(unique=True)
    last_line = models.PositiveIntegerField()
    imported = models.PositiveIntegerField()
    known = models.PositiveIntegerField("known already")
    rejected = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-last_line"]

    def __str__(self) -> str:
        return f"lines {self.first_line} to {self.last_line}"


class Order(models.Model):
    number = models.CharField(max_length=20, unique=True)
    customer = models.CharField(max_length=100)
    placed_at = models.DateTimeField()
    total = models.DecimalField(max_digits=10, decimal_places=2)
    imported_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.number


class OrderLine(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, models.PROTECT, related_name="order_lines")
    quantity = models.PositiveIntegerField()
    price = models.DecimalField("price each", max_digits=8, decimal_places=2)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(quantity__gte=1), name="shop_line_has_quantity")]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.product}"

    @property
    def amount(self) -> Decimal:
        return self.quantity * self.price


class StockMovement(models.Model):
    """Goods that came (``quantity`` above zero) or went (below)."""

    class Reason(models.TextChoices):
        OPENING = "opening", "opening stock"
        SALE = "sale", "sale"
        DELIVERY = "delivery", "delivery"

    product = models.ForeignKey(Product, models.CASCADE, related_name="movements")
    quantity = models.IntegerField()
    reason = models.CharField(max_length=10, choices=Reason)
    order = models.ForeignKey(Order, models.CASCADE, null=True, blank=True, related_name="movements")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.CheckConstraint(condition=~Q(quantity=0), name="shop_movement_moves")]

    def __str__(self) -> str:
        return f"{self.quantity:+d} {self.product}: {self.get_reason_display()}"


class Digest(models.Model):
    """A digest that was mailed: what was sold from ``since`` until it was sent."""

    since = models.DateTimeField()
    sent_at = models.DateTimeField(auto_now_add=True)
    recipient = models.EmailField()
    orders = models.PositiveIntegerField()
    revenue = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.orders} orders, {self.revenue} EUR"


class DiskReading(models.Model):
    taken_at = models.DateTimeField(auto_now_add=True, db_index=True)
    total_bytes = models.PositiveBigIntegerField()
    free_bytes = models.PositiveBigIntegerField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.used_percent} % used"

    @property
    def used_percent(self) -> float:
        return round(100 - 100 * self.free_bytes / self.total_bytes, 1) if self.total_bytes else 0.0
