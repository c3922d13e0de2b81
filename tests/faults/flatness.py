"""What one instance uses while it runs very many ticks: ``python -m tests.faults.flatness --help``."""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.flatness", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "mariadb"), default="postgresql")
    parser.add_argument("--ticks", type=int, default=100_000)
    options = parser.parse_args()
    os.environ["GOCRON_TEST_DATABASE"] = options.database
    from tests.faults.flattening import (
        watch,
    )  # the settings read the environment when they are first imported

    sys.exit(watch(options.ticks))


if __name__ == "__main__":
    main()
