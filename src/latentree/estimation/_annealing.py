"""Deterministic annealing EM ([Whiley1999] 2.11; Ueda & Nakano 1998), and the way out of its trap.

At temperature 1 / beta the posterior of what is hidden is taken to the power beta. EM then climbs

    A_beta = 1 / beta * sum over rows of log sum over hidden states of P(x)^beta,

minus the thermodynamic free energy; a schedule raises beta to 1, where A is the log-likelihood. The equal-weight
independence model is a stationary point at every temperature (theorems 2.1-2.3), so that a run which starts hot enough
ends there. Ueda & Nakano's remedy is to leave along a direction in which the surface curves upwards: ``escape``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data import Data
from .._model import Model
from .._options import Flag, option
from .._types import FloatArray
from ..engine._plan import Passes
from ..runner import StopReason
from ._ascent import ClimbingMethod, Reached, Task, started
from ._em_options import AscentOptions, Value
from ._simplex import reweighted
from ._surface import FLOOR, Point, Surface

SCHEDULE = (0.1, 0.15, 0.22, 0.33, 0.5, 0.7, 0.85, 1.0)
"""Values of beta, each about one and a half times the last."""
DIFFERENCE = 1e-4
"""Step of the differences of gradients, in the logarithms of the parameters."""


def _is_schedule(value: Any) -> bool:
    try:
        betas = [float(beta) for beta in value]
    except (TypeError, ValueError):
        return False
    return bool(betas) and betas[0] > 0 and betas[-1] == 1.0 and all(a < b for a, b in pairwise(betas))


@dataclass(frozen=True, eq=False)
class AnnealingOptions(AscentOptions):
    """Options of deterministic annealing."""

    schedule: Sequence[float] = option(
        SCHEDULE,
        Value("rising values of beta above 0 that end at 1, such as (0.2, 0.5, 1)", _is_schedule),
        "values of beta, the inverse temperature",
    )
    escape: bool = option(
        False,
        Flag(),
        "where a run settles, follow the direction in which the surface curves upwards most, if there is one; it takes "
        "about two passes for each parameter",
    )


@dataclass(frozen=True)
class _Surfaces(Task):
    """One surface for each temperature; ``surface`` is that of temperature 1."""

    hot: tuple[AnnealedSurface, ...]

    @property
    def evaluations(self) -> int:
        return sum(s.evaluations for s in self.hot)


@dataclass(frozen=True)
class _Stage(Reached):
    """A point at the temperature of a number in the schedule."""

    number: int = 0


class Annealing(ClimbingMethod[_Surfaces, _Stage]):
    """EM at one temperature after the other.

    The trace is A_beta after every step: it rises at each temperature, and jumps between them.
    """

    def task(self, model: Model, table: Data) -> _Surfaces:
        """One surface for each temperature."""
        own = self.options
        plan, start = own.passes(model, table), model.parameters
        hot = tuple(AnnealedSurface(plan, start, float(beta), own) for beta in own.schedule)
        return _Surfaces(hot[-1], start, own.tol, hot)

    def init(self, task: _Surfaces, rng: np.random.Generator) -> _Stage:
        """The first point, at the first temperature."""
        point = started(task.hot[0], task.start)
        return _Stage(point, reason=None if np.isfinite(point.objective) else StopReason.IMPOSSIBLE)

    def step(self, task: _Surfaces, state: _Stage, rng: np.random.Generator) -> tuple[_Stage, float]:
        """An EM step; when it gains too little, the way out or the next temperature."""
        at, number = state.point, state.number
        after = at.surface.at(at.em_step)
        over = not after.objective > at.objective or after.promise < task.tol
        after = after if after.objective >= at.objective else at
        if over and self.options.escape and (found := escaped(after, task.tol)) is not None:
            after, over = found, False
        if over and number + 1 < len(task.hot):
            number, over = number + 1, False
            after = task.hot[number].at(after.parameters)
        return _Stage(after, None, StopReason.CONVERGED if over else None, number), after.objective

    def end(self, task: _Surfaces, state: _Stage) -> Point:
        """The last point; one that is still hot, or impossible, is looked at as it is at temperature 1."""
        hot = state.number + 1 < len(task.hot) or state.reason is StopReason.IMPOSSIBLE
        return task.surface.at(state.point.parameters) if hot else state.point


class AnnealedSurface(Surface):
    """A_beta plus the logarithm of the prior. Its gradient and EM step follow from the counts as ever."""

    def __init__(
        self, plan: Passes, start: FloatArray, beta: float, options: AscentOptions | None = None, **keywords: Any
    ) -> None:
        super().__init__(plan, start, options, **keywords)
        self.beta = beta
        tree = plan.tree
        self._nodes = np.repeat(np.arange(tree.n_nodes), tree.rows * tree.cardinality)

    def at(self, parameters: FloatArray) -> Point:
        """Look at a place: one pass with every table to the power beta, scaled so that no row sums to more than 1."""
        if self.beta == 1.0:
            return super().at(parameters)
        self.evaluations += 1
        powers = np.where(parameters > 0, parameters, 0.0) ** self.beta * (parameters > 0)
        scale = np.array([t.max() for t in np.split(self.row_sums(powers), np.cumsum(self.tree.rows)[:-1])])
        seen = self.plan.evaluate(powers / scale[self._nodes], n_jobs=self.n_jobs)
        # A table has been used as often as its counts say: not where its leaf is missing.
        used = np.bincount(self._nodes, weights=seen.vector, minlength=self.tree.n_nodes)
        value = (seen.log_likelihood + float(used @ np.log(scale))) / self.beta
        return Point(self, parameters, seen.vector, value, value + self.log_prior(parameters))


# ---- the way out --------------------------------------------------------------------------------------------


def escaped(point: Point, tol: float) -> Point | None:
    """A higher point along the direction of greatest upward curvature, or None."""
    values, vectors = curvature(point)
    if not len(values) or not values[-1] > 1e-6:
        return None
    best = point
    for direction in (vectors[:, -1], -vectors[:, -1]):
        step = 0.05
        while step < 20.0:
            seen = point.surface.at(reweighted(point, step * direction))
            if not seen.objective > best.objective:
                break
            best, step = seen, 2.0 * step
    return best if best.objective > point.objective + tol else None


def curvature(point: Point) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of the Hessian along the simplices, rising, and directions in the logarithms of the parameters.

    In the metric of the expected counts, in which the completed data have curvature -1: above 0 the point is a saddle.
    The Hessian comes from differences of gradients. States that never occur take no part.
    """
    s = point.surface
    frame = _frame(point)
    if not frame.shape[1]:
        return np.zeros(0), np.zeros((s.tree.size, 0))
    moved = np.empty((frame.shape[1], s.tree.size))
    for i, along in enumerate(frame.T):
        ahead, back = (s.at(reweighted(point, sign * DIFFERENCE * along)) for sign in (1.0, -1.0))
        moved[i] = (ahead.softmax_gradient - back.softmax_gradient) / (2.0 * DIFFERENCE)
    hessian = moved @ frame
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    out: FloatArray = frame @ vectors
    return values, out


def _frame(point: Point) -> FloatArray:
    """Directions of unit length in the metric of the counts that keep rows at their sums, one column each."""
    s = point.surface
    moving: NDArray[np.bool_] = s.free & (point.completed > 1e-9) & (point.parameters > 1e3 * FLOOR)
    ends = np.append(s.starts[1:], s.tree.size)
    columns = []
    for a, b in zip(s.starts, ends, strict=True):
        at = a + np.flatnonzero(moving[a:b])
        if len(at) < 2:
            continue
        root = np.sqrt(point.completed[at])
        # orthogonal to the square roots of the counts: what a row as a whole cannot do
        basis = np.linalg.qr(np.column_stack([root, np.eye(len(at))[:, :-1]]))[0][:, 1:]
        for column in basis.T:
            full = np.zeros(s.tree.size)
            full[at] = column / root
            columns.append(full)
    return np.column_stack(columns) if columns else np.zeros((s.tree.size, 0))
