"""EM from given starts: plain, or accelerated so that no step loses the objective.

The loop itself is in C++ (``em.cpp``, ``accelerator.cpp``); here it is cut into slices, so that Ctrl-C, time limits and
progress work between them. The slices change nothing in the result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._data import Data
from .._model import Counts, Model
from .._types import FloatArray
from ..engine import _core
from ..engine._plan import Passes, Plan
from ..errors import FileFormatError, ModelError
from ..runner import Clock, OnProgress, Progress, StopReason
from ._em_options import EmOptions
from ._fit import Fit, held_mask, pseudo_counts
from ._fit_checkpoint import FitSlot, fit_slot

_SLICE = 0.05  # seconds between looks at signals and clocks
_AT_ONCE, _WORK = 8, 2**27  # points evaluated between looks where one pass of all runs, rows times parameters, is long
_RUNNING, _CONVERGED, _ITERATIONS, _IMPOSSIBLE, _FELL = range(5)


class EmRuns:
    """Several EM runs side by side on one plan, kept in the file of a slot if there is one."""

    def __init__(
        self,
        plan: Passes,
        starts: FloatArray,
        options: EmOptions | None = None,
        *,
        slot: FitSlot | None = None,
        **keywords: Any,
    ) -> None:
        own: EmOptions = options or EmOptions.trusted(keywords)
        self.plan, self.slot, self.n_jobs = plan, slot, int(own.n_jobs)
        tree = plan.tree
        if starts.ndim != 2 or starts.shape[1] != tree.size:
            raise ModelError(f"A start needs {tree.size} probabilities, as the plan's tree. Got shape {starts.shape}.")
        # Data that lie elsewhere are asked; then a plan without evidence stands for tree and total weight.
        self._remote = not isinstance(plan, Plan)
        local = plan if isinstance(plan, Plan) else Plan(tree, [], np.array([plan.weight]))
        self._heavy = len(local.weights) * tree.size
        self._interrupted = False
        self._core = _core.Em(
            local.core,
            np.ascontiguousarray(starts, dtype=np.float64),
            pseudo_counts(tree, own.prior, own.basis),
            held_mask(tree, own.held),
            own.accelerate,
        )
        if slot is not None and slot.runs is not None:
            self.restore(slot.runs)

    def advance(
        self, iterations: int, tolerance: float, clock: Clock, on_progress: OnProgress | None = None
    ) -> StopReason | None:
        """Take every run to convergence or to that many steps; a reason if the clock or Ctrl-C came first."""
        try:
            while not self._slice(int(iterations), float(tolerance), clock):
                if on_progress is not None:
                    done = max(len(self.trace(i)) for i in range(len(self)))
                    on_progress(Progress("EM", done, iterations, float(self.objectives.max()), clock.elapsed))
                if self._interrupted:
                    return StopReason.INTERRUPTED
                if clock.expired:
                    return StopReason.TIME
        except KeyboardInterrupt:
            if not self._begun:
                if self.slot is not None:
                    raise  # there is nothing to go back to, nor to keep
                self._begin(int(iterations), float(tolerance))
            return StopReason.INTERRUPTED
        return None

    def _begin(self, iterations: int, tolerance: float) -> None:
        """One pass of a few runs, the others being given up, so that there is something."""
        self.keep(range(min(self._few, len(self))))
        self._core.answer(*self.plan.evaluate_batch(self._core.asked(), n_jobs=self.n_jobs), iterations, tolerance)

    @property
    def _begun(self) -> bool:
        return any(len(self.trace(i)) for i in range(len(self)))

    @property
    def _few(self) -> int:
        """How many runs are evaluated before time is looked at."""
        return max(len(self), 1) if self._remote else max(_AT_ONCE, _WORK // max(self._heavy, 1))

    def _slice(self, iterations: int, tolerance: float, clock: Clock) -> bool:
        """Some steps of every run; True when all have ended."""
        if self._remote or self._heavy * len(self) > _WORK:
            points = self._core.asked()
            seen = self._seen(points, clock) if len(points) else None
            if seen is not None:
                self._core.answer(*seen, iterations, tolerance)
            ended = len(points) == 0
        else:
            ended = self._core.advance(iterations, tolerance, min(_SLICE, clock.remaining), self.n_jobs)
        if self.slot is not None:
            self.slot.keep(self.pack)
        return ended

    def _seen(self, points: FloatArray, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
        """Evaluate points, a few at a time; None if time ended before all were seen.

        Of a first pass, what was seen by then is kept, and runs that had no turn are given up.
        """
        few, begun = self._few, self._begun
        found: list[tuple[FloatArray, FloatArray]] = []
        try:
            for i in range(0, len(points), few):
                if clock.expired and (begun or found) and (begun or self.slot is None):
                    break
                found.append(self.plan.evaluate_batch(points[i : i + few], n_jobs=self.n_jobs))
        except KeyboardInterrupt:
            if begun or self.slot is not None or not found:
                raise
            self._interrupted = True
        n_seen = sum(len(values) for values, _ in found)
        if begun and n_seen < len(points):
            return None
        if n_seen < len(points):
            self.keep(range(n_seen))
        log_likelihood, counts = zip(*found, strict=True)
        return np.concatenate(log_likelihood), np.concatenate(counts)

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
        return {_CONVERGED: StopReason.CONVERGED, _IMPOSSIBLE: StopReason.IMPOSSIBLE}.get(status, StopReason.ITERATIONS)

    def counts(self, run: int) -> Counts:
        """Expected counts at the end of one run."""
        return Counts(self._core.counts(run), self._core.log_likelihood(run), self.plan.weight)

    def parameters(self, run: int) -> FloatArray:
        """Where one run ended."""
        return self._core.parameters(run)


def em(model: Model, table: Data, **options: Any) -> Fit:
    """Fit by EM from the model's own parameters.

    Parameters
    ----------
    model, table
        Start and data.
    **options
        ``prior``, ``basis``, ``held``, ``accelerate`` (default: True), ``tol``, ``max_iterations``, ``budget``,
        ``n_jobs``, ``on_progress``, ``plan``, ``checkpoint``, as in :func:`latentree.estimation.estimate`.
    """
    return fit_em(model, table, EmOptions.of(options, owner="em"))


def fit_em(model: Model, table: Data, options: EmOptions) -> Fit:
    """Fit by EM from the model's own parameters, with options that are checked already."""
    began = time.perf_counter()
    clock = options.clock()
    slot = fit_slot(options.checkpoint, model, table, options.settings())
    if slot is not None and slot.fit is not None:
        return slot.finished(model, table)
    runs = EmRuns(options.passes(model, table), model.parameters[None], options, slot=slot)
    stopped = runs.advance(options.max_iterations, options.tol, clock, options.on_progress)
    return best_fit(runs, model, table, stopped, began)


def best_fit(runs: EmRuns, model: Model, table: Data, stopped: StopReason | None, began: float) -> Fit:
    """Make a Fit of the best run."""
    order = np.argsort(-runs.objectives, kind="stable")
    best = int(order[0])
    fit = Fit(
        model=model.with_parameters(runs.parameters(best), provenance=model.provenance),
        table=table,
        counts=runs.counts(best),
        trace=runs.trace(best),
        reason=stopped or runs.reason(best),
        seed=None,
        seconds=time.perf_counter() - began + (runs.slot.seconds if runs.slot is not None else 0.0),
        evaluations=runs.evaluations,
        starts=runs.objectives[order],
    )
    if runs.slot is not None:
        runs.slot.end(runs.pack, fit, stopped)
    return fit
