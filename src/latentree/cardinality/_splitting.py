"""Splitting (K procedure 4.1): split every state once at random, keep the best."""

from __future__ import annotations

import numpy as np

from .._model import Model
from ..estimation._fit import Fit
from ._directions import DIRECTIONS
from ._procedures import best_of
from ._progress import Position
from ._task import Task

__all__ = ["Splitting"]


class Splitting:
    """Anytime: it tries to add a state for ever, and never takes one away. Give it a budget."""

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Fit the model it begins with."""
        fit = task.fit(model)
        return Position(fit, task.score(fit))

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """Lines 3-7."""
        tree = at.fit.model.tree
        names = [tree.names[z] for z in tree.latent if tree.cardinality[z] < task.max_states]
        return at.tried(task, "split", best_of(task, (self._split_at(task, at.fit, name, rng) for name in names)))

    def _split_at(self, task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
        star, settings = task.star(fit.model, node), task.settings
        way, states = DIRECTIONS[settings.direction], star.states
        models = [star.whole(states.split(s, way(star, states.profiles[s], settings.p, rng))) for s in range(states.n)]
        return task.restart(models[0], rng, starts=models)
