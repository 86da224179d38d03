"""Winner-take-all EM ([Whiley1999] 2.3; Neal & Hinton 1998): each row wholly in its most probable hidden state.

The hidden state of a row is that of all its latents together, found by passing maxima instead of sums. The free energy
of such a guess is the log-likelihood of the completed data; it rises until no row changes its state. Plain EM, which
lifts it further, goes on from there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from .._data import Data
from .._model import Counts, Model
from .._options import Flag, option
from .._types import FloatArray
from ..engine._messages import Messages
from ..engine._plan import Plan
from ..runner import StopReason
from ._ascent import ProgressReporter, fitted, started
from ._em import fit_em
from ._em_options import AscentOptions, EmOptions
from ._fit import Fit
from ._surface import Surface


@dataclass(frozen=True, eq=False)
class WinnerOptions(AscentOptions):
    """Options of winner-take-all EM.

    Unless it finishes with EM, the result maximises the likelihood of the completed data, not that of the data.
    """

    finish: bool = option(True, Flag(), "go on with EM when no row changes its state any more")


def winner_take_all(model: Model, table: Data, options: WinnerOptions) -> Fit:
    """Winner-take-all EM, then plain EM; see :func:`latentree.estimation.estimate`."""
    began = time.perf_counter()
    clock, most = options.clock(), options.max_iterations
    plan = options.whole_plan(model, table)
    s = Surface(plan, model.parameters, options)
    point = started(s, model.parameters)
    if not np.isfinite(point.objective):
        return fitted(point, model, table, StopReason.IMPOSSIBLE, [point.objective], began)
    progress = ProgressReporter("winner-take-all", most, clock, options.on_progress)
    first = theta = point.parameters
    trace: list[float] = []
    reason = StopReason.ITERATIONS
    try:
        while len(trace) <= most:
            completed = most_probable(plan, theta)
            s.evaluations += 1
            energy = completed.log_likelihood + s.log_prior(theta)
            if trace and not energy - trace[-1] >= max(options.tol, 1e-300):
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
    if not options.finish or reason is not StopReason.CONVERGED or len(trace) > most:
        return fitted(s.at(theta), model, table, reason, trace or [point.objective], began)
    start = model.with_parameters(_softened(s, theta, first, trace[-1]), provenance=model.provenance)
    plain = {name: getattr(options, name) for name in AscentOptions.names()}
    left = {"max_iterations": max(most - len(trace) + 1, 1), "budget": clock, "plan": plan}
    soft = fit_em(start, table, EmOptions(**{**plain, **left}, accelerate=False))
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
