"""Deterministic annealing EM (W 2.11; Ueda & Nakano 1998), and the way out of its trap.

At temperature 1 / beta the posterior of what is hidden is taken to the power beta. EM then climbs

    A_beta = 1 / beta * sum over rows of log sum over hidden states of P(x)^beta,

minus the thermodynamic free energy; a schedule raises beta to 1, where A is the log-likelihood. The equal-weight
independence model is a stationary point at every temperature (theorems 2.1-2.3), so that a run which starts hot enough
ends there. Ueda & Nakano's remedy is to leave along a direction in which the surface curves upwards: ``escape``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Passes
from ..errors import bad_parameter
from ..runner import Budget, Clock, OnProgress, StopReason, run
from ._ascent import ProgressReporter, clock_of, fitted, started
from ._em import ITERATIONS, TOLERANCE, check_limits
from ._fit import Basis, Fit, Held, Prior
from ._simplex import reweighted
from ._surface import FLOOR, Point, Surface

__all__ = ["SCHEDULE", "AnnealedSurface", "annealing", "curvature"]

SCHEDULE = (0.1, 0.15, 0.22, 0.33, 0.5, 0.7, 0.85, 1.0)
"""Values of beta, each about one and a half times the last."""
DIFFERENCE = 1e-4
"""Step of the differences of gradients, in the logarithms of the parameters."""


def annealing(
    model: Model,
    table: Table,
    *,
    schedule: Sequence[float] = SCHEDULE,
    escape: bool = False,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    plan: Passes | None = None,
) -> Fit:
    """Deterministic annealing EM; see :func:`latentree.estimation.estimate`.

    Parameters
    ----------
    model, table
        Start and data.
    schedule : sequence of float
        Values of beta, the inverse temperature: rising, above 0, the last 1.
    escape : bool
        Where a run settles, follow the direction in which the surface curves upwards most, if there is one. It takes
        about two passes for each parameter.
    prior, basis, held, tol, max_iterations, budget, n_jobs, on_progress, plan
        As in :func:`latentree.estimation.estimate`. The trace is A_beta after every step: it rises at each
        temperature, and jumps between them.
    """
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    betas = _checked(schedule)
    clock = clock_of(budget)
    plan = plan or table.compiled(model)
    surfaces = [
        AnnealedSurface(plan, model.parameters, b, prior=prior, basis=basis, held=held, n_jobs=n_jobs) for b in betas
    ]
    point = started(surfaces[0], model.parameters)
    trace = [point.objective]
    if not np.isfinite(point.objective):
        return fitted(surfaces[-1].at(point.parameters), model, table, StopReason.IMPOSSIBLE, trace, began)
    told = ProgressReporter("annealing", max_iterations, clock, on_progress)

    def step(state: tuple[int, Point]) -> tuple[tuple[int, Point], bool]:
        stage, at = state
        after = at.surface.at(at.em_step)
        over = not after.objective > at.objective or after.promise < tol
        after = after if after.objective >= at.objective else at
        if over and escape and (found := escaped(after, tol)) is not None:
            after, over = found, False
        if over and stage + 1 < len(betas):
            stage, over = stage + 1, False
            after = surfaces[stage].at(after.parameters)
        trace.append(after.objective)
        return (stage, after), over

    def done(state: tuple[int, Point], over: bool) -> StopReason | None:
        told(len(trace) - 1, state[1].objective)
        if over:
            return StopReason.CONVERGED
        return StopReason.ITERATIONS if len(trace) > max_iterations else None

    end = run((0, point), step, budget=clock, done=done)
    stage, last = end.state
    if stage + 1 < len(betas):  # stopped while hot: say what it is worth as it stands
        last = surfaces[-1].at(last.parameters)
    spent = sum(s.evaluations for s in surfaces) - last.surface.evaluations
    return fitted(last, model, table, end.reason, trace[: end.steps + 1], began, spent)


def _checked(schedule: Sequence[float]) -> list[float]:
    try:
        betas = [float(b) for b in schedule]
    except (TypeError, ValueError):
        betas = []
    rising = all(a < b for a, b in pairwise(betas))
    if not betas or not betas[0] > 0 or not rising or betas[-1] != 1.0:
        raise bad_parameter(
            "schedule", "estimate", "rising values of beta above 0 that end at 1, such as (0.2, 0.5, 1)", schedule
        )
    return betas


class AnnealedSurface(Surface):
    """A_beta plus the logarithm of the prior. Its gradient and EM step follow from the counts as ever."""

    def __init__(
        self,
        plan: Passes,
        start: FloatArray,
        beta: float,
        *,
        prior: Prior = None,
        basis: Basis = "probability",
        held: Held = (),
        n_jobs: int = 1,
    ) -> None:
        super().__init__(plan, start, prior=prior, basis=basis, held=held, n_jobs=n_jobs)
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
