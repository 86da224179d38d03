"""Introducing and removing states ([Karciauskas2005] 4.1, 5.1), which Karciauskas names but does not build upon.

The phases are those of SplitMerge; a state is introduced instead of split from another, and removed instead of merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..estimation._fit import Fit
from ..method import Number, OneOf, option
from ._procedures import best_of, growing
from ._screening import around_rows
from ._split_merge import SplitMerge
from ._task import Settings, Task


@dataclass(frozen=True)
class IntroduceRemoveOptions(Settings):
    """Those of all learners, with the size of a new state in [Karciauskas2005] 4.4.1."""

    p: float = option(0.01, Number(above=0, below=1), "size of a new state")
    new: str = option(
        "uniform", OneOf("uniform", "rows"), "profile of a new state: uniform, or n_splits of them around rows"
    )


class IntroduceRemove(SplitMerge):
    """Grow by introducing a state, shrink by removing one, adjust by both, at every latent node of a tree."""

    Options = IntroduceRemoveOptions
    names = ("introduce", "remove", "adjust")

    def increase(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """One state more for the latent node where that scores highest; None if none can have more."""
        return best_of(task, (self._introduced(task, fit, name, rng) for name in growing(task, fit)))

    def decrease(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """One state less for the latent node where that scores highest; None if all have only one."""
        return best_of(task, (_removed(task, fit, name, rng) for name in _shrinking(fit)))

    def adjust(self, task: Task, fit: Fit, rng: np.random.Generator, enough: float) -> Fit | None:
        """The first latent node at which both changes together score above ``enough``; None if none does."""
        for found in self._adjusted(task, fit, rng):
            if task.score(found) > enough:
                return found
        return None

    def _adjusted(self, task: Task, fit: Fit, rng: np.random.Generator) -> Iterable[Fit]:
        able = growing(task, fit)
        for name in _shrinking(fit):
            yield self._introduced(task, _removed(task, fit, name, rng), name, rng)
            if name in able:
                yield _removed(task, self._introduced(task, fit, name, rng), name, rng)

    def _introduced(self, task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
        """EM from the states with one more (definition 4.1)."""
        star, own = task.star(fit.model, node), self.options
        if own.new == "uniform":
            return task.fit_from(star, star.states.introduce(p=own.p))
        overall = star.states.sizes @ star.states.profiles
        new = around_rows(star, overall, rng, own.n_splits)
        return task.restart_from(star, [star.states.introduce(profile, own.p) for profile in new], rng)


def _shrinking(fit: Fit) -> list[str]:
    tree = fit.model.tree
    return [tree.names[z] for z in tree.latent if tree.cardinality[z] > 1]


def _removed(task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
    """Multiple restart EM from all states but one (definition 5.1)."""
    star = task.star(fit.model, node)
    fewer = [star.states.remove(s).smoothed() for s in range(star.states.n)]
    return task.restart_from(star, fewer, rng, q=task.settings.q_merge)
