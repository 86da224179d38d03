"""Two independent latent variables above every leaf ([Whiley1999] 4.8.8).

To the engine it is a star whose latent state is a pair: state ``i * k2 + j`` is (z1 = i, z2 = j). Its root table is the
product P(z1) P(z2), so that the M-step sets the two factors to the marginals of the root's expected counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._model import Counts, Model, row_sums, spread
from .._options import Number, Whole, Wholes, check, option
from .._table import Table, as_table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Plan
from ..runner import StopReason
from ._ascent import ProgressReporter
from ._em_options import FitOptions, Value, or_none
from ._fit import Fit, pseudo_counts
from ._restarts import random_starts


@dataclass(frozen=True, eq=False)
class TwoLatentsOptions(FitOptions):
    """Options of fits with two latents."""

    n_init: int = option(64, Whole(1), "starts")
    q: float = option(2.0, Number(above=1), "one in so many starts goes on")
    start: Model | None = option(None, Value("a Model, or None", or_none(Model)), "instead of the first random start")


@dataclass(frozen=True, eq=False)
class TwoLatentsFit(Fit):
    """A fit whose root state is a pair of independent latents, of so many states."""

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
    table: Table, n_states: tuple[int, int], *, rng: np.random.Generator, **options: Any
) -> TwoLatentsFit:
    """Fit two independent latents above every leaf from many random starts.

    Options are ``n_init`` (64) starts, of which after 1, 3, 7, 15, ... steps the best ``1 / q`` (2) go on; ``start``, a
    model whose parameters take the place of the first; and those of :func:`latentree.estimation.estimate`, the prior
    being one number, for the rows of P(z1) and P(z2) too.

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
    check("fit_two_latents", n_states=(tuple(n_states), Wholes(2, 1)))
    own: TwoLatentsOptions = TwoLatentsOptions.of(options, owner="fit_two_latents")
    k1, k2 = map(int, n_states)
    tree = Tree.star(k1 * k2, table.cardinalities, names=table.names)
    starts = random_starts(tree, own.n_init, rng)
    root = rng.standard_exponential((own.n_init, k1 + k2))  # P(z1) and P(z2) uniform on their simplices
    pair = root[:, :k1, None] * root[:, None, k1:]
    starts[:, : k1 * k2] = (pair / pair.sum(axis=(1, 2), keepdims=True)).reshape(own.n_init, -1)
    if own.start is not None:
        starts[0] = own.start.parameters
    return _run_em(Model(tree, table.variables, starts[0]), table, (k1, k2), starts, own)


def two_latents_em(fit: TwoLatentsFit, **options: Any) -> TwoLatentsFit:
    """EM from the parameters of a fit, with another prior perhaps."""
    own: TwoLatentsOptions = TwoLatentsOptions.of(options, owner="two_latents_em")
    return _run_em(fit.model, as_table(fit.table), fit.n_states, fit.model.parameters[None].copy(), own)


def _run_em(
    model: Model, table: Table, n_states: tuple[int, int], runs: FloatArray, options: TwoLatentsOptions
) -> TwoLatentsFit:
    began = time.perf_counter()
    clock = options.clock()
    plan = Plan.of(model, table)
    step = _Step(model.tree, n_states, options)
    report = ProgressReporter("EM", options.max_iterations, clock, options.on_progress)
    traces: list[list[float]] = [[] for _ in runs]
    reason, spent, rung, i = StopReason.ITERATIONS, 0, 1, 0
    log_likelihood, counts = plan.evaluate_batch(runs, n_jobs=options.n_jobs)
    for i in range(1, options.max_iterations + 1):
        runs = step.maximised(counts, runs)
        log_likelihood, counts = plan.evaluate_batch(runs, n_jobs=options.n_jobs)
        spent += len(runs)
        objective = log_likelihood + step.log_prior(runs)
        report(i, float(objective.max()))
        for trace, value in zip(traces, objective, strict=True):
            trace.append(float(value))
        if len(runs) > 1 and i == rung:
            best = np.sort(np.argsort(-objective, kind="stable")[: max(1, int(len(runs) / options.q))])
            runs, counts, log_likelihood = runs[best], counts[best], log_likelihood[best]
            traces = [traces[b] for b in best]
            rung = 2 * rung + 1
        elif len(runs) == 1 and i > 1 and traces[0][-1] - traces[0][-2] < options.tol:
            reason = StopReason.CONVERGED
            break
        if clock.expired:
            reason = StopReason.TIME
            break
    at = int(np.argmax([t[-1] for t in traces]))
    own = np.array(traces[at])
    best_model = model.with_parameters(runs[at], provenance=model.provenance)
    found = Counts(counts[at], float(log_likelihood[at]), float(table.weights.sum()))
    seconds, evaluations = time.perf_counter() - began, spent + len(runs)
    return TwoLatentsFit(best_model, table, found, own, reason, None, seconds, evaluations, own[-1:], n_states)


class _Step:
    """The M-step: leaves as ever, the root as the product of the marginals of its counts."""

    def __init__(self, tree: Tree, n_states: tuple[int, int], options: TwoLatentsOptions) -> None:
        self.tree, self.n_states = tree, n_states
        added = pseudo_counts(tree, options.prior, options.basis)
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
