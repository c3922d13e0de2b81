"""``manage.py test``: what the demo does before the shop opens and after it has closed."""

from __future__ import annotations

import socket
from collections import Counter

from django.core.management import CommandError
from django.test import SimpleTestCase, TestCase
from django.utils import timezone

from demo.opening import prepare
from demo.ports import HOST, find_port
from demo.report import MAIL_ENDS, Mark, Report, find_mails
from django_gocron.models import Job, Run
from shop.models import FeedImport, Order, Product
from shop.orders import import_next


class OpeningTests(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        prepare(lambda _line: None)

    def test_the_first_time_there_are_products_and_jobs_made_by_staff(self) -> None:
        assert Product.objects.exists()
        assert Job.objects.filter(key=None).count() == 2

    def test_the_second_time_what_staff_changed_stays(self) -> None:
        Job.objects.filter(name="Clear expired sessions").update(description="Ours")
        Product.objects.update(stock=7)
        prepare(lambda _line: None)
        assert Job.objects.get(name="Clear expired sessions").description == "Ours"
        assert set(Product.objects.values_list("stock", flat=True)) == {7}

    def test_a_feed_that_is_used_up_begins_anew(self) -> None:
        import_next(5)
        FeedImport.objects.update(last_line=10_000)
        said: list[str] = []
        prepare(said.append)
        assert not Order.objects.exists()
        assert "used up" in said[-1]


class PortTests(SimpleTestCase):
    def test_a_port_that_is_taken_is_refused_by_its_number(self) -> None:
        with socket.socket() as taken:
            taken.bind((HOST, 0))
            taken.listen()
            port = taken.getsockname()[1]
            with self.assertRaisesMessage(CommandError, f"Port {port} is taken"):
                find_port(port)


class ReportTests(TestCase):
    def make_run(self, name: str, status: str, *, traceback: str = "") -> None:
        self.number = getattr(self, "number", 0) + 1
        Run.objects.create(
            job_name=name,
            status=status,
            scheduled_for=timezone.now(),
            scope=str(self.number),
            traceback=traceback,
        )

    def test_only_what_came_after_the_mark_counts(self) -> None:
        self.make_run("Old", "succeeded")
        mark = Mark.now()
        self.make_run("New", "succeeded")
        assert Report.since(mark, []).counts == {"New": Counter(succeeded=1)}

    def test_a_skipped_run_has_not_finished(self) -> None:
        self.make_run("A", "succeeded")
        self.make_run("A", "failed")
        self.make_run("B", "skipped")
        assert Report.since(Mark(run=0, order=0, feed_import=0), []).ended == {"A": 2}

    def test_a_poor_show_is_told_by_what_it_lacks(self) -> None:
        self.make_run("A", "failed", traceback="Traceback: boom")
        faults = Report.since(Mark(run=0, order=0, feed_import=0), []).faults
        assert faults == ["20 finished runs", "5 jobs that ran", "an imported order", "a printed mail"]

    def test_a_mail_is_found_among_the_lines_of_the_log(self) -> None:
        lines = [
            "18:55:38.844 INFO  run started",
            'Content-Type: text/plain; charset="utf-8"',
            "MIME-Version: 1.0",
            "Subject: 2 orders",
            "",
            "W1  10.00",
            MAIL_ENDS,
            "18:55:39.124 INFO  run succeeded",
        ]
        assert list(find_mails(lines)) == ["Subject: 2 orders\n\nW1  10.00"]
