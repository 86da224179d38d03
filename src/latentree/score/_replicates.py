"""Fits of k - 1 and of k classes to data drawn from a model with k - 1: quick ones, and thorough ones where it matters.

A replicate of the bootstrap counts if its likelihood ratio reaches that of the data. Both fits begin at what is known:
that of k - 1 classes at the model that the data were drawn from, that of k at classes of it that are split. Beside
these are random starts, and the worse half of all is given up again and again. Where the ratio is close to that of the
data, one more start might change whether the replicate counts. If it counts, only a better fit of k - 1 classes can
change that, and if it does not, only a better fit of k: that one is fitted again from more starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Plan
from ..estimation._classes import column_counts
from ..estimation._em import EmRuns
from ..estimation._em_options import EmOptions
from ..estimation._restarts import random_starts, successive_halving
from ..runner import Budget

FIRST = 7
"""Steps before the first starts are given up. After a single one, which is what a fit of data does, the best is lost
twice as often."""

FEW, MANY = 16, 32
"""Starts of k classes: at first, and where the ratio is close to that of the data."""

SOME_STEPS, MORE_STEPS = 127, 255
"""Most steps of EM: after that it is some hundredths below its limit, which is nothing against what chance does."""

CLOSE = 0.35
"""A ratio that differs from that of the data by less than this share of it is looked at again."""

AWAY = 0.8
"""How far the two halves of a class that is split to start from are moved, towards probabilities drawn at random."""

TOLERANCE = 1e-5
"""Gain of a step at which a replicate's EM ends; that of the data ends later, since it is the one that is shown."""


@dataclass(frozen=True, eq=False)
class WarmFits:
    """Finds the likelihood ratio of replicates.

    Attributes
    ----------
    null : Model
        What the replicates are drawn from, with k - 1 classes.
    observed : float
        The statistic of the data.
    options : EmOptions
        Prior and the like, which the data were fitted with.
    """

    null: Model
    observed: float
    options: EmOptions

    @classmethod
    def of(cls, null: Model, observed: float, options: Mapping[str, Any]) -> WarmFits:
        """Prepare for replicates of data that were fitted with these options."""
        own: EmOptions = EmOptions.of(options, owner="bootstrap_lrt")
        return cls(null, observed, replace(own, tol=max(own.tol, TOLERANCE), n_jobs=1, budget=None, on_progress=None))

    def statistic(self, table: Table, rng: np.random.Generator) -> float:
        """Twice the difference of the log-likelihoods of k and k - 1 classes on a replicate."""
        tree = self.null.tree
        larger = Tree.star(int(tree.cardinality[0]) + 1, [v.cardinality for v in self.null.variables])
        plans = Plan.of(self.null, table), Plan.of(Model(larger, self.null.variables, _uniform(larger)), table)
        null = _Best(plans[0], self.options)
        if tree.cardinality[0] == 1 and self.options.prior is None:
            null.objective = null.log_likelihood = independent_log_likelihood(table)
            null.parameters = self.null.parameters
        else:
            null.improve(np.vstack([self.null.parameters, random_starts(tree, FEW // 2 - 1, rng)]))
        alternative = _Best(plans[1], self.options)
        alternative.improve(self._starts(null.parameters, larger, FEW, rng))
        found = ratio(null.log_likelihood, alternative.log_likelihood)
        if self._close(found) and found >= self.observed and tree.cardinality[0] > 1:
            null.improve(random_starts(tree, FEW, rng))
            found = ratio(null.log_likelihood, alternative.log_likelihood)
        if self._close(found) and found < self.observed:
            alternative.improve(self._starts(null.parameters, larger, MANY, rng), MORE_STEPS)
        return ratio(null.log_likelihood, alternative.log_likelihood)

    def _close(self, found: float) -> bool:
        return abs(found - self.observed) <= CLOSE * self.observed

    def _starts(self, null: FloatArray, larger: Tree, n: int, rng: np.random.Generator) -> FloatArray:
        """Half of them drawn, half made by splitting every class in turn."""
        model = self.null.with_parameters(null)
        split = [split_class(model, i % model.tree.cardinality[0], rng) for i in range(n // 2)]
        return np.vstack([random_starts(larger, n - n // 2, rng), split])


class _Best:
    """The best point found on a plan."""

    def __init__(self, plan: Plan, options: EmOptions) -> None:
        self.plan, self.options = plan, options
        self.objective = self.log_likelihood = -np.inf
        self.parameters = np.empty(0)

    def improve(self, starts: FloatArray, steps: int = SOME_STEPS) -> None:
        """Run EM from some starts, giving up the worse half again and again."""
        own = self.options
        runs = EmRuns(self.plan, starts, own)
        limit = min(steps, own.max_iterations)
        successive_halving(runs, Budget().start(), first=FIRST, tol=own.tol, max_iterations=limit)
        objectives = runs.objectives
        best = int(np.argmax(objectives))
        if objectives[best] > self.objective:
            self.objective, self.parameters = float(objectives[best]), runs.parameters(best)
            self.log_likelihood = runs.counts(best).log_likelihood


def ratio(null: float, alternative: float) -> float:
    """Twice the difference of two log-likelihoods, at least zero."""
    return max(2 * (alternative - null), 0.0)


def split_class(model: Model, own: int, rng: np.random.Generator, away: float = AWAY) -> FloatArray:
    """Parameters of a latent class model with one class made two, each moved by itself towards a random profile."""
    shares = model.table(0)[0]
    parts = [np.append(shares, shares[own] / 2)]
    parts[0][own] /= 2
    for v in model.tree.manifest:
        table = model.table(int(v))
        halves = (1 - away) * table[own] + away * rng.dirichlet(np.ones(table.shape[1]), size=2)
        moved = np.vstack([table, halves[1]])
        moved[own] = halves[0]
        parts.append(moved.ravel())
    return np.concatenate(parts)


def independent_log_likelihood(table: Table) -> float:
    """Largest log-likelihood of one class, in which the variables are independent: sum of n ln(n / N) by column."""
    total = 0.0
    for counts in column_counts(table):
        seen = counts[counts > 0]
        total += float(seen @ np.log(seen / seen.sum())) if len(seen) else 0.0
    return total


def _uniform(tree: Tree) -> FloatArray:
    sizes = zip(tree.rows, tree.cardinality, strict=True)
    return np.concatenate([np.full(rows * k, 1.0 / k) for rows, k in sizes])
