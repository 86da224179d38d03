"""Kill fits, searches and samplers and see them resume: ``python tests/torture/run.py 50``, or ``make torture``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from kill import JOBS, torture


def main() -> None:
    """Share the kills out over the jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=50, help="how many kills in all (50)")
    parser.add_argument("--only", help="jobs, with commas between (all)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(JOBS)
    total = 0
    for i, name in enumerate(names):
        n = (given.n * (i + 1)) // len(names) - (given.n * i) // len(names)
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            tally = torture(name, JOBS[name], n, given.seed, Path(folder))
        total += tally.kills
        print(
            f"{name:8} {tally.kills:3} kills, {tally.writing} while a file was written, {tally.resumed} of a resumed "
            f"run; {tally.runs} runs to the end, all equal; {time.monotonic() - began:.0f} s",
            flush=True,
        )
    print(f"{total} kills: no file corrupt, no saved step lost, every result the same to the bit.")
    sys.exit(0)


if __name__ == "__main__":
    main()
