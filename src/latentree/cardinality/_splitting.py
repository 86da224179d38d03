"""Splitting ([Karciauskas2005] procedure 4.1): split every state once at random, keep the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..estimation._fit import Fit
from ..method import Number, OneOf, option
from ._directions import DIRECTIONS, split_along
from ._learner import Learner, LearnerState
from ._procedures import best_of
from ._task import Settings, Task


@dataclass(frozen=True)
class SplittingOptions(Settings):
    """Those of all learners, with the splits of [Karciauskas2005] chapter 4."""

    p: float = option(0.1, Number(above=0, below=1), "length of a split's direction")
    direction: str = option("uniform", OneOf(*DIRECTIONS), "which way to split")


class Splitting(Learner):
    """Anytime: it tries to add a state for ever, and never takes one away. Give it a budget."""

    Options = SplittingOptions

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Lines 3-7."""
        tree = state.fit.model.tree
        names = [tree.names[z] for z in tree.latent if tree.cardinality[z] < task.max_states]
        found = best_of(task, (self._split_at(task, state.fit, name, rng) for name in names))
        return state.considering(task, "split", found)

    def _split_at(self, task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
        star, own = task.star(fit.model, node), task.settings
        states = star.states
        candidates = [
            split_along(own.direction, states, s, data, own.p, rng, clip=True)
            for s, data in enumerate(star.shares(states))
        ]
        models = [star.whole(states) for states in candidates]
        return task.restart(models[0], rng, starts=models)
