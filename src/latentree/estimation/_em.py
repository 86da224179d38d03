"""EM from given starts: plain, or accelerated so that no step loses the objective.

The loop itself is in C++ (``em.cpp``, ``accelerator.cpp``); here it is cut into slices, so that Ctrl-C, time limits and
progress work between them. The slices change nothing in the result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._model import Counts, Model
from .._table import Table
from .._types import FloatArray
from ..engine import _core
from ..engine._plan import Passes, Plan
from ..errors import FileFormatError, ModelError, bad_parameter
from ..runner import Budget, Clock, OnProgress, Progress, StopReason
from ._fit import Basis, Fit, Held, Prior, held_mask, pseudo_counts
from ._fit_checkpoint import FitLocation, FitSlot, fit_slot

__all__ = ["ITERATIONS", "TOLERANCE", "EmRuns", "em"]


TOLERANCE = 1e-6
"""Least gain of the objective in one step for which EM goes on."""
ITERATIONS = 10_000
"""Most steps of one run."""
_SLICE = 0.05  # seconds between looks at signals and clocks
_RUNNING, _CONVERGED, _ITERATIONS, _IMPOSSIBLE, _FELL = range(5)


class EmRuns:
    """Several EM runs side by side on one plan."""

    def __init__(
        self,
        plan: Passes,
        starts: FloatArray,
        *,
        prior: Prior = None,
        basis: Basis = "probability",
        held: Held = (),
        accelerate: bool = True,
        n_jobs: int = 1,
        section: FitSlot | None = None,
    ) -> None:
        self.section = section
        self.plan = plan
        self.n_jobs = int(n_jobs)
        tree = plan.tree
        if starts.ndim != 2 or starts.shape[1] != tree.size:
            raise ModelError(f"A start needs {tree.size} probabilities, as the plan's tree. Got shape {starts.shape}.")
        # Data that lie elsewhere are asked; then a plan without evidence stands for tree and total weight.
        self._elsewhere = not isinstance(plan, Plan)
        near = plan if isinstance(plan, Plan) else Plan(tree, [], np.array([plan.weight]))
        self._core = _core.Em(
            near.core,
            np.ascontiguousarray(starts, dtype=np.float64),
            pseudo_counts(tree, prior, basis),
            held_mask(tree, held),
            accelerate,
        )
        if section is not None and section.runs is not None:
            self.restore(section.runs)

    def advance(
        self, iterations: int, tolerance: float, clock: Clock, on_progress: OnProgress | None = None
    ) -> StopReason | None:
        """Take every run to convergence or to that many steps; a reason if the clock or Ctrl-C came first."""
        try:
            while not self._slice(int(iterations), float(tolerance), min(_SLICE, clock.remaining)):
                if on_progress is not None:
                    done = max(len(self.trace(i)) for i in range(len(self)))
                    on_progress(Progress("EM", done, iterations, float(self.objectives.max()), clock.elapsed))
                if clock.expired:
                    return StopReason.TIME
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED
        return None

    def _slice(self, iterations: int, tolerance: float, seconds: float) -> bool:
        """Some steps of every run; True when all have ended."""
        if self._elsewhere:
            points = self._core.asked()
            if len(points):
                seen = self.plan.evaluate_batch(points, n_jobs=self.n_jobs)
                self._core.answer(*seen, iterations, tolerance)
            ended = len(points) == 0
        else:
            ended = self._core.advance(iterations, tolerance, seconds, self.n_jobs)
        if self.section is not None:
            self.section.keep(self.pack)
        return ended

    def keep(self, runs: Sequence[int]) -> None:
        """Go on with these runs only."""
        self._core.keep([int(i) for i in runs])

    def pack(self) -> dict[str, Any]:
        """Turn all runs into what a checkpoint can hold: going on from it changes not a bit."""
        runs = [self._core.state(i) for i in range(len(self))]
        return {"runs": runs, "given_up": self._core.given_up, "evaluations": self.evaluations}

    def restore(self, packed: Mapping[str, Any]) -> None:
        """Go on where the runs were that were packed, whatever these have done."""
        try:
            runs = [np.ascontiguousarray(state, dtype=np.float64) for state in packed["runs"]]
            self._core.restore(runs, int(packed["given_up"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"The runs in a checkpoint are damaged: {error}.") from None

    def __len__(self) -> int:
        return int(self._core.n_runs)

    def trace(self, run: int) -> FloatArray:
        """Objective of one run after each step."""
        return self._core.trace(run)

    @property
    def objectives(self) -> FloatArray:
        """Where each run stands; minus infinity if it has not begun or the data are impossible."""
        last = (self.trace(i) for i in range(len(self)))
        return np.array([t[-1] if len(t) and not np.isnan(t[-1]) else -np.inf for t in last])

    @property
    def evaluations(self) -> int:
        """Passes over the data, all runs together, those that were given up included."""
        return self._core.given_up + sum(self._core.evaluations(i) for i in range(len(self)))

    def reason(self, run: int) -> StopReason:
        """Why one run ended."""
        status = self._core.status(run)
        if status == _FELL:
            raise RuntimeError("EM lost likelihood, which it cannot: this is a defect of latentree. Please report it.")
        return {
            _CONVERGED: StopReason.CONVERGED,
            _IMPOSSIBLE: StopReason.IMPOSSIBLE,
        }.get(status, StopReason.ITERATIONS)

    def counts(self, run: int) -> Counts:
        """Expected counts at the end of one run."""
        return Counts(self._core.counts(run), self._core.log_likelihood(run), self.plan.weight)

    def parameters(self, run: int) -> FloatArray:
        """Where one run ended."""
        return self._core.parameters(run)


def em(
    model: Model,
    table: Table,
    *,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    accelerate: bool = True,
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    plan: Passes | None = None,
    checkpoint: FitLocation = None,
) -> Fit:
    """Fit by EM from the model's own parameters; see :func:`latentree.estimation.estimate`."""
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    clock = budget if isinstance(budget, Clock) else (budget or Budget()).start()
    own: dict[str, Any] = {"prior": prior, "basis": basis, "held": held, "accelerate": accelerate}
    section = fit_slot(checkpoint, model, table, {**own, "tol": tol, "max_iterations": max_iterations})
    if section is not None and section.fit is not None:
        return section.finished(model, table)
    plan = plan or table.compiled(model)
    climb = EmRuns(plan, model.parameters[None], n_jobs=n_jobs, section=section, **own)
    stopped = climb.advance(max_iterations, tol, clock, on_progress)
    return finished(climb, model, table, stopped, began)


def finished(
    climb: EmRuns,
    model: Model,
    table: Table,
    stopped: StopReason | None,
    began: float,
    *,
    seed: int | None = None,
) -> Fit:
    """Make a Fit of the best run."""
    order = np.argsort(-climb.objectives, kind="stable")
    best = int(order[0])
    fit = Fit(
        model=model.with_parameters(climb.parameters(best), provenance=model.provenance),
        table=table,
        counts=climb.counts(best),
        trace=climb.trace(best),
        reason=stopped or climb.reason(best),
        seed=seed,
        seconds=time.perf_counter() - began + (climb.section.seconds if climb.section is not None else 0.0),
        evaluations=climb.evaluations,
        starts=climb.objectives[order],
    )
    if climb.section is not None:
        climb.section.end(climb.pack, fit, stopped)
    return fit


def check_limits(tol: float, max_iterations: int, n_jobs: int) -> None:
    """Say what is wrong with a limit."""
    if not tol >= 0:
        raise bad_parameter("tol", "estimate", "a number of at least 0", tol)
    for name, value in (("max_iterations", max_iterations), ("n_jobs", n_jobs)):
        if not 1 <= value < 2**31 or int(value) != value:
            raise bad_parameter(name, "estimate", "a whole number of at least 1", value)
