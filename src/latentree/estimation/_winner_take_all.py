"""Winner-take-all EM (W 2.3; Neal & Hinton 1998): each row wholly in its most probable hidden state, at least at first.

The hidden state of a row is that of all its latents together, found by passing maxima instead of sums. The free energy
of such a guess is the log-likelihood of the completed data; it rises until no row changes its state. Plain EM, which
lifts it further, goes on from there.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from .._table import Table
from .._tree import Tree
from .._types import FloatArray
from ..engine._plan import Plan
from ..runner import Budget, Clock, OnProgress, StopReason
from ._ascent import ProgressReporter, clock_of, fitted, started
from ._em import ITERATIONS, TOLERANCE, check_limits, em
from ._fit import Basis, Fit, Held, Prior
from ._surface import Surface

__all__ = ["most_probable", "winner_take_all"]


def winner_take_all(
    model: Model,
    table: Table,
    *,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    plan: Plan | None = None,
    finish: bool = True,
) -> Fit:
    """Winner-take-all EM, then plain EM; see :func:`latentree.estimation.estimate`.

    Parameters
    ----------
    model, table
        Start and data.
    prior, basis, held, tol, max_iterations, budget, n_jobs, on_progress, plan
        As in :func:`latentree.estimation.estimate`.
    finish : bool
        Go on with EM when no row changes its state any more. Otherwise the result maximises the likelihood of the
        completed data, not that of the data.
    """
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    clock = clock_of(budget)
    plan = plan or Plan.of(model, table)
    s = Surface(plan, model.parameters, prior=prior, basis=basis, held=held, n_jobs=n_jobs)
    point = started(s, model.parameters)
    if not np.isfinite(point.objective):
        return fitted(point, model, table, StopReason.IMPOSSIBLE, [point.objective], began)
    told = ProgressReporter("winner-take-all", max_iterations, clock, on_progress)
    first = theta = point.parameters
    trace: list[float] = []
    reason = StopReason.ITERATIONS
    try:
        while len(trace) <= max_iterations:
            log_likelihood, states = most_probable(plan, theta)
            s.evaluations += 1
            energy = log_likelihood + s.log_prior(theta)
            if trace and not energy - trace[-1] >= max(tol, 1e-300):
                reason = StopReason.CONVERGED
                break
            trace.append(energy)
            told(len(trace) - 1, energy)
            if clock.expired:
                reason = StopReason.TIME
                break
            theta = s.maximised(np.where(s.free, completed(plan, states) + s.pseudo, 0.0), theta)
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
    if not finish or reason is not StopReason.CONVERGED or len(trace) > max_iterations:
        return fitted(s.at(theta), model, table, reason, trace, began)
    theta = _softened(s, theta, first, trace[-1])
    options: dict[str, Any] = {"prior": prior, "basis": basis, "held": held, "tol": tol, "n_jobs": n_jobs}
    soft = em(
        model.with_parameters(theta, provenance=model.provenance),
        table,
        accelerate=False,
        max_iterations=max(max_iterations - len(trace) + 1, 1),
        budget=clock,
        on_progress=on_progress,
        plan=plan,
        **options,
    )
    whole = np.concatenate([trace[:-1], soft.trace])  # the first E-step of EM lifts the free energy where one stands
    spent = s.evaluations + soft.evaluations
    return replace(soft, trace=whole, evaluations=spent, seconds=time.perf_counter() - began)


def _softened(s: Surface, theta: FloatArray, first: FloatArray, energy: float) -> FloatArray:
    """Mix in a little of the start, so that EM can go on from zeros; as little as keeps the free energy."""
    share = 0.05
    while share > 1e-12:
        mixed = np.where(s.free, (1.0 - share) * theta + share * first, theta)
        if s.value(mixed) >= energy:
            return mixed
        share /= 4.0
    return theta


def most_probable(plan: Plan, parameters: FloatArray) -> tuple[float, NDArray[np.int32]]:
    """Log-likelihood of the rows completed in the most probable way, and these states, [rows, nodes].

    A leaf of which nothing is known is no part of the completed data; its state is -1.
    """
    tree, n = plan.tree, len(plan.weights)
    with np.errstate(divide="ignore"):
        logs = np.log(parameters)
    known = _known(plan)
    below = [np.zeros((n, int(k))) for k in tree.cardinality]
    for e in plan.evidence:
        if e.likelihood is None:
            below[e.node][(e.ids[:, None] >= 0) & (e.ids[:, None] != np.arange(tree.cardinality[e.node]))] = -np.inf
        else:
            with np.errstate(divide="ignore"):
                below[e.node] += (np.log(e.likelihood) if e.log_likelihood is None else e.log_likelihood)[e.ids]
    choice: dict[int, NDArray[np.intp]] = {}
    for v in range(tree.n_nodes - 1, 0, -1):
        reach = _table(tree, logs, v)[None] + below[v][:, None, :]  # [rows, parent, own]
        choice[v] = reach.argmax(axis=2)
        best = reach.max(axis=2)
        own = known[v]
        if own is not None and not tree.children[v]:
            best[own < 0] = 0.0
        below[int(tree.parent[v])] += best
    top = _table(tree, logs, 0)[0] + below[0]
    states = np.empty((n, tree.n_nodes), dtype=np.int32)
    states[:, 0] = top.argmax(axis=1)
    for v in range(1, tree.n_nodes):
        states[:, v] = choice[v][np.arange(n), states[:, int(tree.parent[v])]]
        own = known[v]
        if own is not None and not tree.children[v]:
            states[own < 0, v] = -1
    return float(plan.weights @ top.max(axis=1)), states


def completed(plan: Plan, states: NDArray[np.int32]) -> FloatArray:
    """Counts of completed rows."""
    tree, out = plan.tree, np.zeros(plan.tree.size)
    for v in range(tree.n_nodes):
        seen = states[:, v] >= 0
        at = tree.offsets[v] + states[seen, v].astype(np.int64)
        if v:
            at += states[seen, int(tree.parent[v])].astype(np.int64) * int(tree.cardinality[v])
        out += np.bincount(at, weights=plan.weights[seen], minlength=tree.size)
    return out


def _known(plan: Plan) -> list[NDArray[np.int32] | None]:
    """What is seen of each node, row by row; None for latents."""
    out: list[NDArray[np.int32] | None] = [None] * plan.tree.n_nodes
    for e in plan.evidence:
        if e.likelihood is None:
            out[e.node] = e.ids
    return out


def _table(tree: Tree, logs: FloatArray, v: int) -> FloatArray:
    return logs[tree.offsets[v] : tree.offsets[v + 1]].reshape(int(tree.rows[v]), -1)
