"""What makes a search for the tree fast: candidates judged in three ways, and threads, all in one run.

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
from latentree._model import Model
from latentree._table import Table
from latentree._tree import Tree
from latentree.estimation import em, restart_em
from latentree.search import learn
from latentree.search._beliefs import Beliefs
from latentree.search._completed import CompletedData
from latentree.search._network import Network
from latentree.search._operators import reachable
from latentree.search._restricted import Effort, evaluate, model_of

DATA = Path(os.environ.get("LATENTREE_DATA", Path(__file__).parents[2] / "shared" / "data"))
EFFORT = Effort(8, 40, 0.0)
REPEAT = 5


def least(work: Callable[[], object]) -> float:
    """Processor seconds of the fastest of several repetitions."""
    times = []
    for _ in range(REPEAT):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def candidates(table: Table, model: Model, called: str) -> None:
    """A few candidates of each kind, eight starts and forty steps in each way."""
    rng = np.random.default_rng(0)
    network = Network.from_model(model)
    beliefs = Beliefs(network, table)
    for kind in ("NI", "SI", "NR", "ND"):
        chosen = [(m, g) for m, g in reachable(network.graph, (kind,), reach=1)][:5]
        made = [model_of(evaluate(m, beliefs, EFFORT, rng), network, table.variables) for m, _ in chosen]
        if not chosen:
            continue
        fast = least(lambda todo=chosen: [evaluate(m, beliefs, EFFORT, rng) for m, _ in todo])
        full = least(lambda todo=made: [_full(m, table, rng) for m in todo])
        quick = least(lambda todo=chosen: [_completed(beliefs).value(m, g) for m, g in todo])
        ms = [1e3 * seconds / len(chosen) for seconds in (quick, fast, full)]
        print(f"| {called} | {kind} | {ms[0]:.2f} | {ms[1]:.2f} | {ms[2]:.2f} | {ms[2] / ms[1]:.2f}x |")


def _full(model: Model, table: Table, rng: np.random.Generator) -> object:
    return restart_em(model, table, rng=rng, n_init=8, tol=0.0, max_iterations=40, accelerate=False, include=True)


def _completed(beliefs: Beliefs) -> CompletedData:
    return CompletedData(beliefs, lambda graph: float(graph.n_parameters))


def n_jobs(table: Table) -> None:
    """A whole search with one thread and with two."""
    seconds = {}
    for n in (1, 2):
        began = time.perf_counter()
        run = learn(table, method="east", rng=np.random.default_rng(0), n_jobs=n)
        seconds[n] = time.perf_counter() - began
        print(f"\nEAST, {n} thread(s): {seconds[n]:.1f} s, BIC {run.score:.2f}, {len(run.trace) - 1} steps")
    print(f"two threads: {seconds[1] / seconds[2]:.2f}x")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, help="rows to generate from D18, instead of reading D18(10k)")
    given = parser.parse_args()
    file = DATA / "synthetic" / "d18_10k.csv.gz"
    table = datasets.sample_from("d18", given.rows, seed=0) if given.rows else Table.read(file)
    print(f"{table.n:g} rows, {table.n_patterns} distinct, {table.n_variables} variables\n")
    print("| current model | candidate | completed data, ms | restricted likelihood, ms | full EM, ms | ratio |")
    print("|---|---|---|---|---|---|")
    star = Model.random(Tree.star(2, table.cardinalities), table.variables, np.random.default_rng(0))
    truth = datasets.generator("d18")
    candidates(table, em(star, table, max_iterations=50).model, "two classes")
    candidates(table, em(Model(truth.tree, table.variables, truth.parameters), table).model, "generating tree")
    n_jobs(table)


if __name__ == "__main__":
    main()
