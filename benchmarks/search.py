"""What makes a search for the tree fast: one candidate judged in three ways, and threads, all in one run.

    python benchmarks/search.py                   # D18(10k) from the directory that LATENTREE_DATA names
    python benchmarks/search.py --rows 2000       # generated data, without it

Timings are the least of several repetitions; ratios are what counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np

from latentree import datasets
from latentree.estimation import em, restart_em
from latentree.estimation.local import Place
from latentree.model import Model
from latentree.search import learn
from latentree.search.beliefs import Beliefs
from latentree.search.completed import CompletedData
from latentree.search.network import Network
from latentree.search.operators import neighbours
from latentree.search.restricted import Effort, evaluate, model_of
from latentree.table import Table
from latentree.tree import Tree

DATA = Path(os.environ.get("LATENTREE_DATA", Path(__file__).parents[2] / "shared" / "data"))
EFFORT = Effort(8, 40, 0.0)
REPEAT = 5


def least(work: Callable[[], object]) -> float:
    """Seconds of the fastest of several repetitions."""
    times = []
    for _ in range(REPEAT):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def candidates(table: Table) -> None:
    """One NI candidate of the two-class model, eight starts and forty steps in each case."""
    rng = np.random.default_rng(0)
    star = em(Model.random(Tree.star(2, table.cardinalities), table.variables, rng), table, max_iterations=50).model
    network = Network.from_model(star)
    beliefs = Beliefs(network, table)
    move, after = next((m, g) for m, g in neighbours(network.graph) if m.kind == "NI")
    model = model_of(evaluate(move, beliefs, EFFORT, rng), network, table.variables)
    around = [int(v) for v in model.tree.latent]

    def local() -> None:
        place = Place.around(model, table, around)
        variables = tuple(model.variable(place.tree.names[v]) for v in place.tree.manifest)
        small = Model(place.tree, variables, place.parameters)
        restart_em(small, table, rng=rng, n_starts=8, tol=0.0, max_iterations=40, plan=place.plan, accelerate=False)

    def completed() -> None:
        CompletedData(beliefs, lambda graph: float(graph.n_parameters)).value(move, after)

    ways = {
        "completed data (Z 3)": completed,
        "restricted likelihood on shared messages (C 2.4)": lambda: evaluate(move, beliefs, EFFORT, rng),
        "local EM around the place (Z 4.7)": local,
        "full EM": lambda: restart_em(model, table, rng=rng, n_starts=8, tol=0.0, max_iterations=40, accelerate=False),
    }
    seconds = {name: least(work) for name, work in ways.items()}
    base = seconds["restricted likelihood on shared messages (C 2.4)"]
    print("| one candidate judged by | ms | of restricted |\n|---|---|---|")
    for name, value in seconds.items():
        print(f"| {name} | {1e3 * value:.2f} | {value / base:.2f}x |")


def threads(table: Table) -> None:
    """A whole search with one thread and with two."""
    seconds = {}
    for n in (1, 2):
        began = time.perf_counter()
        run = learn(table, method="east", rng=np.random.default_rng(0), n_jobs=n)
        seconds[n] = time.perf_counter() - began
        print(f"\nEAST, {n} thread(s): {seconds[n]:.1f} s, BIC {run.value:.2f}, {len(run.trace) - 1} steps")
    print(f"two threads: {seconds[1] / seconds[2]:.2f}x")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, help="rows to generate from D18, instead of reading D18(10k)")
    given = parser.parse_args()
    file = DATA / "synthetic" / "d18_10k.csv.gz"
    table = datasets.sample_from("d18", given.rows, seed=0) if given.rows else Table.read(file)
    print(f"{table.n:g} rows, {table.n_patterns} distinct, {table.n_variables} variables\n")
    candidates(table)
    threads(table)


if __name__ == "__main__":
    main()
