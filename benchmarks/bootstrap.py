"""The bootstrap likelihood-ratio test: what warm starts cost, and whether they give the same p-values.

    python benchmarks/bootstrap.py agreement uniform missed      # keeps benchmarks/results/bootstrap.json
    python benchmarks/bootstrap.py speed --other PYTHON          # against latentree as another interpreter has it
    python benchmarks/bootstrap.py --write                       # docs/benchmarks-bootstrap.md from what is kept

Data are generated anew: items that are answered 1 with a probability drawn for each class. "Far" classes have
probabilities from 0.05 to 0.95, "middle" ones from 0.2 to 0.8, "near" ones from 0.3 to 0.7.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np

from latentree._table import Table
from latentree.estimation import fit_classes
from latentree.score import bootstrap_lrt

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "benchmarks" / "results" / "bootstrap.json"
PAGE = ROOT / "docs" / "benchmarks-bootstrap.md"
SEPARATIONS = {"far": 0.45, "middle": 0.3, "near": 0.2}
LARGE = [("far", 3, 10_000, 12)]
OLD: dict[str, Any] = {"n_init": 32, "finalists": 8}
"""Starts as they were before, of the data here as well, so that both ways judge the same statistic."""
CONDITIONS = [  # separation, classes, rows, items
    ("far", 2, 500, 6),
    ("far", 3, 1000, 8),
    ("middle", 2, 500, 8),
    ("middle", 3, 2000, 8),
    ("near", 2, 1000, 8),
    ("near", 1, 500, 6),
]


def generated(separation: str, k: int, n: int, items: int, seed: int) -> Table:
    """Draw data with k classes of different sizes."""
    rng = np.random.default_rng(seed)
    half = SEPARATIONS[separation]
    theta = rng.uniform(0.5 - half, 0.5 + half, size=(k, items))
    z = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 10.0)))
    return Table.from_codes((rng.random((n, items)) < theta[z]).astype(np.int16), [2] * items)


# ---- the parts ------------------------------------------------------------------------------------------------------


def agreement(separation: str, k: int, n: int, items: int) -> dict[str, Any]:
    """p-values of 999 samples with warm and with full restarts, of the true number of classes against one more."""
    table = generated(separation, k, n, items, 0)
    row: dict[str, Any] = {}
    for restarts in ("warm", "full"):
        began = time.process_time()
        test = bootstrap_lrt(table, k + 1, rng=np.random.default_rng(0), n_replicates=999, restarts=restarts, **OLD)
        row |= {restarts: test.p_value, f"{restarts}_seconds": time.process_time() - began}
        row |= {f"{restarts}_median": float(np.median(test.replicates))}
    return row


def uniform(separation: str, k: int, n: int, items: int, n_data: int = 80, n_replicates: int = 19) -> dict[str, Any]:
    """p-values where the null is true: how many are at most 0.05, 0.1, 0.25, 0.5, and Kolmogorov's distance."""
    p = []
    for seed in range(n_data):
        table = generated(separation, k, n, items, 1000 + seed)
        test = bootstrap_lrt(table, k + 1, rng=np.random.default_rng(seed), n_replicates=n_replicates)
        p.append(test.p_value)
    values = np.sort(np.array(p, dtype=float))
    steps = np.arange(1, n_replicates + 2) / (n_replicates + 1)
    distance = max(abs(float((values <= x + 1e-12).mean()) - x) for x in steps)
    shares = {f"at_most_{x}": float((values <= x + 1e-12).mean()) for x in (0.05, 0.1, 0.25, 0.5)}
    return {"data": n_data, "replicates": n_replicates, **shares, "distance": distance}


def missed(separation: str, k: int, n: int, items: int, n_replicates: int = 40) -> dict[str, Any]:
    """How often a thorough search (128 starts, 48 to the end) finds more on a replicate than warm and full restarts."""
    from latentree.score._bootstrap import Resampler, _both
    from latentree.score._replicates import WarmFits, ratio

    table = generated(separation, k, n, items, 7)
    rng = np.random.default_rng(7)
    null, _, statistic = _both(table, k + 1, rng, **OLD)
    resampler = Resampler.of(null.model, table)
    warm = WarmFits.of(null.model, statistic, {})
    rows = []
    for own in rng.spawn(n_replicates):
        drawn = resampler.draw(own)
        quick, full = warm.statistic(drawn, own), _both(drawn, k + 1, own, **OLD)[2]
        fits = [fit_classes(drawn, c, rng=own, n_init=128, finalists=48).log_likelihood for c in (k, k + 1)]
        rows.append((quick, full, ratio(*fits)))
    values = np.array(rows)
    best = values.max(axis=1)
    row: dict[str, Any] = {"statistic": statistic}
    for i, name in enumerate(("warm", "full", "thorough")):
        short, counts = best - values[:, i], values[:, i] >= statistic - 1e-4
        row[name] = {
            "missed": float((short > 0.1).mean()),
            "by_one": float((short > 1).mean()),
            "short": float(short.mean()),
            "p": float((1 + counts.sum()) / (1 + n_replicates)),
            "changed": float((counts != (best >= statistic - 1e-4)).mean()),
        }
    return row


TIMED = """
import json, sys, time
import numpy as np
from latentree import Table
from latentree.score import bootstrap_lrt
seed, k, replicates = map(int, sys.argv[1:])
rng = np.random.default_rng(seed)
theta = rng.uniform(0.1, 0.9, size=(3, 12))
z = rng.choice(3, size=10_000, p=[0.5, 0.3, 0.2])
table = Table.from_codes((rng.random((10_000, 12)) < theta[z]).astype(np.int16), [2] * 12)
began = time.process_time()
test = bootstrap_lrt(table, k, rng=np.random.default_rng(0), n_replicates=replicates)
print(json.dumps([time.process_time() - began, test.p_value, test.statistic]))
"""


def speed(other: str, data: Sequence[int] = range(4), replicates: int = 99) -> list[dict[str, Any]]:
    """Processor seconds of tests of 2 to 6 classes, 10,000 x 12 binary rows with 3 classes; two interpreters in turn."""
    found = []
    for seed in data:
        sides: dict[str, dict[str, Any]] = {"before": {}, "now": {}}
        for k in range(2, 7):
            for name, python in (("before", other), ("now", sys.executable)):
                call = [python, "-c", TIMED, str(seed), str(k), str(replicates)]
                done = subprocess.run(call, capture_output=True, text=True, check=True)
                sides[name][str(k)] = json.loads(done.stdout)
            print(seed, k, *(own[str(k)] for own in sides.values()), flush=True)
        found.append({"seed": seed, "replicates": replicates, **sides})
    return found


# ---- the page -------------------------------------------------------------------------------------------------------


def _cells(rows: list[list[Any]]) -> list[str]:
    head, *body = rows
    shown = ["| " + " | ".join(map(str, row)) + " |" for row in body]
    return ["| " + " | ".join(map(str, head)) + " |", "|" + "---|" * len(head), *shown, ""]


def _condition(row: dict[str, Any]) -> str:
    return f"{row['separation']}, {row['k']} class{'es' if row['k'] > 1 else ''}, {row['n']:,} x {row['items']}"


def page(kept: dict[str, Any]) -> str:
    """What was measured, as Markdown."""
    out = [
        "# The bootstrap likelihood-ratio test, measured",
        "",
        "`bootstrap_lrt` fits each data set that it draws from the smaller model from *warm* starts: the model that the",
        "data were drawn from, its classes split, and a few random starts; where the statistic is close to that of the",
        'data, from more. `restarts="full"` fits them as the data are fitted; below, from 32 starts of which 8 are run',
        "to the end, which is what earlier versions did. Made by `python benchmarks/bootstrap.py --write` from",
        "`benchmarks/results/bootstrap.json`; data are generated, and the script says how.",
        "",
    ]
    if "speed" in kept:
        out += [
            "## Time",
            "",
            "Processor seconds of one test with 99 replicates, 10,000 rows x 12 binary items that come",
        ]
        out += ["from 3 classes; the version before warm starts, and this one.", ""]
        rows: list[list[Any]] = [["data", "classes", "p before", "p now", "before", "now", "ratio"]]
        sums = np.zeros(2)
        for row in kept["speed"]:
            for k in sorted(row["now"]):
                (a, p, _), (b, q, _) = row["before"][k], row["now"][k]
                rows.append(
                    [
                        row["seed"],
                        f"{int(k) - 1} against {k}",
                        f"{p:.2f}",
                        f"{q:.2f}",
                        f"{a:.1f}",
                        f"{b:.2f}",
                        f"{a / b:.1f}",
                    ]
                )
                sums += (a, b)
        rows.append(["all", "", "", "", f"{sums[0]:.1f}", f"{sums[1]:.2f}", f"**{sums[0] / sums[1]:.1f}**"])
        out += [*_cells(rows), *_note(kept, "speed")]
    if "agreement" in kept:
        out += ["## The same p-values", "", "999 replicates, the true number of classes against one more. The standard"]
        out += ["error of the difference of two such p-values is at most 0.022.", ""]
        rows = [["data", "warm", "full", "difference by its standard error", "time, full by warm"]]
        z = []
        for row in kept["agreement"]:
            p = (row["warm"] + row["full"]) / 2
            z.append((row["warm"] - row["full"]) / np.sqrt(2 * p * (1 - p) / 999))
            ratio_ = row["full_seconds"] / row["warm_seconds"]
            rows.append([_condition(row), f"{row['warm']:.3f}", f"{row['full']:.3f}", f"{z[-1]:+.1f}", f"{ratio_:.1f}"])
        out += _cells(rows)
        out += [
            f"Mean of the differences {np.mean(z):+.2f} standard errors, root mean square {np.sqrt(np.mean(np.square(z))):.2f}.",
            "",
        ]
        out += _note(kept, "agreement")
    if "uniform" in kept:
        first = kept["uniform"][0]
        out += ["## Level", "", "Where the null is true, p-values should be uniform: share of "]
        out[-1] += f"{first['data']} data sets of each kind with p"
        out += [
            f"at most 0.05 and so on, {first['replicates']} replicates each, and the largest distance of the two",
            "distribution functions (5 % critical value ",
        ]
        out[-1] += f"{1.36 / np.sqrt(first['data']):.3f})."
        rows = [["data", *(f"p <= {x}" for x in (0.05, 0.1, 0.25, 0.5)), "distance"]]
        rows += [
            [_condition(r), *(f"{r[f'at_most_{x}']:.3f}" for x in (0.05, 0.1, 0.25, 0.5)), f"{r['distance']:.3f}"]
            for r in kept["uniform"]
        ]
        out += ["", *_cells(rows), *_note(kept, "uniform")]
    if "missed" in kept:
        out += [
            "## What more starts find",
            "",
            "Share of replicates where another search finds a statistic larger by more than 0.1: of warm starts, of full",
        ]
        out += [
            "restarts, of 128 starts with 48 run to the end. Behind it, for how many replicates that changes whether they",
            "count, and the p-value that each gives (40 replicates).",
            "",
        ]
        rows = [
            ["data", "warm", "full", "thorough", "changed: warm", "full", "thorough", "p: warm", "full", "thorough"]
        ]
        names = ("warm", "full", "thorough")
        for r in kept["missed"]:
            rows.append(
                [
                    _condition(r),
                    *(f"{r[m]['missed']:.2f}" for m in names),
                    *(f"{r[m]['changed']:.2f}" for m in names),
                    *(f"{r[m]['p']:.2f}" for m in names),
                ]
            )
        out += _cells(rows)
    return "\n".join(out)


def _note(kept: dict[str, Any], name: str) -> list[str]:
    """What to know about how a part was measured."""
    text = kept.get("notes", {}).get(name)
    return [text, ""] if text else []


def by_condition(name: str, measure: Callable[..., dict[str, Any]]) -> None:
    """Measure under every condition that is not kept yet, and keep each when it is done."""
    for condition in [*CONDITIONS, *(LARGE if name == "missed" else ())]:
        what = dict(zip(("separation", "k", "n", "items"), condition, strict=True))
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        rows = kept.setdefault(name, [])
        if not any(what.items() <= row.items() for row in rows):
            rows.append({**what, **measure(*condition)})
            print(name, rows[-1], flush=True)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts: dict[str, Callable[..., dict[str, Any]]] = {"agreement": agreement, "uniform": uniform, "missed": missed}
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(parts)}, speed")
    parser.add_argument("--other", help="the interpreter of another version, for 'speed'")
    parser.add_argument("--write", action="store_true", help="write the page")
    asked = parser.parse_args()
    for name in asked.parts:
        if name != "speed":
            by_condition(name, parts[name])
            continue
        found = speed(asked.other)
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        KEPT.write_text(json.dumps({**kept, name: found}, indent=1) + "\n")
    if asked.write:
        PAGE.write_text(page(json.loads(KEPT.read_text())) + "\n")


if __name__ == "__main__":
    main()
