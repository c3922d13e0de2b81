"""Many ticks on several processes that are killed and frozen all the time: ``python -m tests.faults.soak --help``."""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "mariadb"), default="postgresql")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--skew", action="store_true", help="the hosts' clocks are minutes apart")
    options = parser.parse_args()
    if options.skew and options.database == "sqlite":
        parser.error("On SQLite the host's clock is the database's: processes on one host have one.")
    os.environ["GOCRON_TEST_DATABASE"] = options.database
    from tests.faults.soaking import soak  # the settings read the environment when they are first imported

    sys.exit(soak(processes=options.processes, seconds=options.seconds, skewed=options.skew))


if __name__ == "__main__":
    main()
