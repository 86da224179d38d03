"""Mixtures over classes, made of parts: log-likelihood, exact information, and how they are maximised.

A row i has the density sum_k exp(log_ik), where log_ik adds up what each part says of the row in class k: the logit
model of the class says log P(k | covariates), the items log P(answers | k). With s_ik the derivative of log_ik, tau_ik
the posterior of the class and C the information that complete data would hold, Louis' identity gives

    gradient     sum_i w_i sbar_i,                        sbar_i = sum_k tau_ik s_ik
    information  C - sum_i w_i [sum_k tau_ik s_ik s_ik' - sbar_i sbar_i']

(Louis, J. R. Statist. Soc. B 44 (1982) 226-233). Every method of this package is a list of parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._lazy import cached_property
from .._types import FloatArray, IndexArray

__all__ = ["Curvature", "Fixed", "Maximum", "Part", "Point", "curvature", "inverse", "maximise"]

BLOCK = 1 << 15
"""Rows at a time, which bounds the memory."""

EM_STEPS = 12
"""Steps of EM before Newton's method: they lead from far away into the neighbourhood of a maximum."""


SLIGHT = 0.02
"""Damping that hardly changes a step."""

ROUNDING = 1e-13
"""Relative error of a sum over the rows."""


class Part(ABC):
    """What one part of a model says of every row in every class, and how that changes with its parameters."""

    size: int
    """Number of free parameters."""

    @property
    @abstractmethod
    def log(self) -> FloatArray:
        """Logarithms of the part's densities, [rows, classes]."""

    def scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """Derivatives of ``log[rows, k]``: which parameters, and a column for each of them."""
        raise NotImplementedError

    def complete(self, expected: FloatArray) -> FloatArray:
        """Information of the complete data, given the expected weight of each row in each class."""
        raise NotImplementedError

    def bending(self, expected: FloatArray) -> FloatArray:
        """Minus the expected second derivatives of ``log``; the same as ``complete`` where links are canonical."""
        return self.complete(expected)

    def moved(self, step: FloatArray) -> Self:
        """The part with its parameters moved by a step."""
        raise NotImplementedError

    def em_step(self, expected: FloatArray) -> Self:
        """The part after an M-step of EM, or one Newton step towards it."""
        raise NotImplementedError

    @property
    def held(self) -> NDArray[np.bool_]:
        """Parameters at the boundary of what they can be, which have no standard error."""
        return np.zeros(self.size, dtype=bool)

    @property
    def penalty(self) -> tuple[float, FloatArray, FloatArray] | None:
        """What a prior takes off the log-likelihood, with its gradient and matrix of second derivatives."""
        return None


class Fixed(Part):
    """Densities that are known, such as those of a measurement part that was estimated before."""

    size = 0

    def __init__(self, log: FloatArray) -> None:
        self._log = log

    @property
    def log(self) -> FloatArray:
        """The logarithms that were given."""
        return self._log

    def complete(self, expected: FloatArray) -> FloatArray:
        """Nothing."""
        return np.zeros((0, 0))

    def moved(self, step: FloatArray) -> Self:
        """The same."""
        return self

    def em_step(self, expected: FloatArray) -> Self:
        """The same."""
        return self


class Point:
    """A mixture at one value of its parameters."""

    def __init__(self, parts: Sequence[Part], weights: FloatArray) -> None:
        self.parts, self.weights = tuple(parts), weights
        self.size = sum(part.size for part in self.parts)

    @cached_property
    def _joint(self) -> tuple[FloatArray, FloatArray]:
        total = self.parts[0].log
        for part in self.parts[1:]:
            total = total + part.log
        top = total.max(axis=1, keepdims=True)
        shares = np.exp(total - top)
        sums = shares.sum(axis=1)
        shares /= sums[:, None]
        return shares, top[:, 0] + np.log(sums)

    @property
    def posterior(self) -> FloatArray:
        """P(class | row), [rows, classes]."""
        return self._joint[0]

    @property
    def row_log_likelihood(self) -> FloatArray:
        """Logarithm of each row's density."""
        return self._joint[1]

    @cached_property
    def log_likelihood(self) -> float:
        """Weighted sum over the rows."""
        return float(self.weights @ self.row_log_likelihood)

    @cached_property
    def objective(self) -> float:
        """Log-likelihood less penalties: what is maximised."""
        return self.log_likelihood - sum(part.penalty[0] for part in self.parts if part.penalty is not None)

    @property
    def expected(self) -> FloatArray:
        """Expected weight of each row in each class."""
        return self.weights[:, None] * self.posterior

    @property
    def held(self) -> NDArray[np.bool_]:
        """Parameters at the boundary."""
        return np.concatenate([part.held for part in self.parts])

    def slices(self) -> Iterator[tuple[Part, slice]]:
        """Each part, and where its parameters are."""
        at = 0
        for part in self.parts:
            yield part, slice(at, at + part.size)
            at += part.size

    def class_scores(self, k: int, rows: slice) -> tuple[IndexArray, FloatArray]:
        """Derivatives of all parts given class k."""
        found = [(at.start, part.scores(k, rows)) for part, at in self.slices() if part.size]
        columns = np.concatenate([start + own[0] for start, own in found])
        return columns, np.hstack([own[1] for _, own in found])

    def row_scores(self) -> FloatArray:
        """Derivative of each row's log-likelihood, [rows, parameters]."""
        out = np.zeros((len(self.weights), self.size))
        for rows in blocks(len(self.weights)):
            self._mean_scores(rows, out[rows])
        return out

    def _mean_scores(self, rows: slice, out: FloatArray, second: FloatArray | None = None) -> None:
        tau, w = self.posterior[rows], self.weights[rows]
        for k in range(tau.shape[1]):
            at, own = self.class_scores(k, rows)
            scaled = tau[:, k, None] * own
            if second is not None:
                second[np.ix_(at, at)] += own.T @ (w[:, None] * scaled)
            out[:, at] += scaled

    def moved(self, step: FloatArray) -> Point:
        """The mixture with all parameters moved by a step."""
        return Point([part.moved(step[at]) for part, at in self.slices()], self.weights)

    def em_step(self) -> Point:
        """The mixture after a step of EM."""
        expected = self.expected
        return Point([part.em_step(expected) for part in self.parts], self.weights)


def blocks(n: int) -> Iterator[slice]:
    """Blocks of rows."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


@dataclass(frozen=True, eq=False)
class Curvature:
    """Derivatives of the log-likelihood: gradient, observed and complete information, sum of products of scores."""

    gradient: FloatArray
    information: FloatArray
    complete: FloatArray
    products: FloatArray


def curvature(point: Point) -> Curvature:
    """First and second derivatives, by Louis' identity; penalties are part of gradient and information."""
    n = point.size
    second, products, gradient = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for rows in blocks(len(point.weights)):
        w = point.weights[rows]
        mean = np.zeros((len(w), n))
        point._mean_scores(rows, mean, second)
        weighed = w[:, None] * mean
        gradient += weighed.sum(axis=0)
        products += mean.T @ weighed
    complete, expected, information = np.zeros((n, n)), point.expected, products - second
    for part, at in point.slices():
        if part.size:
            complete[at, at] = part.complete(expected)
            information[at, at] += part.bending(expected)
    for part, at in point.slices():
        if part.penalty is not None:
            _, slope, bend = part.penalty
            gradient[at] -= slope
            information[at, at] += bend
            complete[at, at] += bend
    return Curvature(gradient, information, complete, products)


# ---- maximising ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where an ascent ended."""

    point: Point
    converged: bool
    trace: tuple[float, ...]


def maximise(point: Point, *, tol: float = 1e-10, max_iterations: int = 300, em_steps: int = EM_STEPS) -> Maximum:
    """Climb to a maximum: steps of EM, then of Newton's method damped by the complete information.

    Steps solve (information + damping * complete) step = gradient. Without damping they are Newton's; with much of it
    they are short steps of EM's own direction. A step that would lose is damped more, so that the trace never falls.
    The end is reached when a step of Newton's promises less than ``tol``.
    """
    trace = [point.objective]
    for _ in range(em_steps):
        proposed = point.em_step()
        gain = proposed.objective - point.objective
        if not gain > 0:
            break
        point = proposed
        trace.append(point.objective)
        if gain < 1e-3:
            break
    if point.size == 0:
        return Maximum(point, True, tuple(trace))
    damping = 0.0
    for _ in range(max_iterations):
        found = curvature(point)
        step, damping, promised = _step(found, damping)
        proposed = point.moved(step)
        if promised < tol and damping < SLIGHT:
            # The last step is too short to show in the objective, whose digits end before those of the parameters.
            near = proposed.objective >= point.objective - ROUNDING * abs(point.objective)
            return Maximum(proposed if near else point, True, tuple(trace))
        while not proposed.objective >= point.objective and damping < 1e8:
            step, damping, _ = _step(found, max(4.0 * damping, 0.05))
            proposed = point.moved(step)
        if not proposed.objective >= point.objective:
            break
        if proposed.objective == point.objective and damping > 1.0:  # no digit is left to gain
            return Maximum(point, promised < 1e3 * tol, tuple(trace))
        point = proposed
        trace.append(point.objective)
        damping = damping / 8 if damping > SLIGHT else 0.0
    return Maximum(point, False, tuple(trace))


def _step(found: Curvature, damping: float) -> tuple[FloatArray, float, float]:
    """A step, the damping that made its matrix positive, and the gain that it promises."""
    scale = 1.0 / np.sqrt(np.maximum(found.complete.diagonal(), 1e-300))
    both = np.outer(scale, scale)
    inner, outer, slope = found.information * both, found.complete * both, found.gradient * scale
    while True:
        try:
            factor = cho_factor(inner + damping * outer + 1e-13 * np.eye(len(slope)), check_finite=False)
        except LinAlgError:
            damping = max(4.0 * damping, 1e-3)
            if damping > 1e8:
                raise
            continue
        step = cho_solve(factor, slope, check_finite=False)
        return step * scale, damping, 0.5 * float(slope @ step)


def inverse(matrix: FloatArray, held: NDArray[np.bool_] | None = None) -> tuple[FloatArray, bool]:
    """Invert an information matrix, rows and columns that are held becoming zero; and whether it was regular."""
    out = np.zeros_like(matrix)
    free = np.flatnonzero(~held) if held is not None else np.arange(len(matrix))
    if len(free) == 0:
        return out, True
    own = matrix[np.ix_(free, free)]
    scale = 1.0 / np.sqrt(np.maximum(np.abs(own.diagonal()), 1e-300))
    values, vectors = np.linalg.eigh(own * np.outer(scale, scale))
    known = values > 1e-9
    found = (vectors[:, known] / values[known]) @ vectors[:, known].T
    out[np.ix_(free, free)] = found * np.outer(scale, scale)
    return out, bool(known.all())
