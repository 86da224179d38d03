"""Two versions of the package in turn: processor seconds of the default search and the BIC it reaches, and their ratio.

Beside the whole search: the processor seconds after which this version has reached the BIC that the other ended with.

    python -m benchmarks.alternate OTHER_PYTHON --sets voting d18_10k --seeds 0 1
    python -m benchmarks.alternate OTHER_PYTHON --sets coil42 --set starts=1
    python -m benchmarks.alternate OTHER_PYTHON --sets voting --keep 41913b7    # for the page, named by its commit

``OTHER_PYTHON`` is the interpreter of an environment in which the other version is installed. The two take turns, so
that whatever else the machine does falls on both alike.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results" / "alternate.jsonl"

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def once(path: str, seed: int, options: dict[str, int]) -> dict[str, Any]:
    """Processor seconds and the score of one search, and of each step on its way; by names that all versions have."""
    import numpy as np

    from latentree import Table
    from latentree.search import learn

    table = Table.read(path)
    began = time.process_time()
    steps: list[tuple[float, float]] = []

    def on_step(step: Any) -> None:
        steps.append((time.process_time() - began, step.score))

    run = learn(table, rng=np.random.default_rng(seed), on_step=on_step, **options)
    cpu = time.process_time() - began
    return {"cpu": cpu, "score": getattr(run, "value", None) or run.score, "steps": steps}  # value: its name before


def _csv(name: str, path: Path) -> None:
    """Write a case as a file of text cells, which all versions read alike."""
    import numpy as np

    from .seeds import load

    table = load(name)
    codes = np.repeat(table.codes, table.weights.astype(int), axis=0)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(table.names)
        out.writerows([[f"s{c}" if c >= 0 else "" for c in row] for row in codes.tolist()])


def main() -> None:
    """Alternate, and print a line for each set and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="the interpreter of the other version")
    parser.add_argument("--sets", nargs="+", default=["voting", "d12_1k", "z12", "solar", "d18_10k"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=NUMBER", help="options of the search")
    parser.add_argument(
        "--keep", metavar="COMMIT", help=f"keep the results in {RESULTS.name}; that of the other version"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    options = {name: int(value) for name, value in (pair.split("=") for pair in args.set)}
    if args.child:
        print(json.dumps(once(args.other, args.seeds[0], options)))
        return
    print("data, seed: processor seconds of the other version and of this one, their ratio, BIC of both;")
    print(
        "            processor seconds of this one until it was as good as the other, and how many times less that is"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in args.sets:
            path = Path(folder) / f"{name.replace('/', '-')}.csv"
            _csv(name, path)
            for seed in args.seeds:
                given = [str(path), "--child", "--seeds", str(seed), "--set", *args.set]
                old, new = (_child(python, given, folder) for python in (args.other, sys.executable))
                as_good = next((cpu for cpu, score in new["steps"] if score > old["score"] - 0.05), None)
                less = "never" if as_good is None else f"{as_good:.1f}, {old['cpu'] / as_good:.1f}"
                ratio = f"{old['cpu']:.1f}, {new['cpu']:.1f}, {old['cpu'] / new['cpu']:.2f}"
                print(f"{name}, {seed}: {ratio}, {old['score']:,.1f}, {new['score']:,.1f}; {less}", flush=True)
                if args.keep:
                    _keep(args.keep, name, seed, old, new, as_good)


def _keep(other: str, name: str, seed: int, old: dict[str, Any], new: dict[str, Any], as_good: float | None) -> None:
    from studies.results import Results, code_version

    found = {"bic_before": old["score"], "cpu_before": old["cpu"], "bic": new["score"], "cpu": new["cpu"]}
    Results(RESULTS).add({"data": name, "seed": seed, "other": other, **code_version(), **found, "as_good": as_good})


def table(records: Iterable[Mapping[str, Any]]) -> str:
    """How many times less processor time this version takes to the BIC that the other ended with."""
    from studies.page import markdown

    last = {(r["other"], r["data"], r["seed"]): r for r in records}
    rows = []
    for other, name in dict.fromkeys(key[:2] for key in last):
        own = [r for key, r in last.items() if key[:2] == (other, name)]
        before, now = (
            f"{min(r[key] for r in own):,.1f} to {max(r[key] for r in own):,.1f}" for key in ("bic_before", "bic")
        )
        seconds = [f"{median(r[key] for r in own):.1f}" for key in ("cpu_before", "cpu")]
        less = sorted(r["cpu_before"] / r["as_good"] if r["as_good"] else 0.0 for r in own)
        good = ", ".join(f"{r['as_good']:.1f}" if r["as_good"] else "never" for r in own)
        ratios = ", ".join(f"{ratio:.1f}" if ratio else "never" for ratio in less)
        rows.append([name, f"{len(own)}", before, seconds[0], now, seconds[1], good, ratios])
    head = ["data", "seeds", "BIC before", "processor s", "BIC now", "processor s", "until as good", "times less"]
    return markdown(head, rows)


def _child(python: str, given: list[str], folder: str) -> dict[str, Any]:
    """What one version says, run where none of the other's modules can be found."""
    script = str(Path(__file__).resolve())
    done = subprocess.run([python, "-P", script, *given], capture_output=True, text=True, check=True, cwd=folder)
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    main()
