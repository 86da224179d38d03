"""What learning the number of classes costs, against fitting every number, and partial EM against EM on all rows.

    python benchmarks/cardinality.py

Processor seconds of one thread, all in one run: ratios are what counts, machines differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from latentree import datasets, fit_classes
from latentree._model import Model
from latentree._table import Table
from latentree._trace import Step
from latentree.cardinality import Settings, States, Task, learn
from latentree.estimation import partial_em
from latentree.score import bic


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Processor seconds, and what came out."""
    began = time.process_time()
    out = work()
    return time.process_time() - began, out


def against_every_number(name: str, most: int) -> str:
    """Learn the number, or fit 1, 2, ... classes from 64 starts each and take the best; when is the former as good?"""
    table = datasets.load(name)
    every, best = timed(
        lambda: max(bic(fit_classes(table, k, rng=np.random.default_rng(0))) for k in range(1, most + 1))
    )
    began = time.process_time()
    reached: list[float] = []

    def watch(line: Step) -> None:
        if not reached and line.score > best - 0.1:
            reached.append(time.process_time() - began)

    found = learn(table, rng=np.random.default_rng(0), on_step=watch)
    learned = time.process_time() - began
    as_good = f"{reached[0]:.2f} s, ratio {every / reached[0]:.1f}" if reached else "never"
    return (
        f"{name:10} 1-{most} classes {best:.1f} in {every:.2f} s; learned: as good after {as_good}; "
        f"in the end {found.score:.1f} after {learned:.1f} s"
    )


def against_all_rows(name: str, k: int) -> str:
    """Split one state by partial EM on its own data, and with all rows, the other states held."""
    table: Table = datasets.load(name)
    fit = fit_classes(table, k, rng=np.random.default_rng(0), n_init=8)
    task = Task(table, bic, Settings(accelerate=True))
    star = task.star(fit.model, 0)
    states = star.states
    direction = np.random.default_rng(0).uniform(-0.05, 0.05, states.profiles.shape[1])
    for b in states.blocks:
        direction[b] -= direction[b].mean()
    halved = states.split(k - 1, direction)

    def own() -> States:
        data = star.shares(states)[k - 1]
        pair = States(np.full(2, 0.5), halved.profiles[[k - 1, k]], star.widths)
        return states.replace(k - 1, task.fit_states(data, [pair])[0])

    whole: Model = star.whole(halved)
    few, candidate = timed(own)
    many, held = timed(lambda: partial_em(whole, table, 0, [k - 1, k], tol=0.01))
    reached = star.plan(k + 1).log_likelihood(candidate.flat)
    return (
        f"{name:10} partial EM on the state's own rows {reached:.1f} in {few * 1e3:.1f} ms; on all rows "
        f"{held.log_likelihood:.1f} in {many * 1e3:.1f} ms; ratio {many / few:.1f}"
    )


def main() -> None:
    """Print both comparisons."""
    for name, most in (("voting", 8), ("vehicle", 14), ("thyroid", 12), ("image", 20)):
        print(against_every_number(name, most), flush=True)
    for name, k in (("image", 15), ("mushroom", 18), ("pen", 30)):
        print(against_all_rows(name, k), flush=True)


if __name__ == "__main__":
    main()
