"""What the methods that climb step by step share: limits, progress, Ctrl-C, and the Fit in the end."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._model import Counts, Model
from .._table import Table
from .._types import FloatArray
from ..engine._plan import Passes
from ..errors import bad_parameter
from ..runner import Budget, Clock, OnProgress, Progress, StopReason, run
from ._em import ITERATIONS, TOLERANCE, check_limits
from ._fit import Basis, Fit, Held, Prior
from ._surface import FLOOR, Penalty, Point, Surface

__all__ = ["Method", "ascend", "check_rate", "clock_of", "fitted"]

_PAUSE = 0.05  # least seconds between two reports of progress


class Method:
    """A way to climb: what it remembers from step to step, and a step."""

    name: str

    def begin(self, point: Point) -> Any:
        """What it remembers at the start."""
        return None

    def step(self, point: Point, memory: Any) -> tuple[Point | None, Any]:
        """Go one step higher; None if there is no such step."""
        raise NotImplementedError

    def promise(self, point: Point) -> float:
        """About the most that the next EM step can gain."""
        return point.promise


def ascend(
    model: Model,
    table: Table,
    method: Method,
    *,
    prior: Prior = None,
    basis: Basis = "probability",
    held: Held = (),
    tol: float = TOLERANCE,
    max_iterations: int = ITERATIONS,
    budget: Budget | Clock | None = None,
    n_jobs: int = 1,
    on_progress: OnProgress | None = None,
    plan: Passes | None = None,
    penalty: Penalty | None = None,
) -> Fit:
    """EmRuns by a method until an EM step promises less than ``tol``; see :func:`latentree.estimation.estimate`."""
    began = time.perf_counter()
    check_limits(tol, max_iterations, n_jobs)
    clock = clock_of(budget)
    plan = plan or table.compiled(model)
    surface = Surface(plan, model.parameters, prior=prior, basis=basis, held=held, n_jobs=n_jobs, penalty=penalty)
    point = started(surface, model.parameters)
    trace = [point.objective]
    if not np.isfinite(point.objective):
        return fitted(point, model, table, StopReason.IMPOSSIBLE, trace, began)
    if method.promise(point) < tol:
        return fitted(point, model, table, StopReason.CONVERGED, trace, began)
    told = ProgressReporter(method.name, max_iterations, clock, on_progress)

    def step(state: tuple[Point, Any]) -> tuple[tuple[Point, Any], bool]:
        at, memory = state
        higher, memory = method.step(at, memory)
        if higher is None:
            return (at, memory), False
        trace.append(higher.objective)
        return (higher, memory), True

    def done(state: tuple[Point, Any], moved: bool) -> StopReason | None:
        at = state[0]
        told(len(trace) - 1, at.objective)
        promise = method.promise(at)
        if not moved:
            return StopReason.CONVERGED if promise <= max(tol, rounding(at)) else StopReason.STALLED
        if promise < tol:
            return StopReason.CONVERGED
        return StopReason.ITERATIONS if len(trace) > max_iterations else None

    end = run((point, method.begin(point)), step, budget=clock, done=done)
    return fitted(end.state[0], model, table, end.reason, trace[: end.steps + 1], began)


def started(surface: Surface, start: FloatArray) -> Point:
    """The first point. Impossible data get one EM step: with a prior it may make them possible."""
    point = surface.at(np.array(start))
    if not np.isfinite(point.objective) and surface.pseudo.any():
        point = surface.at(point.em_step)
    return point


def rounding(point: Point) -> float:
    """Gains below this cannot be told from rounding."""
    return 1e-9 * (1.0 + abs(point.objective)) + 1e-13 * point.surface.weight


def fitted(
    point: Point, model: Model, table: Table, reason: StopReason, trace: list[float], began: float, spent: int = 0
) -> Fit:
    """Make a Fit of where a climb ended. What stood for zero becomes zero, unless some row lives on it."""
    p, n = point.parameters, point.counts
    nothing = (p <= 1e3 * FLOOR) & (n < 1e-20)
    own = np.array(trace)
    return Fit(
        model=model.with_parameters(np.where(nothing, 0.0, p), provenance=model.provenance),
        table=table,
        counts=Counts(np.where(nothing, 0.0, n), point.log_likelihood, point.surface.plan.weight),
        trace=own,
        reason=reason,
        seed=None,
        seconds=time.perf_counter() - began,
        evaluations=point.surface.evaluations + spent,
        starts=own[-1:],
    )


class ProgressReporter:
    """Reports progress, not too often."""

    def __init__(self, stage: str, total: int, clock: Clock, on_progress: OnProgress | None) -> None:
        self.stage, self.total, self.clock, self.on_progress = stage, total, clock, on_progress
        self.last = clock.elapsed

    def __call__(self, done: int, objective: float) -> None:
        """Tell where it is."""
        now = self.clock.elapsed
        if self.on_progress is not None and now - self.last >= _PAUSE:
            self.last = now
            self.on_progress(Progress(self.stage, done, self.total, objective, now))


def clock_of(budget: Budget | Clock | None) -> Clock:
    """The clock that runs, or a new one."""
    return budget if isinstance(budget, Clock) else (budget or Budget()).start()


def check_rate(rate: float | None) -> None:
    """Say what is wrong with a learning rate."""
    number = isinstance(rate, int | float | np.number) and not isinstance(rate, bool)
    if rate is not None and not (number and np.isfinite(rate) and rate > 0):
        raise bad_parameter("rate", "estimate", "a number above 0, or None for an automatic one", rate)
