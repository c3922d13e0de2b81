"""The soak: what it does to the processes, and what it says when all is quiet again."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from tests.faults.fleet import Fleet, Instance  # first: it sets Django up
from tests.faults.instance import LEASE

# isort: split
from django_gocron import Every
from tests.faults import tasks
from tests.faults.checker import Evidence, all_wrong
from tests.faults.programs import fleet_on_a_fresh_database, print_table
from tests.faults.table import Row
from tests.handdriven import make_job

SLOW_JOBS, FAST_JOBS = 20, 5
"""Of every second, and of every tenth of one."""

KILL_EVERY, FREEZE_EVERY = 5.0, 10.0
"""Seconds."""

FROZEN_FOR = LEASE["LEASE"] + 1.5
"""Seconds: longer than the lease."""

QUIET_FOR = LEASE["LEASE"] + 9.0
"""Seconds until every lease of the dead has run out and been looked for, with time to spare."""


@dataclass(slots=True)
class Soak:
    """The processes, and what was done to them. A process that was killed is followed by another."""

    fleet: Fleet
    skewed: bool
    living: list[Instance] = field(default_factory=list)
    frozen: dict[Instance, float] = field(default_factory=dict)
    kills: int = 0
    freezes: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(2026))

    def start(self) -> None:
        number = len(self.fleet.instances)
        host_clock = self.fleet.folder / f"host clock {number}"
        host_clock.write_text(str((number % 5 - 2) * 420 if self.skewed else 0))
        instance = self.fleet.start(
            f"process {number}",
            host_clock=str(host_clock),
            traces_points=False,
            gocron={"KEEP_RUNS": 100_000_000},
        )
        self.living.append(instance)

    def kill_one(self) -> None:
        victim = self.chance.choice([one for one in self.living if one not in self.frozen])
        victim.kill()
        self.living.remove(victim)
        self.kills += 1
        self.start()

    def freeze_one(self, now: float) -> None:
        victim = self.chance.choice([one for one in self.living if one not in self.frozen])
        victim.freeze()
        self.frozen[victim] = now + FROZEN_FOR
        self.freezes += 1

    def thaw_due(self, now: float) -> None:
        for instance in [one for one, until in self.frozen.items() if until <= now]:
            instance.thaw()
            del self.frozen[instance]

    def go_on_for(self, seconds: float) -> None:
        now = started_at = time.monotonic()
        kill_at, freeze_at = now + KILL_EVERY, now + FREEZE_EVERY
        while now < started_at + seconds:
            if now >= kill_at:
                self.kill_one()
                kill_at += KILL_EVERY
            if now >= freeze_at:
                self.freeze_one(now)
                freeze_at += FREEZE_EVERY
            self.thaw_due(now)
            time.sleep(0.1)
            now = time.monotonic()
        self.thaw_due(float("inf"))

    def stop(self) -> list[int]:
        for instance in self.living:
            instance.ask_to_stop()
        return [instance.wait() for instance in self.living]


def soak(*, processes: int, seconds: float, skewed: bool) -> int:
    """Answers an exit code: 1 where an invariant does not hold."""
    with fleet_on_a_fresh_database() as fleet:
        for interval, number in ((1.0, SLOW_JOBS), (0.1, FAST_JOBS)):
            for place in range(number):
                make_job(f"{interval} s, {place}", task=tasks.fence, schedule=Every(seconds=interval))
        soaked = Soak(fleet, skewed)
        for _ in range(processes):
            soaked.start()
        soaked.go_on_for(seconds)
        time.sleep(QUIET_FOR)
        codes = soaked.stop()
        evidence = Evidence.gather(fleet.trace)
    wrong = all_wrong(evidence) + [f"exit code {code}" for code in codes if code]
    print_table(figures(soaked, evidence, seconds))
    print("\n".join(wrong[:40]) or "I1, I2, I3, I4, I6 hold")
    return 1 if wrong else 0


def figures(soaked: Soak, evidence: Evidence, seconds: float) -> list[Row]:
    statuses = Counter(f"{run.status}({run.reason})".replace("()", "") for run in evidence.runs)
    lags = sorted(run.lag / timedelta(milliseconds=1) for run in evidence.runs if run.lag is not None)
    rows = {
        "seconds, and quiet": f"{seconds:.0f} + {QUIET_FOR:.0f}",
        "kill -9, frozen past the lease": f"{soaked.kills}, {soaked.freezes}",
        "ticks": sum(run.count for run in evidence.runs),
        "rows": len(evidence.runs),
        **{f"rows {status}": number for status, number in statuses.most_common()},
        "begun": len(evidence.said("begin")),
        "results refused": len(evidence.said("refused")),
        "tokens refused": len(evidence.said("stale")),
        "lag p50, p99, max": ", ".join(f"{_quantile(lags, share):.0f} ms" for share in (0.5, 0.99, 1.0)),
    }
    return [(name, str(value), "") for name, value in rows.items()]


def _quantile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0
