"""The standard ways (K procedures 4.2, 4.3, 6.2.2, 7.5-7.8): every number of states is learned from random starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._model import Model
from ..estimation._fit import Fit
from ._procedures import best_of
from ._progress import Position
from ._split_merge import ThreePhases
from ._task import Task

__all__ = ["Standard", "Standard3", "StandardFixed"]


class Standard:
    """K procedure 4.2: one random start with one state more, again and again. Anytime: give it a budget."""

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Fit the model it begins with."""
        fit = task.fit(model)
        return Position(fit, task.score(fit))

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """Lines 3-7."""
        return at.tried(task, "increment", _changed(task, at.fit, 1, 1, rng))


@dataclass(frozen=True)
class StandardFixed:
    """K procedures 4.3 and 7.8: numbers of states are known; twice as many random starts every time.

    Anytime: give it a budget. ``n_states`` is for a latent class model; on a tree the skeleton says it.
    """

    n_states: int | None = None

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Lines 1-2."""
        fit = task.fit(model) if given else task.restart(model, rng, n_init=1)
        return Position(fit, task.score(fit), {"n_init": task.settings.n_splits})

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """Lines 4-9."""
        n = int(at.memory["n_init"])
        return at.tried(task, "restart", task.restart(at.fit.model, rng, n_init=n), n_init=2 * n)


class Standard3(ThreePhases):
    """K 6.2.2 and 7.5-7.7: three phases as in SplitMerge, each model learned from random starts."""

    names = ("increment", "decrement", "new parameters")

    def increase(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCIncrement (7.5)."""
        return _changed(task, fit, 1, task.settings.n_init, rng)

    def decrease(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCDecrement (7.6)."""
        return _changed(task, fit, -1, task.settings.n_init, rng)

    def adjust(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCNewParams (7.7)."""
        found = task.restart(fit.model, rng, n_init=task.settings.n_init)
        return found if task.score(found) > task.score(fit) + task.settings.delta else None


def _changed(task: Task, fit: Fit, by: int, n_init: int, rng: np.random.Generator) -> Fit | None:
    """Learn from random starts, for each latent node in turn, with that many states more; the best."""
    tree = fit.model.tree
    sizes = {int(z): int(tree.cardinality[z]) + by for z in tree.latent}
    possible = [z for z, k in sizes.items() if 1 <= k <= task.max_states]
    return best_of(task, (task.restart(_blank(fit.model, z, sizes[z]), rng, n_init=n_init) for z in possible))


def _blank(model: Model, node: int, n_states: int) -> Model:
    tree = model.tree.with_cardinality(node, n_states)
    even = np.repeat(1.0 / tree.cardinality, tree.rows * tree.cardinality)
    return Model(tree, model.variables, even)
