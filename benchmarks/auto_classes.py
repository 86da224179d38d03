"""What learning the number of classes costs and reaches, against a plain loop over numbers of classes.

    python benchmarks/auto_classes.py easy --seeds 3             # generated tables against 64 starts for each number
    python benchmarks/auto_classes.py thesis --data DIR          # real tables against 1,024 starts for each number

``easy`` draws tables of at most 2,000 rows and 6 classes anew: ``--draw`` says which. The plain loop fits 1, 2, ...
classes with 64 starts each until BIC has fallen three times in a row. ``thesis`` takes the data sets of Karciauskas'
thesis below 10,000 rows (``*.csv.gz`` in DIR) and compares with 1, 2, ... classes up to three more than were learned;
numbers below the one learned are left out once three in a row are 100 below in BIC. What 1,024 starts reached is kept in
``benchmarks/auto_classes.json`` and computed where it is not there. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from latentree._table import Table
from latentree.cardinality import Learned, learn_classes
from latentree.estimation import fit_classes
from latentree.score import bic

SEPARATIONS = {"weak": 0.15, "fair": 0.25, "strong": 0.4}
"""How far the probability of a value is from one half, on average."""

FALLS = 3
"""The plain loop ends after so many falls of BIC in a row."""

KEPT = Path(__file__).with_suffix(".json")
ROWS = 10_000

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds, and what came out."""
    began = time.process_time()
    out = work()
    return time.process_time() - began, out


# ---- generated tables ----------------------------------------------------------------------------------------------


def easy_tables(draw: int) -> Iterator[tuple[str, Table]]:
    """Tables of several widths, separations, numbers of rows and classes; every third has columns of three values."""
    rng = np.random.default_rng(draw)
    shapes = [(6, 2000, 2), (8, 500, 3), (12, 1000, 3), (12, 2000, 5), (16, 300, 2), (20, 2000, 6), (30, 1000, 4)]
    shapes += [(60, 500, 4), (100, 1000, 5), (200, 400, 3), (200, 1000, 6)]
    for i, (columns, rows, classes) in enumerate(shapes):
        for word, apart in SEPARATIONS.items():
            values = 3 if i % 3 == 2 else 2
            yield (
                f"{rows} x {columns} ({values}), {classes} {word}",
                drawn_table(rows, columns, values, classes, apart, rng),
            )


def drawn_table(rows: int, columns: int, values: int, classes: int, apart: float, rng: np.random.Generator) -> Table:
    """Draw a latent class model, and rows from it."""
    sizes = rng.dirichlet(np.full(classes, 5.0))
    member = rng.choice(classes, size=rows, p=sizes)
    codes = np.empty((rows, columns), dtype=np.int16)
    for v in range(columns):
        share = np.clip(apart * rng.uniform(0.5, 1.5, classes), 0, 0.5) * 2
        own = np.eye(values)[rng.integers(values, size=classes)]
        table = (1 - share[:, None]) / values + share[:, None] * own
        codes[:, v] = (rng.random(rows)[:, None] > np.cumsum(table, axis=1)[member]).sum(axis=1)
    return Table.from_codes(codes)


def learned(table: Table, seed: int) -> Learned:
    """The number of classes, learned with the defaults."""
    return learn_classes(table, rng=np.random.default_rng(seed))


def plain_loop(table: Table, seed: int, n_init: int = 64) -> tuple[float, int]:
    """The best BIC and number of classes of a loop over all numbers until it has fallen several times in a row."""
    scores: list[float] = []
    while len(scores) < FALLS + 1 or any(b > a for a, b in zip(scores[-FALLS - 1 :], scores[-FALLS:], strict=False)):
        if len(scores) == table.n_patterns:
            break
        scores.append(bic(fit_classes(table, len(scores) + 1, rng=np.random.default_rng(seed), n_init=n_init)))
    return max(scores), int(np.argmax(scores)) + 1


def easy(draw: int, seeds: int) -> None:
    """Print a line for each table, and the worst of all."""
    worst_ratio, worst_gap, all_plain, all_auto = 0.0, 0.0, 0.0, 0.0
    print("| table | plain loop: BIC (classes), s | learned: worst BIC (classes) | s | times as long, worst |")
    print("|---|---|---|---|---|")
    for name, table in easy_tables(draw):
        lines = []
        for seed in range(seeds):
            plain, (best, k) = timed(partial(plain_loop, table, seed))
            auto, found = timed(partial(learned, table, seed))
            lines.append((plain, best, k, auto, found.score, len(found.fit.model.table(0)[0])))
        plain, auto = (np.array([line[i] for line in lines]) for i in (0, 3))
        best = max(line[1] for line in lines)
        low = min(lines, key=lambda line: line[4])
        ratio = float((auto / plain).max())
        worst_ratio, worst_gap = max(worst_ratio, ratio), max(worst_gap, best - low[4])
        all_plain, all_auto = all_plain + plain.sum(), all_auto + auto.sum()
        print(
            f"| {name} | {best:.1f} ({lines[0][2]}), {plain.mean():.2f} | {low[4]:.1f} ({low[5]}) | {auto.mean():.2f} "
            f"| {ratio:.1f} |",
            flush=True,
        )
    print(f"\nWorst: {worst_ratio:.1f} times as long, {worst_gap:.1f} below; all: {all_auto / all_plain:.2f} times.")


# ---- real tables ---------------------------------------------------------------------------------------------------


def thesis(folder: Path, seeds: int, names: list[str], n_init: int) -> None:
    """Print a line for each data set, and whether any seed ended below the best of the plain loop."""
    print("| data | rows x columns | 1,024 starts: BIC (classes) | learned, by seed: BIC (classes) | s | worst |")
    print("|---|---|---|---|---|---|")
    for file in sorted(folder.glob("*.csv.gz")):
        name = file.name.removesuffix(".csv.gz")
        if names and name not in names:
            continue
        table = Table.read(file)
        if table.n >= ROWS:
            continue
        runs = [timed(partial(learned, table, s)) for s in range(seeds)]
        sizes = [classes(found) for _, found in runs]
        best, k = reference(name, table, max(sizes), max(found.score for _, found in runs), n_init)
        by_seed = ", ".join(f"{found.score:.1f} ({n})" for (_, found), n in zip(runs, sizes, strict=True))
        gap = min(found.score for _, found in runs) - best
        seconds = np.mean([spent for spent, _ in runs])
        shape = f"{table.n:.0f} x {table.n_variables}"
        print(f"| {name} | {shape} | {best:.1f} ({k}) | {by_seed} | {seconds:.1f} | {gap:+.1f} |", flush=True)


def classes(found: Learned) -> int:
    """How many classes were learned."""
    return len(found.fit.model.table(0)[0])


def reference(name: str, table: Table, k_learned: int, score: float, n_init: int) -> tuple[float, int]:
    """The best BIC of ``n_init`` starts for each number of classes up to three more than learned, and that number."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    own = kept.setdefault(str(n_init), {}).setdefault(name, {})
    far = 0
    for k in range(min(k_learned + 3, table.n_patterns), 0, -1):
        if str(k) not in own:
            own[str(k)] = round(bic(fit_classes(table, k, rng=np.random.default_rng(1), n_init=n_init)), 4)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        far = far + 1 if k < k_learned and own[str(k)] < score - 100 else 0
        if far == 3:
            break
    k = max(own, key=lambda k: own[k])
    return own[k], int(k)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["easy", "thesis"])
    parser.add_argument("names", nargs="*", help="data sets of the thesis; default all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draw", type=int, default=0, help="which tables are drawn")
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--starts", type=int, default=1024)
    own = parser.parse_args()
    if own.what == "easy":
        easy(own.draw, own.seeds)
    else:
        thesis(own.data, own.seeds, own.names, own.starts)


if __name__ == "__main__":
    main()
