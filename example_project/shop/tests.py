"""``manage.py test``: the work that the shop's jobs do."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from unittest import mock

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core import mail
from django.test import SimpleTestCase, TestCase
from django.urls import reverse
from django.utils import timezone

from config.databases import read_database_url
from django_gocron.models import Job
from shop import jobs, orders, stock, supplier
from shop.feed import read_orders
from shop.models import FeedImport, Order, Product

HEADINGS = "order,customer,placed_at,sku,quantity,price\n"
TWO_ORDERS = (
    "W1,Ada,2026-11-02T07:21:09+01:00,MUG-BLU,2,11.90\n"
    "W1,Ada,2026-11-02T07:21:09+01:00,TEA-EAR,1,8.90\n"
    "W2,Ben,2026-11-02T08:00:00+01:00,MUG-BLU,1,11.90\n"
)


class FeedTests(TestCase):
    fixtures = ("catalog",)

    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = Path(folder, "orders.csv")

    def write(self, rows: str) -> None:
        self.path.write_text(HEADINGS + rows, encoding="utf-8")

    def import_all(self) -> FeedImport:
        done = orders.import_next(100, path=self.path)
        assert done is not None
        return done

    def assert_rejected(self, rows: str, reason: str) -> None:
        self.write(rows)
        with self.assertLogs("shop", "WARNING") as log:
            done = self.import_all()
        assert reason in log.output[0]
        assert (done.imported, done.rejected) == (0, 1)
        assert not Order.objects.exists()

    def test_an_order_has_its_lines_and_their_sum(self) -> None:
        self.write(TWO_ORDERS)
        self.import_all()
        order = Order.objects.get(number="W1")
        assert order.total == Decimal("32.70")
        assert order.lines.count() == 2

    def test_what_is_ordered_leaves_the_stock(self) -> None:
        before = Product.objects.get(sku="MUG-BLU").stock
        self.write(TWO_ORDERS)
        self.import_all()
        assert Product.objects.get(sku="MUG-BLU").stock == before - 3
        assert stock.recount() == {}

    def test_each_import_goes_on_where_the_last_one_ended(self) -> None:
        self.write(TWO_ORDERS)
        orders.import_next(1, path=self.path)
        assert [order.number for order in Order.objects.all()] == ["W1"]
        orders.import_next(1, path=self.path)
        assert {order.number for order in Order.objects.all()} == {"W1", "W2"}
        assert orders.import_next(1, path=self.path) is None

    def test_an_order_that_comes_again_is_not_imported_again(self) -> None:
        self.write(TWO_ORDERS + TWO_ORDERS.splitlines(keepends=True)[0])
        done = self.import_all()
        assert (done.imported, done.known) == (2, 1)
        assert Order.objects.count() == 2

    def test_an_unknown_product_is_rejected(self) -> None:
        self.assert_rejected("W1,Ada,2026-11-02T07:21:09+01:00,SHOE,1,11.90\n", "unknown SKU SHOE")

    def test_a_quantity_in_words_is_rejected(self) -> None:
        self.assert_rejected("W1,Ada,2026-11-02T07:21:09+01:00,MUG-BLU,two,11.90\n", "line 2: 'two'")

    def test_a_negative_price_is_rejected(self) -> None:
        self.assert_rejected("W1,Ada,2026-11-02T07:21:09+01:00,MUG-BLU,1,-11.90\n", "cannot be")

    def test_a_time_without_a_zone_is_rejected(self) -> None:
        self.assert_rejected("W1,Ada,2026-11-02T07:21:09,MUG-BLU,1,11.90\n", "lacks a zone")

    def test_more_than_there_is_of_one_product_rejects_the_whole_order(self) -> None:
        before = Product.objects.get(sku="TEA-EAR").stock
        rows = TWO_ORDERS.splitlines(keepends=True)
        self.assert_rejected(rows[1] + rows[0].replace(",2,", ",9999,"), "out of stock")
        assert Product.objects.get(sku="TEA-EAR").stock == before

    def test_the_feed_that_comes_with_the_shop_is_mostly_good(self) -> None:
        numbers = {order.number for order in read_orders()}
        with self.assertLogs("shop", "WARNING"):
            done = orders.import_next(100)
        assert len(numbers) > 500
        assert (done.imported if done else 0) >= 90


class StockTests(TestCase):
    fixtures = ("catalog",)

    def test_a_recount_corrects_what_somebody_changed_by_hand(self) -> None:
        mug = Product.objects.get(sku="MUG-BLU")
        Product.objects.filter(pk=mug.pk).update(stock=mug.stock + 5)
        with self.assertLogs("shop", "WARNING"):
            assert stock.recount() == {"MUG-BLU": -5}
        assert Product.objects.get(pk=mug.pk).stock == mug.stock

    def test_what_runs_out_is_ordered_up_to_the_level(self) -> None:
        stock.receive(mug := Product.objects.get(sku="MUG-BLU"), 3 - mug.stock)
        assert stock.reorder(minimum=20, level=100) == {"MUG-BLU": 97}
        assert Product.objects.get(pk=mug.pk).stock == 100
        assert stock.reorder(minimum=20, level=100) == {}


class SupplierTests(TestCase):
    fixtures = ("catalog",)

    def test_prices_are_stored_while_the_supplier_is_up(self) -> None:
        with mock.patch("shop.supplier.time.time", return_value=supplier.DOWN):
            jobs.fetch_prices()
        assert not Product.objects.filter(cost=None).exists()

    def test_the_old_prices_stay_while_the_supplier_is_down(self) -> None:
        Product.objects.update(cost=Decimal("1.00"))
        with (
            mock.patch("shop.supplier.time.time", return_value=0),
            self.assertRaisesMessage(supplier.SupplierError, "the old ones stay"),
        ):
            jobs.fetch_prices()
        assert set(Product.objects.values_list("cost", flat=True)) == {Decimal("1.00")}


class SalesTests(TestCase):
    def setUp(self) -> None:
        for number, total in (("W1", "10.00"), ("W2", "5.50")):
            Order.objects.create(
                number=number, customer="Ada", placed_at=timezone.now(), total=Decimal(total)
            )
        Order.objects.filter(number="W2").update(imported_at=timezone.now() - timedelta(days=2))

    async def test_the_digest_mails_what_was_sold_since(self) -> None:
        await jobs.send_digest(minutes=60, recipient="ada@shop.example")
        assert [message.subject for message in mail.outbox] == ["1 orders, 10.00 EUR"]
        assert mail.outbox[0].to == ["ada@shop.example"]

    async def test_an_old_order_is_in_a_longer_digest(self) -> None:
        done = await jobs.send_digest(minutes=3 * 24 * 60)
        assert done == {"orders": 2, "revenue": "15.50"}


class JobsTests(TestCase):
    fixtures = ("jobs",)

    def test_the_jobs_of_the_fixture_are_valid_and_planned(self) -> None:
        for job in Job.objects.all():
            with self.subTest(job.name):
                job.full_clean()
                assert job.state.next_run_at is not None
        assert Job.objects.count() == 2


class OfficeTests(TestCase):
    def setUp(self) -> None:
        self.client.force_login(get_user_model().objects.create_superuser("anna"))

    def test_the_front_door_leads_to_the_office(self) -> None:
        self.assertRedirects(self.client.get("/"), reverse("admin:index"))

    def test_every_list_opens(self) -> None:
        for model in apps.get_app_config("shop").get_models():
            name = model._meta.model_name
            if name != "orderline":
                with self.subTest(name):
                    response = self.client.get(reverse(f"admin:shop_{name}_changelist"))
                    assert response.status_code == 200


class DatabaseURLTests(SimpleTestCase):
    def read(self, url: str) -> dict[str, object]:
        return read_database_url(url, Path("/shop"))

    def test_a_relative_file_lies_in_the_folder_of_the_project(self) -> None:
        assert self.read("sqlite:///a.sqlite3")["NAME"] == Path("/shop/a.sqlite3")

    def test_a_fourth_slash_names_a_file_from_the_root(self) -> None:
        assert self.read("sqlite:////tmp/a.sqlite3")["NAME"] == Path("/tmp/a.sqlite3")

    def test_user_password_host_and_port_are_read(self) -> None:
        read = self.read("postgresql://anna:p%40ss@db.example:5433/shop")
        assert [read[key] for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")] == [
            "anna",
            "p@ss",
            "db.example",
            5433,
            "shop",
        ]
