"""Where a learner stands, and the trace all learners share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from .._model import Model
from ..estimation._fit import Fit
from ..runner import StopReason
from ._task import Task

__all__ = ["Learner", "Position", "Step"]


@dataclass(frozen=True)
class Step:
    """One line of a trace: the model after a step, which is the best so far.

    Attributes
    ----------
    step : int
        Number of the step; 0 is the beginning.
    operation : str
        What was tried.
    accepted : bool
        Whether it gave a better model.
    cardinality : dict of str to int
        Number of states of every latent node.
    score, log_likelihood, dimension, seconds
        Of the model, and since the beginning.
    """

    step: int
    operation: str
    accepted: bool
    cardinality: dict[str, int]
    score: float
    log_likelihood: float
    dimension: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Position:
    """Where a learner stands. Never changed, only replaced.

    Attributes
    ----------
    fit, score
        The best model so far.
    memory : mapping
        Whatever else the learner must remember: plain values and arrays.
    operation, accepted
        What the last step tried, and whether it gave a better model.
    reason : StopReason or None
        Why the learner has ended by its own rule, if it has.
    trace : tuple of Step
        All steps.
    """

    fit: Fit
    score: float
    memory: Mapping[str, Any] = field(default_factory=dict)
    operation: str = "begin"
    accepted: bool = True
    reason: StopReason | None = None
    trace: tuple[Step, ...] = ()

    def tried(self, task: Task, operation: str, found: Fit | None, **memory: Any) -> Position:
        """The position after trying something: with the new model if that scores higher."""
        score = -np.inf if found is None else task.score(found)
        kept = {**self.memory, **memory}
        if found is None or not score > self.score:
            return replace(self, memory=kept, operation=operation, accepted=False)
        return replace(self, fit=found, score=score, memory=kept, operation=operation, accepted=True)

    def noted(self, seconds: float) -> Position:
        """The position with one more line in its trace."""
        tree = self.fit.model.tree
        cardinality = {tree.names[z]: int(tree.cardinality[z]) for z in tree.latent}
        line = Step(
            len(self.trace),
            self.operation,
            self.accepted,
            dict(sorted(cardinality.items())),
            self.score,
            self.fit.log_likelihood,
            tree.n_parameters,
            seconds,
        )
        return replace(self, trace=(*self.trace, line))


class Learner(Protocol):
    """An algorithm that learns numbers of states: a first position, and a step."""

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Where to begin: ``model`` is the skeleton with one state at every latent, or the one ``given``."""

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """One step further."""
