"""What happened while the demo ran, and whether it is what a demo should show."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Max, Sum

from django_gocron.models import Run
from django_gocron.models.choices import LIVE, Status
from shop.models import FeedImport, Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENDED = (Status.SUCCEEDED, Status.FAILED)
MIN_RUNS, MIN_JOBS = 20, 5

MAIL_BEGINS, MAIL_ENDS = "Content-Type: text/plain", "-" * 79
"""How Django's console backend prints a mail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment in the history: the last rows there were."""

    run: int
    order: int
    feed_import: int

    @classmethod
    def now(cls) -> Mark:
        run, order, feed_import = (
            model.objects.aggregate(last=Max("pk"))["last"] or 0 for model in (Run, Order, FeedImport)
        )
        return cls(run=run, order=order, feed_import=feed_import)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``counts`` are runs by job and status; ``mails`` are printed ones, without headings that nobody reads."""

    counts: dict[str, Counter[str]]
    orders: int
    revenue: str
    rejected: int
    mails: Sequence[str]
    failure: Run | None

    @classmethod
    def since(cls, mark: Mark, lines: Sequence[str]) -> Report:
        runs = Run.objects.filter(pk__gt=mark.run).exclude(status__in=LIVE)
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for name, status in runs.order_by("job_name").values_list("job_name", "status"):
            counts[name][status] += 1
        orders = Order.objects.filter(pk__gt=mark.order)
        imports = FeedImport.objects.filter(pk__gt=mark.feed_import)
        return cls(
            counts=counts,
            orders=orders.count(),
            revenue=f"{orders.aggregate(sum=Sum('total', default=0))['sum']:,.2f}",
            rejected=imports.aggregate(sum=Sum("rejected", default=0))["sum"],
            mails=list(find_mails(lines)),
            failure=runs.filter(status=Status.FAILED).exclude(traceback="").order_by("pk").first(),
        )

    @property
    def ended(self) -> dict[str, int]:
        """How many runs of each job ran to their end, well or badly; jobs without one are left out."""
        sums = {name: sum(counter[status] for status in ENDED) for name, counter in self.counts.items()}
        return {name: number for name, number in sums.items() if number}

    @property
    def faults(self) -> list[str]:
        """What a demo should have shown and this one did not."""
        expected = {
            f"{MIN_RUNS} finished runs": sum(self.ended.values()) >= MIN_RUNS,
            f"{MIN_JOBS} jobs that ran": len(self.ended) >= MIN_JOBS,
            "an imported order": self.orders > 0,
            "a printed mail": bool(self.mails),
            "a failed run with its traceback": self.failure is not None,
        }
        return [what for what, was_there in expected.items() if not was_there]

    def describe(self) -> Iterator[str]:
        yield from self._describe_runs()
        yield ""
        yield f"Orders imported: {self.orders}, worth {self.revenue} EUR; rejected: {self.rejected}"
        yield f"Mails printed: {len(self.mails)}" + (". The last one:" if self.mails else "")
        yield from _indent(self.mails[-1] if self.mails else "")
        if self.failure:
            yield f"A failed run: {self.failure.job_name}, run {self.failure.pk}"
            yield from _indent(self.failure.traceback)

    def _describe_runs(self) -> Iterator[str]:
        statuses = list(dict.fromkeys([*ENDED, *sorted(set().union(*self.counts.values()))]))
        yield "  ".join([f"{'Runs by job':26}", *(f"{status:>9}" for status in statuses)])
        for name, counter in self.counts.items():
            yield "  ".join([f"{name:26}", *(f"{counter[status]:9}" for status in statuses)])
        yield f"{sum(self.ended.values())} runs of {len(self.ended)} jobs finished."


def find_mails(lines: Sequence[str]) -> Iterator[str]:
    """Sender, receiver, subject and text of each mail among the lines."""
    kept: list[str] | None = None
    for line in lines:
        if line.startswith(MAIL_BEGINS):
            kept = []
        elif line == MAIL_ENDS and kept is not None:
            yield "\n".join(kept)
            kept = None
        elif kept is not None and not line.startswith(("MIME-Version:", "Content-", "Message-ID:", "Date:")):
            kept.append(line)


def _indent(text: str) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in text.strip().splitlines())
