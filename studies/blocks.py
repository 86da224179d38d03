"""How `prior="blocks"` came by its rule: four rules, tried on generated rows that are shuffled or sorted.

``python -m studies.blocks`` measures what is not kept yet and keeps it in ``studies/results/blocks.jsonl``; the page on
rows that were not seen (``python -m studies.new_rows --table``) has the table.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentree import Model, Table, Tree
from latentree._variables import numbered
from latentree.engine._plan import Plan
from latentree.estimation import Fit, em
from latentree.estimation._em import fit_em
from latentree.estimation._em_options import EmOptions
from latentree.estimation._fit import pseudo_counts
from latentree.estimation._pulls import (
    STRENGTHS,
    Choice,
    Pull,
    _climb,
    _parts,
    _table_by_table,
    _Trial,
    choose_pull,
    normalised,
)
from latentree.estimation._smoothing import _centred
from latentree.infer import log_likelihood_rows, sample_table
from latentree.runner import Budget

from .page import markdown
from .results import Results, code_version, run_main, say

__all__ = ["RULES", "main", "table"]

RESULTS = Path(__file__).parent / "results" / "blocks.jsonl"
SEEDS = range(30)
SIZES = (150, 500, 1500)
ORDERS = {"shuffled": 0, "sorted by one column": 1, "by two": 2, "by three": 3}
FOLDS = 10
RULES = {
    "random": 'random parts (`prior="shuffled"`)',
    "best": "the best pull",
    "strongest": "the strongest that costs little",
    "error": "within one standard error",
    "tables": 'table by table (`prior="blocks"`)',
    "known": "best of the fold",
}
Record = Mapping[str, Any]
PULLS = [Pull(s, towards) for towards in ("uniform", "marginal") for s in STRENGTHS]


def generated(seed: int, n: int) -> tuple[Model, NDArray[np.int16], NDArray[np.int64]]:
    """A tree of one to three latents, the rows drawn from it, and columns to sort by."""
    rng = np.random.default_rng(seed)
    states = [2, 3, 4][int(rng.integers(3))]
    latents, leaves = [(1, 7), (2, 4), (3, 3)][seed % 3]
    edges, names, cards = [], [], {}
    for i in range(latents):
        cards[f"h{i}"] = states
        edges += [(f"h{i - 1}", f"h{i}")] if i else []
        for _ in range(leaves):
            names.append(f"x{len(names) + 1}")
            edges.append((f"h{i}", names[-1]))
            cards[names[-1]] = int(rng.integers(2, 5))
    tree = Tree.from_edges(edges, cards, names)
    model = Model.random(tree, numbered([cards[x] for x in names]), rng, dominant=float(rng.uniform(0.45, 0.75)))
    table = sample_table(model, n, rng)
    return model, table.codes[table.inverse], rng.permutation(len(names))


class _Blocks(_Trial):
    """The trial of pulls, which also keeps the mean of each block."""

    def tries(self, pull: Pull) -> bool:
        done = super().tries(pull)
        rows = [plans[1].row_log_likelihood(here) for plans, here in zip(self.plans, self.here, strict=True)]
        own = [float(part.weights @ r) / part.weight for (_, part), r in zip(self.parts, rows, strict=True)]
        self.means = {**getattr(self, "means", {}), pull: np.array(own)}
        return done


def chosen(fit: Fit, train: Table) -> tuple[dict[str, Pull], Choice]:
    """The pull that each rule chooses on the training rows, and those of the tables."""
    model = _centred(fit.model)
    trial = _Blocks(model, _parts(model, train, True, None), Budget().start(), 1, True)
    _climb(trial, "uniform")
    _climb(trial, "marginal")
    mean = {pull: found[0] for pull, found in trial.tried.items()}
    best = max(mean, key=lambda pull: mean[pull])
    lost = {pull: trial.means[best] - own for pull, own in trial.means.items()}
    near = [p for p, d in lost.items() if p == best or d.mean() <= d.std(ddof=1) / math.sqrt(len(d))]
    error = max(near, key=lambda pull: (pull.strength, mean[pull]))
    at_random, common = choose_pull(model, train), trial.chosen()
    each = replace(at_random, pull=common, pulls=_table_by_table(trial, common))
    return {"random": at_random.pull, "best": best, "strongest": common, "error": error}, each


def pulled(fit: Fit, pull: Pull | Choice, train: Table) -> Model:
    """The model under a pull, or under those that tables have chosen."""
    model = _centred(fit.model)
    prior = pull.flat_prior(model, train.weight)
    counts = Plan.of(model, train).evaluate(model.parameters).vector + pseudo_counts(model.tree, prior)
    start = model.with_parameters(normalised(model.tree, counts))
    return fit_em(start, train, EmOptions.trusted({"prior": prior})).model


def measured(seed: int, n: int) -> list[dict[str, Any]]:
    """Mean log-likelihoods of test rows and mean logarithms of strengths over folds, for each order and rule."""
    model, rows, columns = generated(seed, n)
    records = []
    for order, by in ORDERS.items():
        own = rows[np.lexsort(rows[:, columns[:by][::-1]].T)] if by else rows
        found: dict[str, list[tuple[float, float]]] = {rule: [] for rule in RULES}
        for fold in range(FOLDS):
            tested = np.arange(n) // (n // FOLDS) == fold
            train, test = (Table.from_codes(own[tested == of], model.variables) for of in (False, True))
            starts = [
                Model.random(model.tree, model.variables, np.random.default_rng(i), dominant=0.5) for i in range(3)
            ]
            fit = max((em(start, train) for start in starts), key=lambda fit: fit.log_likelihood)
            on_test = {p: float(log_likelihood_rows(pulled(fit, p, train), test).mean()) for p in PULLS}
            common, each = chosen(fit, train)
            pulls = {**common, "known": max(on_test, key=lambda pull: on_test[pull])}
            for rule, pull in pulls.items():
                found[rule].append((on_test[pull], math.log10(pull.strength)))
            strength = fmean(math.log10(pull.strength) for pull in each.pulls or [each.pull])
            found["tables"].append((float(log_likelihood_rows(pulled(fit, each, train), test).mean()), strength))
        means = {rule: {"test": fmean(t for t, _ in f), "log10": fmean(s for _, s in f)} for rule, f in found.items()}
        records.append({"seed": seed, "n": n, "order": order, **code_version(), "rules": means})
    return records


def table(records: Sequence[Record]) -> str:
    """Means over all trees, and the geometric mean of the strengths."""
    last = {(r["n"], r["order"], r["seed"]): r["rules"] for r in records}
    rows = []
    for order in ORDERS:
        for n in SIZES:
            own = [rules for (size, how, _), rules in last.items() if (size, how) == (n, order)]
            cells = [f"{fmean(r[rule]['test'] for r in own):.3f}" for rule in RULES]
            pulls = [f"{10 ** fmean(r[rule]['log10'] for r in own):.2g}" for rule in ("random", "tables")]
            rows.append([order, f"{n:,}", *cells, *pulls])
    return markdown(["rows", "n", *RULES.values(), "cases, random parts", "cases, blocks"], rows)


def main(arguments: Sequence[str]) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.blocks", description=__doc__.split("\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help=f"default {RESULTS.name}")
    results = Results(parser.parse_args(arguments).results)
    for seed in SEEDS:
        for n in SIZES:
            if results.find(seed=seed, n=n, code=code_version()["code"]) is None:
                for record in measured(seed, n):
                    results.add(record)
        say(f"tree {seed + 1} of {len(SEEDS)}")
    say(table(results.read()))


if __name__ == "__main__":
    run_main(main)
