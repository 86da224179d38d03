"""What all learners of numbers of states have in common: their state, their trace, and which models they looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from .._trace import Step
from ..checkpoint import pack_model, unpack_model
from ..estimation._fit import Fit, evaluate
from ..method import OutOfTime
from ..runner import StopReason
from ._task import Settings, Task


def states_of(fit: Fit) -> dict[str, int]:
    """Number of states of every latent node, by name."""
    tree = fit.model.tree
    return dict(sorted((tree.names[z], int(tree.cardinality[z])) for z in tree.latent))


@dataclass(frozen=True)
class Visited:
    """The best model that was seen with certain numbers of states.

    Attributes
    ----------
    states : mapping of str to int
        Number of states of every latent node.
    score, log_likelihood, n_parameters
        Of the best model. Unless it is the result, its EM ended at the tolerance of the search.
    models : int
        How many models with these numbers were fitted and scored.
    """

    states: Mapping[str, int]
    score: float
    log_likelihood: float
    n_parameters: int
    models: int = 1

    @classmethod
    def of(cls, fit: Fit, score: float) -> Visited:
        """Describe one fit."""
        return cls(MappingProxyType(states_of(fit)), score, fit.log_likelihood, fit.n_parameters)

    @property
    def n_states(self) -> int:
        """States of all latent nodes: the number of classes of a latent class model."""
        return sum(self.states.values())

    def joined(self, other: Visited) -> Visited:
        """The better of two with the same numbers of states."""
        return replace(max(self, other, key=lambda own: own.score), models=self.models + other.models)


Key = tuple[int, ...]
"""Numbers of states in the order of the latent nodes' names."""


@dataclass(frozen=True, eq=False)
class LearnerState:
    """Where a learner is. Never changed, only replaced.

    Attributes
    ----------
    fit, score
        The best model so far.
    memory : mapping
        Whatever else the learner must remember: plain values and arrays.
    operation : str
        What the last step attempted.
    accepted : bool
        Whether that gave a better model.
    reason : StopReason or None
        Why the learner has ended by its own rule, if it has.
    visited : mapping of tuple to Visited
        The best model with each combination of numbers of states that was looked at.
    """

    fit: Fit
    score: float
    memory: Mapping[str, Any] = field(default_factory=dict)
    operation: str = "start"
    accepted: bool = True
    reason: StopReason | None = None
    visited: Mapping[Key, Visited] = field(default_factory=dict)

    def considering(self, task: Task, operation: str, found: Fit | None, **memory: Any) -> LearnerState:
        """The state after an attempt: with the new model if that scores higher."""
        score = -np.inf if found is None else task.score(found)
        kept = {**self.memory, **memory}
        if found is None or not score > self.score:
            return replace(self, memory=kept, operation=operation, accepted=False)
        return replace(self, fit=found, score=score, memory=kept, operation=operation, accepted=True)

    def remembering(self, **memory: Any) -> LearnerState:
        """The state with other values in its memory."""
        return replace(self, memory={**self.memory, **memory})

    def with_visited(self, task: Task) -> LearnerState:
        """The state that also remembers the models which the task has scored."""
        visited = dict(self.visited)
        for own in scored_models(task):
            key = tuple(own.states.values())
            visited[key] = visited[key].joined(own) if key in visited else own
        return replace(self, visited=visited)

    def line(self, candidates: int = 1) -> Step:
        """The line of the trace; the structure stays, so that it names no edges, and of the nodes only the latent."""
        phase, _, kind = self.operation.partition(": ")
        fit, states = self.fit, MappingProxyType(states_of(self.fit))
        reached = (self.score, fit.log_likelihood, fit.n_parameters)
        return Step(0, phase, kind or phase, self.operation, *reached, candidates, 0.0, (), states)

    # ---- checkpoints -------------------------------------------------------------------------------------------

    def pack(self) -> dict[str, Any]:
        """Plain values and arrays, for a checkpoint."""
        return {
            "model": pack_model(self.fit.model),
            "score": self.score,
            "memory": dict(self.memory),
            "operation": self.operation,
            "accepted": self.accepted,
            "reason": None if self.reason is None else self.reason.value,
            "visited": [{**vars(own), "states": dict(own.states)} for own in self.visited.values()],
        }

    @classmethod
    def unpack(cls, task: Task, packed: Mapping[str, Any]) -> LearnerState:
        """Make the state again; the opposite of :meth:`pack`."""
        model = unpack_model(packed["model"], task.first.variables)
        states = [MappingProxyType(dict(sorted(own["states"].items()))) for own in packed["visited"]]
        visited = [Visited(**{**own, "states": k}) for own, k in zip(packed["visited"], states, strict=True)]
        return cls(
            evaluate(model, task.table, n_jobs=task.settings.n_jobs),
            float(packed["score"]),
            dict(packed["memory"]),
            str(packed["operation"]),
            bool(packed["accepted"]),
            None if packed["reason"] is None else StopReason.of(packed["reason"]),
            {tuple(own.states.values()): own for own in visited},
        )


class Learner(ABC):
    """An algorithm that learns numbers of states: a :class:`~latentree.method.Method` for a :class:`Task`.

    A learner of one's own defines :meth:`advance`, and :meth:`start` if it has something to remember; its options are a
    subclass of :class:`Settings`.
    """

    Options: ClassVar[type[Settings]] = Settings

    def __init__(self, options: Settings | None = None) -> None:
        self.options: Any = self.Options() if options is None else options

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Where to start: by default with EM from the task's first model."""
        return first_state(task, task.fit(task.first))

    @abstractmethod
    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """One attempt further."""

    def init(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """The state to start from."""
        task.scored.clear()
        return self.start(task, rng).with_visited(task)

    def step(self, task: Task, state: LearnerState, rng: np.random.Generator) -> tuple[LearnerState, Step]:
        """One attempt further, and the line of the trace."""
        task.scored.clear()
        after = self.advance(task, state, rng).with_visited(task)
        if task.resumable and task.clock.expired:  # perhaps broken off, so that going on from it would end elsewhere
            raise OutOfTime
        return after, after.line(len(scored_models(task)))

    def done(self, task: Task, state: LearnerState) -> StopReason | None:
        """Why it has come to its own end, or None to go on."""
        return state.reason


def scored_models(task: Task) -> list[Visited]:
    """The different models that a task has scored; those without a finite score are left out."""
    models = {(fit.n_parameters, fit.log_likelihood): Visited.of(fit, score) for fit, score in task.scored}
    return [own for own in models.values() if np.isfinite(own.score)]


def first_state(task: Task, fit: Fit, **memory: Any) -> LearnerState:
    """The state of a learner that starts from a fit."""
    return LearnerState(fit, task.score(fit), memory)
