"""Winner-take-all EM ([Whiley1999] 2.3; Neal & Hinton 1998): each row wholly in its most probable hidden state, at least at first.

The hidden state of a row is that of all its latents together, found by passing maxima instead of sums. The free energy
of such a guess is the log-likelihood of the completed data; it rises until no row changes its state. Plain EM, which
lifts it further, goes on from there.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from .._model import Counts, Model
from .._table import Table
from .._types import FloatArray
from ..engine._messages import Messages
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
    progress = ProgressReporter("winner-take-all", max_iterations, clock, on_progress)
    first = theta = point.parameters
    trace: list[float] = []
    reason = StopReason.ITERATIONS
    try:
        while len(trace) <= max_iterations:
            completed = most_probable(plan, theta)
            s.evaluations += 1
            energy = completed.log_likelihood + s.log_prior(theta)
            if trace and not energy - trace[-1] >= max(tol, 1e-300):
                reason = StopReason.CONVERGED
                break
            trace.append(energy)
            progress(len(trace) - 1, energy)
            if clock.expired:
                reason = StopReason.TIME
                break
            theta = s.maximised(np.where(s.free, completed.vector + s.pseudo, 0.0), theta)
    except KeyboardInterrupt:
        reason = StopReason.INTERRUPTED
    if not finish or reason is not StopReason.CONVERGED or len(trace) > max_iterations:
        return fitted(s.at(theta), model, table, reason, trace or [point.objective], began)
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


def most_probable(plan: Plan, parameters: FloatArray) -> Counts:
    """Log-likelihood and counts of the rows completed in the most probable way."""
    found = Messages(plan.tree, parameters, plan.evidence, "max", n_rows=len(plan.weights))
    return found.evaluated(plan.weights)
