"""What the methods share that climb a surface step by step: the contract, limits, progress, and the Fit in the end."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from .._data import Data
from .._model import Counts, Model
from .._types import FloatArray
from ..method import drive
from ..runner import Budget, Clock, OnProgress, Progress, StopReason
from ._em_options import AscentOptions
from ._fit import Fit
from ._surface import FLOOR, Point, Surface

_PAUSE = 0.05  # least seconds between two reports of progress


@dataclass(frozen=True)
class Task:
    """What a method is given: a surface, where to start on it, and the gain below which it has converged."""

    surface: Surface
    start: FloatArray
    tol: float

    @property
    def evaluations(self) -> int:
        """Passes over the data so far."""
        return self.surface.evaluations


class Climb(Protocol):
    """What there is to know of the state of any climb."""

    @property
    def objective(self) -> float:
        """What the method maximises, where it is."""

    @property
    def reason(self) -> StopReason | None:
        """Why it has come to its end, if it has."""


OwnTask = TypeVar("OwnTask", bound=Task)
State = TypeVar("State", bound=Climb)


@dataclass(frozen=True)
class ClimbingMethod(ABC, Generic[OwnTask, State]):
    """A method of estimation: :class:`latentree.method.Method` between a model and a fit."""

    name: str
    options: Any
    traces_free_energy: ClassVar[bool] = False
    """Whether it traces the free energy, which a last whole E-step lifts to the objective itself."""

    @abstractmethod
    def task(self, model: Model, table: Data) -> OwnTask:
        """What the method is given."""

    @abstractmethod
    def init(self, task: OwnTask, rng: np.random.Generator) -> State:
        """The state to start from."""

    @abstractmethod
    def step(self, task: OwnTask, state: State, rng: np.random.Generator) -> tuple[State, float | None]:
        """The next state, and its objective; None if it is where it was."""

    def done(self, task: OwnTask, state: State) -> StopReason | None:
        """Why it has come to its end, if it has."""
        return state.reason

    @abstractmethod
    def end(self, task: OwnTask, state: State) -> Point:
        """The point to make a fit of."""


def climb(method: ClimbingMethod[OwnTask, State], model: Model, table: Data) -> Fit:
    """Run a method to its end or to the limits that its options set, and make a Fit of what it reached."""
    began = time.perf_counter()
    options: AscentOptions = method.options
    clock = options.clock()
    task = method.task(model, table)
    report = ProgressReporter(method.name, options.max_iterations, clock, options.on_progress)
    most = options.max_iterations if clock.budget.iterations is None else clock.budget.iterations
    rng = np.random.default_rng(0)  # these methods draw nothing
    run = drive(
        method,
        task,
        rng=rng,
        budget=Clock(Budget(clock.budget.seconds, min(most, options.max_iterations) + 1), clock.started),
        first=lambda state: state.objective,
        on_step=lambda state, objective: report.next(objective),
    )
    state, trace = run.state, list(run.trace)
    if state is None:  # not even the first point was looked at
        if run.reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        state = method.init(task, rng)
        trace = [state.objective]
    point = method.end(task, state)
    if method.traces_free_energy:
        trace[-1] = max(point.objective, trace[-1])
    return fitted(point, model, table, state.reason or run.reason, trace, began, task.evaluations)


# ---- from point to higher point -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Reached:
    """A point, what the method remembers there, and why it is the last if it is."""

    point: Point
    memory: Any = None
    reason: StopReason | None = None

    @property
    def objective(self) -> float:
        """The point's objective."""
        return self.point.objective


class Ascent(ClimbingMethod[Task, Reached]):
    """A method that goes from point to higher point until an EM step promises less than the tolerance.

    It is a :meth:`move`; most remember something from one to the next.
    """

    def begin(self, point: Point) -> Any:
        """What it remembers at the start."""
        return None

    def move(self, point: Point, memory: Any) -> tuple[Point | None, Any]:
        """Go to a higher point; None if there is none."""
        raise NotImplementedError

    def promise(self, point: Point) -> float:
        """About the most that the next EM step can gain."""
        return point.promise

    def task(self, model: Model, table: Data) -> Task:
        """The surface of the model on the table."""
        own = self.options
        return Task(Surface(own.passes(model, table), model.parameters, own), model.parameters, own.tol)

    def init(self, task: Task, rng: np.random.Generator) -> Reached:
        """The first point."""
        point = started(task.surface, task.start)
        if not np.isfinite(point.objective):
            return Reached(point, reason=StopReason.IMPOSSIBLE)
        if self.promise(point) < task.tol:
            return Reached(point, reason=StopReason.CONVERGED)
        return Reached(point, self.begin(point))

    def step(self, task: Task, state: Reached, rng: np.random.Generator) -> tuple[Reached, float | None]:
        """The next point, and its objective."""
        higher, memory = self.move(state.point, state.memory)
        if higher is None:
            settled = self.promise(state.point) <= max(task.tol, rounding(state.point))
            return Reached(state.point, memory, StopReason.CONVERGED if settled else StopReason.STALLED), None
        over = self.promise(higher) < task.tol
        return Reached(higher, memory, StopReason.CONVERGED if over else None), higher.objective

    def end(self, task: Task, state: Reached) -> Point:
        """The last point."""
        return state.point


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
    point: Point,
    model: Model,
    table: Data,
    reason: StopReason,
    trace: list[float],
    began: float,
    evaluations: int | None = None,
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
        evaluations=point.surface.evaluations if evaluations is None else evaluations,
        starts=own[-1:],
    )


class ProgressReporter:
    """Reports progress, not too often."""

    def __init__(self, stage: str, total: int, clock: Clock, on_progress: OnProgress | None) -> None:
        self.stage, self.total, self.clock, self.on_progress = stage, total, clock, on_progress
        self.last = clock.elapsed
        self.done = -1  # the first point is no step

    def __call__(self, done: int, objective: float) -> None:
        """Report how far it is."""
        now = self.clock.elapsed
        if self.on_progress is not None and now - self.last >= _PAUSE:
            self.last = now
            self.on_progress(Progress(self.stage, done, self.total, objective, now))

    def next(self, objective: float) -> None:
        """Report one step more."""
        self.done += 1
        self(self.done, objective)
