"""The standard ways ([Karciauskas2005] 4.2, 4.3, 6.2.2, 7.5-7.8): each number of states from random starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._model import Model
from ..estimation._fit import Fit
from ..method import AnyOf, OneOf, Whole, option
from ._learner import Learner, LearnerState, first_state
from ._procedures import best_of
from ._split_merge import SplitMerge
from ._task import Settings, Task


class Standard(Learner):
    """[Karciauskas2005] procedure 4.2: one random start with one state more, for ever. Anytime: give it a budget."""

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Lines 3-7."""
        return state.considering(task, "increment", _changed(task, state.fit, 1, 1, rng))


@dataclass(frozen=True)
class StandardFixedOptions(Settings):
    """Those of all learners, and the number of states of a latent class model; on a tree the skeleton says it."""

    n_states: int | None = option(None, AnyOf(Whole(1), OneOf(None)), "how many states")


class StandardFixed(Learner):
    """[Karciauskas2005] procedures 4.3 and 7.8: numbers of states are known; twice as many random starts every time.

    Anytime: give it a budget.
    """

    Options = StandardFixedOptions

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Lines 1-2."""
        fit = task.fit(task.first) if task.given else task.restart(task.first, rng, n_init=1)
        return first_state(task, fit, n_init=task.settings.n_splits)

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Lines 4-9."""
        n = int(state.memory["n_init"])
        found = task.restart(state.fit.model, rng, n_init=n)
        return state.considering(task, "restart", found, n_init=2 * n)


class Standard3(SplitMerge):
    """[Karciauskas2005] 6.2.2 and 7.5-7.7: three phases as in SplitMerge, each model learned from random starts."""

    names = ("increment", "decrement", "new parameters")

    def increase(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCIncrement (7.5)."""
        return _changed(task, fit, 1, task.settings.n_init, rng)

    def decrease(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCDecrement (7.6)."""
        return _changed(task, fit, -1, task.settings.n_init, rng)

    def adjust(self, task: Task, fit: Fit, rng: np.random.Generator, enough: float) -> Fit | None:
        """HLCNewParams (7.7)."""
        found = task.restart(fit.model, rng, n_init=task.settings.n_init)
        return found if task.score(found) > enough else None


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
