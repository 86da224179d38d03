"""Two independent latent variables above every leaf ([Whiley1999] 4.8.8).

To the engine it is a star whose latent state is a pair: state ``i * k2 + j`` is (z1 = i, z2 = j). Its root table is the
product P(z1) P(z2), so that the M-step sets the two factors to the marginals of the root's expected counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .._model import Counts, Model, row_sums, spread
from .._options import Number, Whole, Wholes, check
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Plan
from ..runner import Budget, Clock, StopReason
from ._em import ITERATIONS, TOLERANCE, check_limits
from ._fit import Basis, Fit, pseudo_counts
from ._restarts import random_starts

__all__ = ["TwoLatentsFit", "fit_two_latents", "two_latents_em"]


@dataclass(frozen=True, eq=False)
class TwoLatentsFit(Fit):
    """A fit whose root state is a pair of independent latents.

    Attributes
    ----------
    n_states : (int, int)
        States of the two latents; the root of ``model`` has their product.
    """

    n_states: tuple[int, int]

    @property
    def n_parameters(self) -> int:
        """Free probabilities: (k1 - 1) + (k2 - 1) and the leaves'."""
        k1, k2 = self.n_states
        return self.model.tree.n_parameters - (k1 * k2 - 1) + (k1 - 1) + (k2 - 1)

    @property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """P(z1) and P(z2)."""
        pair = self.model.table(0).reshape(self.n_states)
        return pair.sum(axis=1), pair.sum(axis=0)


def fit_two_latents(
    table: Table,
    n_states: tuple[int, int],
    *,
    rng: np.random.Generator,
    n_init: int = 64,
    q: float = 2.0,
    start: Model | None = None,
    prior: float | None = None,
    basis: Basis = "probability",
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
) -> TwoLatentsFit:
    """Fit two independent latents above every leaf from many random starts.

    Parameters
    ----------
    table : Table
        The data.
    n_states : (int, int)
        States of the two latents.
    rng : numpy.random.Generator
        Source of the starts.
    n_init, q
        After 1, 3, 7, 15, ... steps the best ``1/q`` of the starts go on; the last is run to the end.
    start : Model, optional
        Parameters that take the place of the first start: those of another fit's ``model``.
    prior : float, optional
        Dirichlet parameter of every row, those of P(z1) and P(z2) included. Default: maximum likelihood.
    basis, tol, max_iterations, budget, n_jobs
        As in :func:`latentree.estimation.estimate`.

    Examples
    --------
    >>> codes = np.random.default_rng(0).integers(0, 2, (200, 4))
    >>> fit = fit_two_latents(Table.from_codes(codes), (2, 2), rng=np.random.default_rng(1), n_init=4, tol=1e-3)
    >>> fit.n_parameters, bool((np.diff(fit.trace) >= -1e-9).all())
    (18, True)
    >>> p1, p2 = fit.factors
    >>> np.allclose(np.outer(p1, p2).ravel(), fit.model.table("z"))
    True
    """
    states = (tuple(n_states), Wholes(2, 1))
    check("fit_two_latents", n_states=states, n_init=(n_init, Whole(1)), q=(q, Number(above=1)))
    k1, k2 = map(int, n_states)
    tree = Tree.star(k1 * k2, table.cardinalities, names=table.names)
    starts = random_starts(tree, n_init, rng)
    root = rng.standard_exponential((n_init, k1 + k2))  # P(z1) and P(z2) uniform on their simplices
    pair = root[:, :k1, None] * root[:, None, k1:]
    starts[:, : k1 * k2] = (pair / pair.sum(axis=(1, 2), keepdims=True)).reshape(n_init, -1)
    if start is not None:
        starts[0] = start.parameters
    model = Model(tree, table.variables, starts[0])
    return _run_em(model, table, (k1, k2), starts, q, prior, basis, tol, max_iterations, budget, n_jobs)


def two_latents_em(
    fit: TwoLatentsFit,
    *,
    prior: float | None = None,
    basis: Basis = "probability",
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
) -> TwoLatentsFit:
    """EM from the parameters of a fit, with another prior perhaps."""
    starts = fit.model.parameters[None].copy()
    return _run_em(fit.model, fit.table, fit.n_states, starts, 2.0, prior, basis, tol, max_iterations, budget, n_jobs)


def _run_em(
    model: Model,
    table: Table,
    n_states: tuple[int, int],
    runs: FloatArray,
    q: float,
    prior: float | None,
    basis: Basis,
    tol: float,
    max_iterations: int,
    budget: Budget | Clock | None,
    n_jobs: int,
) -> TwoLatentsFit:
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    plan = Plan.of(model, table)
    step = _Step(model.tree, n_states, prior, basis)
    traces: list[list[float]] = [[] for _ in runs]
    reason, spent, rung, i = StopReason.ITERATIONS, 0, 1, 0
    log_likelihood, counts = plan.evaluate_batch(runs, n_jobs=n_jobs)
    for i in range(1, max_iterations + 1):
        new = step.maximised(counts, runs)
        log_likelihood, counts = plan.evaluate_batch(new, n_jobs=n_jobs)
        spent += len(new)
        objective = log_likelihood + step.log_prior(new)
        for trace, value in zip(traces, objective, strict=True):
            trace.append(float(value))
        runs = new
        if len(runs) > 1 and i == rung:
            best = np.sort(np.argsort(-objective, kind="stable")[: max(1, int(len(runs) / q))])
            runs, counts, log_likelihood = runs[best], counts[best], log_likelihood[best]
            traces = [traces[b] for b in best]
            rung = 2 * rung + 1
        elif len(runs) == 1 and i > 1 and traces[0][-1] - traces[0][-2] < tol:
            reason = StopReason.CONVERGED
            break
        if clock.expired:
            reason = StopReason.TIME
            break
    at = int(np.argmax([t[-1] for t in traces]))
    own = np.array(traces[at])
    return TwoLatentsFit(
        model=model.with_parameters(runs[at], provenance=model.provenance),
        table=table,
        counts=Counts(counts[at], float(log_likelihood[at]), float(table.weights.sum())),
        trace=own,
        reason=reason,
        seed=None,
        seconds=time.perf_counter() - began,
        evaluations=spent + len(runs),
        starts=own[-1:],
        n_states=n_states,
    )


class _Step:
    """The M-step: leaves as ever, the root as the product of the marginals of its counts."""

    def __init__(self, tree: Tree, n_states: tuple[int, int], prior: float | None, basis: Basis) -> None:
        self.tree, self.n_states = tree, n_states
        added = pseudo_counts(tree, prior, basis)
        self.added = np.zeros(tree.size) if added is None else added
        self.root = float(self.added[0])  # for each state of either factor

    def maximised(self, counts: FloatArray, before: FloatArray) -> FloatArray:
        tree, (k1, k2) = self.tree, self.n_states
        out = np.empty_like(counts)
        for new, n, old in zip(out, counts + self.added, before, strict=True):
            total = spread(tree, row_sums(tree, n))
            new[:] = np.divide(n, total, out=old.copy(), where=total > 0)
        pair = counts[:, : k1 * k2].reshape(-1, k1, k2)
        first, second = pair.sum(axis=2) + self.root, pair.sum(axis=1) + self.root
        first, second = first / first.sum(axis=1, keepdims=True), second / second.sum(axis=1, keepdims=True)
        out[:, : k1 * k2] = (first[:, :, None] * second[:, None, :]).reshape(-1, k1 * k2)
        return out

    def log_prior(self, runs: FloatArray) -> FloatArray:
        if not self.added.any():
            return np.zeros(len(runs))
        (k1, k2), leaves = self.n_states, slice(self.n_states[0] * self.n_states[1], None)
        pair = runs[:, : k1 * k2].reshape(-1, k1, k2)
        of_leaves: FloatArray = np.log(runs[:, leaves]) @ self.added[leaves]
        of_root = np.log(pair.sum(axis=2)).sum(axis=1) + np.log(pair.sum(axis=1)).sum(axis=1)
        total: FloatArray = of_leaves + self.root * of_root
        return total
