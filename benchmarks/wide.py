"""Trees of thousands of variables: time, memory and score against the tree that made the data.

    python benchmarks/wide.py --out docs/benchmarks-wide.md             # all cases: about an hour on two cores
    python benchmarks/wide.py --only "tree 1000 5000 3"                 # one of them

Each case runs in a process of its own, so that its peak memory is its own. Results are kept in a JSON file beside the page
(``--results``); cases that it has are not run again. Processor time is what counts where other programs run as well.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np

from latentree._model import Model
from latentree._table import Table
from latentree._trace import Step
from latentree._tree import Tree
from latentree._variables import numbered
from latentree.estimation import em
from latentree.runner import Budget
from latentree.score import bic
from latentree.search import learn
from latentree.search._wide_start import Expected, expected

CASES = (
    *("tree 300 1000 3", "tree 300 2000 3", "tree 300 4000 3", "tree 300 8000 3", "tree 300 2000 2", "tree 600 2000 3"),
    *("tree 1000 1000 3", "tree 1000 5000 3", "words 1000 16242 2", "tree 5000 1000 2", "tree 10000 1000 2"),
)
"""What made the data, variables, rows, states."""
LIMITS = {"words 1000 16242 2": 270.0, "tree 5000 1000 2": 660.0, "tree 10000 1000 2": 900.0}
"""Seconds of wall-clock time, where it is limited."""


# ---- data ---------------------------------------------------------------------------------------------------------


def grown(n: int, states: int, latent_states: int, sizes: tuple[int, int]) -> Tree:
    """Groups of leaves below latents, these below others in groups, up to one."""
    level = leaves = [f"x{i}" for i in range(n)]
    edges, cardinality, size = [], dict.fromkeys(leaves, states), sizes[0]
    while len(level) > 1:
        above = []
        for first in range(0, len(level), size):
            z = f"z{len(cardinality) - n}"
            cardinality[z] = latent_states
            edges += [(z, v) for v in level[first : first + size]]
            above.append(z)
        level, size = above, sizes[1]
    return Tree.from_edges(edges, cardinality, leaves, root=level[0])


def drawn(kind: str, n: int, rows: int, states: int) -> tuple[Model, Table]:
    """A model, and rows from it; words are rare, few of them common, and come in topics."""
    rng = np.random.default_rng([n, rows, states])
    if kind == "tree":
        tree = grown(n, states, states, (5, 4))
        model = Model.random(tree, numbered([states] * n), rng, dominant=0.6 if states > 2 else 0.8)
    else:
        tree = grown(n, 2, 2, (8, 5))
        flat = Model.random(tree, numbered([2] * n), rng, dominant=0.8).parameters.copy()
        share = 0.2 / (1 + rng.permutation(n)) ** 0.5  # heavy-tailed frequencies
        for v in range(1, tree.n_nodes):
            if tree.variable[v] >= 0:
                often = share[tree.variable[v]]
                strength = rng.uniform(4, 12)
                present = np.array([0.5 * often, min(0.8, strength * often)])
                flat[tree.offsets[v] : tree.offsets[v + 1]] = np.column_stack([1 - present, present]).ravel()
        model = Model(tree, numbered([2] * n), flat)
    return model, Table.from_codes(model.sample(rows, rng), model.variables)


# ---- one case -----------------------------------------------------------------------------------------------------


def memory() -> float:
    """Peak so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(case: str, jobs: int) -> dict[str, object]:
    """Learn the tree of a case."""
    kind, *numbers = case.split()
    n, rows, states = map(int, numbers)
    truth, table = drawn(kind, n, rows, states)
    before = memory()
    began, marks = time.process_time(), []

    def tell(step: Step) -> None:
        marks.append((step.phase, time.process_time() - began, step.seconds, step.score, memory()))
        print(f"{case}: {step.seconds:.1f} s, {marks[-1][1]:.1f} s cpu, {step}"[:150], file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = learn(
            table,
            rng=np.random.default_rng(0),
            n_jobs=jobs,
            budget=Budget(seconds=LIMITS.get(case)),
            on_step=tell,
            pieces=24,
        )
    processor = time.process_time() - began
    last = max(i for i, mark in enumerate(marks) if mark[0] in ("start", "pieces"))
    fit = em(truth, table, tol=0.05, max_iterations=60)
    star = em(
        Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(0)), table, tol=0.05
    )
    return {
        "case": case,
        "patterns": table.n_patterns,
        "cells": table.codes.nbytes / 2**20,
        "star": bic(star),
        "truth": bic(fit),
        "counted": {"score": marks[0][3], "cpu": marks[0][1], "wall": marks[0][2], "memory": marks[0][4] - before},
        "built": {
            "score": marks[last][3],
            "cpu": marks[last][1],
            "wall": marks[last][2],
            "memory": marks[last][4] - before,
        },
        "moved": {"score": run.score, "cpu": processor, "wall": run.seconds, "memory": memory() - before},
        "sweep": marks[last + 1][1] - marks[last][1] if last + 1 < len(marks) else None,
        "complete": run.reason.complete,
        "latents": [len(truth.tree.latent), len(run.tree.latent)],
    }


# ---- the page -----------------------------------------------------------------------------------------------------

HEAD = """# Wide data

Made by `python benchmarks/wide.py`. Data are drawn from trees: groups of five variables below a latent, these in groups of four
below others, and so on; *words* are binary, rare (frequencies fall with the root of the rank, from 20 % down) and come in
topics of eight. BIC is LL - d/2 ln N, higher being better. Seconds are of processor time, two threads together; wall-clock
seconds in brackets were taken on two cores that other programs used as well. Memory is what the process needed at its peak
beyond the data.
"""


def forecast(result: dict) -> Expected:
    """What is told beforehand, by the present constants."""
    _, n, _, states = result["case"].split()
    shape = SimpleNamespace(
        n_variables=int(n), n_patterns=result["patterns"], cardinalities=np.full(int(n), int(states))
    )
    return expected(shape)


def growth(results: list[dict]) -> str:
    """How time and memory grow with the rows of 300 variables: fitted exponents."""
    some = [r for r in results if r["case"].startswith("tree 300 ") and r["case"].endswith(" 3")]
    if len(some) < 3:
        return ""
    rows = np.log([int(r["case"].split()[2]) for r in some])

    def exponent(values: list[float]) -> float:
        return float(np.polyfit(rows, np.log(values), 1)[0])

    built, most = exponent([r["built"]["cpu"] for r in some]), exponent([r["moved"]["memory"] for r in some])
    return f"With 300 variables, seconds for the pieces grow with rows^{built:.2f}, memory with rows^{most:.2f}.\n"


def page(results: list[dict], note: str = "") -> str:
    """Tables of all results."""
    scores = [
        f"| {r['case']} | {r['star']:,.0f} | {r['counted']['score']:,.0f} | {r['built']['score']:,.0f} | "
        f"{r['moved']['score']:,.0f}{'' if r['complete'] else ' (time limit)'} | {r['truth']:,.0f} | "
        f"{(r['moved']['score'] - r['star']) / (r['truth'] - r['star']):.2%} | {r['latents'][1]} of {r['latents'][0]} |"
        for r in results
    ]
    costs = [
        f"| {r['case']} | "
        + " | ".join(f"{r[at]['cpu']:,.1f} ({r[at]['wall']:,.0f})" for at in ("counted", "built", "moved"))
        + f" | {r['cells']:,.1f} | {r['built']['memory']:,.0f} | {r['moved']['memory']:,.0f} | "
        + f"{r['moved']['memory'] / r['cells']:.0f} |"
        for r in results
    ]
    said = [
        f"| {r['case']} | {told.pairs:,.1f} | {r['counted']['cpu']:,.1f} | "
        f"{told.pieces:,.1f} | {r['built']['cpu'] - r['counted']['cpu']:,.1f} | "
        f"{told.sweep:,.1f} | {'' if r['sweep'] is None else format(r['sweep'], ',.1f')} | "
        f"{told.megabytes:,.0f} | {r['moved']['memory']:,.0f} |"
        for r, told in zip(results, map(forecast, results), strict=True)
    ]
    return f"""{HEAD}{note and f"{chr(10)}{note}{chr(10)}"}
## Scores

*Star*: a latent class model with two classes. *Counted*: the first tree, one latent for each piece, from counts alone. *Built*: all
pieces learned and joined. *Moved*: after local moves. *Truth*: the structure that made the data, fitted. *Way*: how far from the
star to the truth the search came.

| case | star | counted | built | moved | truth | way | latents |
|---|---|---|---|---|---|---|---|
{chr(10).join(scores)}

## Time and memory

| case | counted, s | built, s | moved, s | data, MB | built, MB | moved, MB | times the data |
|---|---|---|---|---|---|---|---|
{chr(10).join(costs)}

{growth(results)}
## What the forecast says

Processor seconds until the first tree, for the pieces and for one look at all moves, and MB; predicted and measured.

| case | first, predicted | measured | pieces, predicted | measured | moves, predicted | measured | MB, predicted | measured |
|---|---|---|---|---|---|---|---|---|
{chr(10).join(said)}
"""


def main() -> None:
    """Run cases and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES, metavar="CASE")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--results", type=Path, default=Path("wide.json"))
    parser.add_argument("--note", default="", help="a remark for the head of the page")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(measured(given.case, given.jobs)))
        return
    done = json.loads(given.results.read_text()) if given.results.exists() else {}
    for case in given.only:
        if case not in done:
            command = [sys.executable, __file__, "--case", case, "--jobs", str(given.jobs)]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            done = json.loads(given.results.read_text()) if given.results.exists() else {}
            done[case] = json.loads(told.stdout)
            given.results.write_text(json.dumps(done, indent=1))
    text = page([done[case] for case in CASES if case in done], given.note)
    if given.out:
        given.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
