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
from numpy.typing import NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Plan, evidence_of
from ..estimation._classes import column_counts
from ..estimation._em import EmRuns
from ..estimation._em_options import EmOptions
from ..estimation._restarts import successive_halving
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
    smaller, larger : ClassStarts
        Starts of k - 1 and of k classes.
    """

    null: Model
    observed: float
    options: EmOptions
    smaller: ClassStarts
    larger: ClassStarts

    @classmethod
    def of(cls, null: Model, observed: float, options: Mapping[str, Any]) -> WarmFits:
        """Prepare for replicates of data that were fitted with these options."""
        own: EmOptions = EmOptions.of(options, owner="bootstrap_lrt")
        own = replace(own, tol=max(own.tol, TOLERANCE), n_jobs=1, budget=None, on_progress=None)
        smaller = ClassStarts.of(null.tree)
        return cls(null, observed, own, smaller, ClassStarts.of(one_class_more(null.tree)))

    def statistic(self, table: Table, rng: np.random.Generator) -> float:
        """Twice the difference of the log-likelihoods of k and k - 1 classes on a replicate."""
        evidence = evidence_of(self.null, table)
        null, alternative = (
            _Best(Plan(own.tree, evidence, table.weights, trusted=True), self.options)
            for own in (self.smaller, self.larger)
        )
        single = self.null.tree.cardinality[0] == 1
        if single and self.options.prior is None:
            null.parameters, null.log_likelihood = self.null.parameters, independent_log_likelihood(table)
        else:
            null.improve(np.vstack([self.null.parameters, self.smaller.drawn(FEW // 2 - 1, rng)]))
        alternative.improve(self._starts(null.parameters, FEW, rng))
        found = ratio(null.log_likelihood, alternative.log_likelihood)
        if self._close(found) and found >= self.observed and not single:
            null.improve(self.smaller.drawn(FEW, rng))
            found = ratio(null.log_likelihood, alternative.log_likelihood)
        if self._close(found) and found < self.observed:
            alternative.improve(self._starts(null.parameters, MANY, rng), MORE_STEPS)
        return ratio(null.log_likelihood, alternative.log_likelihood)

    def _close(self, found: float) -> bool:
        return abs(found - self.observed) <= CLOSE * self.observed

    def _starts(self, null: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Half of them drawn, half made by splitting every class in turn."""
        whom = np.arange(n // 2) % self.null.tree.cardinality[0]
        return np.vstack([self.larger.drawn(n - n // 2, rng), self.larger.split(null, whom, rng)])


@dataclass(frozen=True, eq=False)
class ClassStarts:
    """Makes starts of a latent class model, many at once."""

    tree: Tree
    begin: NDArray[np.int64]  # where each distribution begins
    widths: NDArray[np.int64]  # and how long it is
    owner: NDArray[np.int64]  # the class that each probability belongs to
    source: NDArray[np.int64]  # the same probability in a model without the last class; of that class, -1

    @classmethod
    def of(cls, tree: Tree) -> ClassStarts:
        """Prepare for a star-shaped tree."""
        k = int(tree.cardinality[0])
        sizes = [int(tree.cardinality[v]) for v in range(1, tree.n_nodes)]
        widths = np.array([k, *(m for m in sizes for _ in range(k))], dtype=np.int64)
        owner = np.concatenate([np.arange(k), *(np.repeat(np.arange(k), m) for m in sizes)])
        source = np.full(len(owner), -1, dtype=np.int64)
        source[owner < k - 1] = np.arange(int((owner < k - 1).sum()))
        return cls(tree, np.concatenate([[0], np.cumsum(widths)[:-1]]), widths, owner, source)

    def drawn(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Starts whose distributions are uniform on the simplex."""
        values = rng.standard_exponential((n, len(self.owner)))
        made: FloatArray = values / np.repeat(np.add.reduceat(values, self.begin, axis=1), self.widths, axis=1)
        return made

    def split(
        self, smaller: FloatArray, whom: NDArray[np.int64], rng: np.random.Generator, away: float = AWAY
    ) -> FloatArray:
        """Starts with a class of a model with one class less made two, each moved towards a random profile.

        ``whom`` names a class for every start; the second half of it is the last class.
        """
        k = int(self.tree.cardinality[0])
        last, there = self.owner == k - 1, self.owner < k - 1
        base = np.empty((len(whom), len(self.owner)))
        base[:, there] = smaller[self.source[there]]
        for i, own in enumerate(whom):
            base[i, last] = base[i, self.owner == own]
        halves = last | (self.owner[None] == whom[:, None])
        items = np.arange(len(self.owner)) >= k
        base[:, :k] = np.where(halves[:, :k], base[:, :k] / 2, base[:, :k])
        moved = (1 - away) * base + away * self.drawn(len(whom), rng)
        made: FloatArray = np.where(halves & items, moved, base)
        return made


def one_class_more(tree: Tree) -> Tree:
    """The same variables below a class variable with one more state."""
    return Tree.star(int(tree.cardinality[0]) + 1, [int(m) for m in tree.cardinality[1:]])


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


def independent_log_likelihood(table: Table) -> float:
    """Largest log-likelihood of one class, in which the variables are independent: sum of n ln(n / N) by column."""
    total = 0.0
    for counts in column_counts(table):
        seen = counts[counts > 0]
        total += float(seen @ np.log(seen / seen.sum())) if len(seen) else 0.0
    return total
