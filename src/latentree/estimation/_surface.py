"""The surface that every method climbs: the objective at a point, its slope, and what an EM step makes of it.

One pass over the data gives log-likelihood and expected counts; the gradient and the EM step follow from these without
another. Probabilities of zero are written as :data:`FLOOR` while a method runs: the counts then tell the slope even
there, so that a method which has set an entry to zero can see whether it should come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lazy import cached_property
from .._model import row_starts
from .._types import FloatArray
from ..engine._plan import Passes
from ._em_options import AscentOptions
from ._fit import held_mask, pseudo_counts

FLOOR = 1e-40
"""Stands for a probability of zero: far below what a sum of doubles can show, far above underflow."""

Mask = NDArray[np.bool_]
Penalty = Callable[[FloatArray], tuple[float, FloatArray]]
"""Takes the flat vector of probabilities; gives what is taken off the objective, and its derivatives."""


@dataclass(frozen=True, eq=False)
class Point:
    """A place on the surface, and what one pass over the data tells about it."""

    surface: Surface
    parameters: FloatArray
    counts: FloatArray  # expected
    log_likelihood: float
    objective: float  # log-likelihood plus the logarithm of the prior, less the penalty if there is one
    pull: FloatArray | None = None  # derivatives of the penalty

    @cached_property
    def completed(self) -> FloatArray:
        """Expected counts and pseudo-counts of the entries that may move."""
        return np.where(self.surface.free, self.counts + self.surface.pseudo, 0.0)

    @cached_property
    def gradient(self) -> FloatArray:
        """Derivatives of the objective by the entries that may move, 0 for the others.

        dL / d theta = E(N) / theta ([Whiley1999] 2.2 and A.5.1; errata: the derivative of a logarithm has 1 / P(y)).
        """
        slope = self.completed / np.where(self.surface.free, np.maximum(self.parameters, FLOOR), 1.0)
        return slope if self.pull is None else np.where(self.surface.free, slope - self.pull, 0.0)

    @cached_property
    def mean_gradient(self) -> FloatArray:
        """The gradient of the mean over the data, in which Helmbold's learning rates are measured."""
        return self.gradient / self.surface.weight

    @cached_property
    def softmax_gradient(self) -> FloatArray:
        """Derivatives by the logarithms of the parameters, each row being kept at its sum ([Whiley1999] A.4)."""
        s = self.surface
        return self.completed - self.parameters * s.spread(s.row_sums(self.completed) / s.left)

    @cached_property
    def em_step(self) -> FloatArray:
        """Where an EM step leads: the M-step on these counts."""
        return self.surface.maximised(self.completed, self.parameters)

    @cached_property
    def promise(self) -> float:
        """About the most that an EM step can gain; every method ends when this is below its tolerance.

        Q rises by half of what the likelihood does where the data hold little information on the missing part, hence
        the factor. An entry at zero that should not be there adds what its slope promises, which EM cannot see.
        """
        s, n = self.surface, self.completed
        moved = (n > 0) & (self.parameters > 0)
        gain = 2.0 * float(n[moved] @ np.log(self.em_step[moved] / self.parameters[moved]))
        floored = s.at_zero(self.parameters)
        if floored.any():
            level = s.spread(s.row_sums(n) / s.left)
            gain += float(np.maximum(self.gradient - level, 0.0)[floored].sum())
        return gain


class Surface:
    """The objective of one model on one table, with what is held and believed beforehand.

    Entries that are zero at the start, without a prior that says otherwise, stay zero.
    """

    def __init__(
        self,
        plan: Passes,
        start: FloatArray,
        options: AscentOptions | None = None,
        *,
        penalty: Penalty | None = None,
        **keywords: Any,
    ) -> None:
        own: AscentOptions = options or AscentOptions.trusted(keywords)
        tree = plan.tree
        self.penalty = penalty
        self.plan, self.tree, self.n_jobs = plan, tree, int(own.n_jobs)
        self.evaluations = 0
        self.weight = max(plan.weight, 1e-300)
        self.starts = row_starts(tree)
        self._row = np.repeat(np.arange(len(self.starts)), np.repeat(tree.cardinality, tree.rows))
        pseudo, mask = pseudo_counts(tree, own.prior, own.basis), held_mask(tree, own.held)
        self.held: Mask = np.zeros(tree.size, dtype=bool) if mask is None else mask.astype(bool)
        self.pseudo = np.zeros(tree.size) if pseudo is None else np.where(self.held, 0.0, pseudo)
        left = 1.0 - self.row_sums(np.where(self.held, start, 0.0))
        self.pseudo[self.spread(left) <= 1e-15] = 0.0
        self.left = np.maximum(left, 1e-300)
        free = ~self.held & (self.spread(left) > 1e-15) & ((start > 0) | (self.pseudo > 0))
        self.free: Mask = free & (self.spread(self.row_sums(free.astype(float))) > 1.5)

    # ---- looking ---------------------------------------------------------------------------------------

    def at(self, parameters: FloatArray) -> Point:
        """Look at a place: one pass over the data."""
        self.evaluations += 1
        seen = self.plan.evaluate(parameters, n_jobs=self.n_jobs)
        objective, pull = seen.log_likelihood + self.log_prior(parameters), None
        if self.penalty is not None:
            penalty, pull = self.penalty(parameters)
            objective -= float(penalty)
        return Point(self, parameters, seen.vector, seen.log_likelihood, objective, pull)

    def value(self, parameters: FloatArray) -> float:
        """The objective alone; only the way up, but a pass nevertheless."""
        self.evaluations += 1
        return self.plan.log_likelihood(parameters, n_jobs=self.n_jobs) + self.log_prior(parameters)

    def log_prior(self, parameters: FloatArray) -> float:
        """Logarithm of the prior's density, up to a constant."""
        p = self.pseudo > 0
        if not p.any():
            return 0.0
        with np.errstate(divide="ignore"):
            return float(self.pseudo[p] @ np.log(parameters[p]))

    @property
    def dimension(self) -> int:
        """How many parameters may move."""
        rows = self.row_sums(self.free.astype(float))
        return int(np.maximum(rows - 1, 0).sum())

    def at_zero(self, parameters: FloatArray) -> Mask:
        """Entries that have been set to zero and may come back."""
        return self.free & (parameters <= 1e3 * FLOOR)

    # ---- rows ------------------------------------------------------------------------------------------

    def row_sums(self, vector: FloatArray) -> FloatArray:
        """Sum of each row of each table."""
        sums: FloatArray = np.add.reduceat(vector, self.starts)
        return sums

    def spread(self, per_row: FloatArray) -> FloatArray:
        """One number a row, repeated over the row's entries."""
        out: FloatArray = per_row[self._row]
        return out

    def maximised(self, completed: FloatArray, before: FloatArray) -> FloatArray:
        """The M-step: free entries share what is left of their row in proportion to their counts."""
        total = self.row_sums(completed)
        ratio = np.divide(self.left, total, out=np.zeros_like(total), where=total > 0)
        fresh = np.maximum(completed * self.spread(ratio), FLOOR)
        return np.where(self.free & (self.spread(total) > 0), fresh, before)

    def tidied(self, parameters: FloatArray, start: FloatArray) -> FloatArray:
        """Free entries not below zero and in rows of the right sum; the others as at ``start``.

        What is large keeps a hundredth in one step: no step should make a row impossible that only this entry explains.
        """
        least = np.where(start > 1e-3, 1e-2 * start, FLOOR)
        moved = np.where(self.free, np.maximum(parameters, least), 0.0)
        total = self.row_sums(moved)
        ratio = np.divide(self.left, total, out=np.ones_like(total), where=total > 0)
        return np.where(self.free, moved * self.spread(ratio), start)
