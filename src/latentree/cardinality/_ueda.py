"""Ueda, Nakano, Ghahramani & Hinton (2000) as K 3.3 tells it: split one state and merge two others, again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._model import Model
from .._types import FloatArray
from ..errors import bad_parameter
from ..runner import StopReason
from ._directions import DIRECTIONS
from ._neighbourhood import Neighbourhood
from ._progress import Position
from ._states import States
from ._task import Task

__all__ = ["Ueda"]


@dataclass(frozen=True)
class Ueda:
    """Better parameters for a fixed number of states.

    A pair is promising for merging when many rows belong to both, a state for splitting when its data are far from its
    distribution. The first candidate that raises the likelihood after EM is taken; the end comes when none of the
    first few does.

    Attributes
    ----------
    n_states : int
        How many states.
    candidates : int
        How many are tried.
    """

    n_states: int | None = None
    candidates: int = 5

    def __post_init__(self) -> None:
        if int(self.candidates) != self.candidates or self.candidates < 1:
            raise bad_parameter("candidates", "Ueda", "a whole number of at least 1", self.candidates)

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Fit the model given, or from one random start."""
        task.only_latent(model)
        fit = task.fit(model) if given else task.restart(model, rng, n_init=1)
        return Position(fit, task.score(fit))

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """Take the first promising candidate that helps."""
        star = task.star(at.fit.model, task.only_latent(at.fit.model))
        states, settings = star.states, task.settings
        way = DIRECTIONS[settings.direction]
        for s, a, b in _promising(star, states)[: self.candidates]:
            moved = states.split(s, way(star, states.profiles[s], settings.p, rng)).merge(a, b)
            found = task.settled(star, moved)
            if found.log_likelihood > at.fit.log_likelihood + settings.tol:
                return at.tried(task, "split and merge", found)
        return replace(at, operation="split and merge", accepted=False, reason=StopReason.EXHAUSTED)


def _promising(star: Neighbourhood, states: States) -> list[tuple[int, int, int]]:
    """A state to split and two others to merge: pairs by how alike their posteriors are, then states by distance."""
    log_joint = star.log_joint(states)
    posterior = np.nan_to_num(np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=1)[:, None]))
    alike = (posterior * star.weights[:, None]).T @ posterior
    a, b = np.triu_indices(states.n, 1)
    order = np.argsort(-alike[a, b], kind="stable")
    splits = np.argsort(-_distances(star, states, log_joint, posterior), kind="stable").tolist()
    return [(s, int(a[i]), int(b[i])) for i in order for s in splits if s not in (a[i], b[i])]


def _distances(star: Neighbourhood, states: States, log_joint: FloatArray, posterior: FloatArray) -> FloatArray:
    """KL divergence of each state's data from its distribution."""
    mass = star.weights[:, None] * posterior
    share = mass / np.maximum(mass.sum(axis=0), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(share) - (log_joint - np.log(states.sizes))
    out: FloatArray = np.where(share > 0, share * off, 0.0).sum(axis=0)
    return out
