from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin

from shop.models import Digest, DiskReading, FeedImport, Order, OrderLine, Product, StockMovement

if TYPE_CHECKING:
    from django.db.models import Model
    from django.http import HttpRequest


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that jobs write and people read."""

    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Product)
class ProductAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["sku", "name", "price", "cost", "stock"]
    search_fields = ["sku", "name"]


class OrderLineInline(admin.TabularInline):  # type: ignore[type-arg]
    model = OrderLine
    fields = ["product", "quantity", "price", "amount"]
    readonly_fields = ["amount"]
    can_delete = False


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    list_display = ["number", "customer", "total", "placed_at", "imported_at"]
    search_fields = ["number", "customer"]
    inlines = [OrderLineInline]


@admin.register(FeedImport)
class FeedImportAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "imported", "known", "rejected", "created_at"]


@admin.register(StockMovement)
class StockMovementAdmin(ReadOnlyAdmin):
    list_display = ["product", "quantity", "reason", "order", "created_at"]
    list_filter = ["reason", "product"]
    list_select_related = ["product", "order"]


@admin.register(Digest)
class DigestAdmin(ReadOnlyAdmin):
    list_display = ["sent_at", "recipient", "orders", "revenue", "since"]


@admin.register(DiskReading)
class DiskReadingAdmin(ReadOnlyAdmin):
    list_display = ["taken_at", "used_percent", "free_bytes", "total_bytes"]
