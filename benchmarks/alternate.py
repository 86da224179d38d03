"""Two versions of the package in turn: processor seconds of the default search and the BIC it reaches, and their ratio.

    python -m benchmarks.alternate OTHER_PYTHON --sets voting d18_10k --seeds 0 1
    python -m benchmarks.alternate OTHER_PYTHON --sets coil42 --set starts=1

``OTHER_PYTHON`` is the interpreter of an environment in which the other version is installed. The two take turns, so
that whatever else the machine does falls on both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def once(name: str, seed: int, options: dict[str, int]) -> dict[str, float]:
    """Processor seconds and the score of one search."""
    import numpy as np

    from latentree.search import learn

    from .seeds import load

    table = load(name)
    began = time.process_time()
    run = learn(table, rng=np.random.default_rng(seed), **options)
    return {"cpu": time.process_time() - began, "score": run.score}


def main() -> None:
    """Alternate, and print a line for each set and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="the interpreter of the other version")
    parser.add_argument("--sets", nargs="+", default=["voting", "d12_1k", "z12", "solar", "d18_10k"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=NUMBER", help="options of the search")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    options = {name: int(value) for name, value in (pair.split("=") for pair in args.set)}
    if args.child:
        print(json.dumps(once(args.sets[0], args.seeds[0], options)))
        return
    print("data, seed: processor seconds of the other version and of this one, their ratio, BIC of both")
    for name in args.sets:
        for seed in args.seeds:
            given = ["--child", "--sets", name, "--seeds", str(seed), "--set", *args.set]
            both = []
            for python in (args.other, sys.executable):
                command = [python, "-m", "benchmarks.alternate", args.other, *given]
                done = subprocess.run(
                    command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
                )
                both.append(json.loads(done.stdout.splitlines()[-1]))
            old, new = both
            print(
                f"{name}, {seed}: {old['cpu']:.1f}, {new['cpu']:.1f}, {old['cpu'] / new['cpu']:.2f}, "
                f"{old['score']:,.1f}, {new['score']:,.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
