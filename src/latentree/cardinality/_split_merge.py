"""Learners that split states: SplitMerge ([Karciauskas2005] procedures 6.1, 7.1) and Splitting (4.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..estimation._fit import Fit
from ..method import Number, OneOf, option
from ..runner import StopReason
from . import _procedures as procedures
from ._directions import DIRECTIONS, split_along
from ._learner import Learner, LearnerState, first_state
from ._task import Settings, Task


class SplitMerge(Learner):
    """Grow by splitting, shrink by merging, adjust by both: a step is one attempt in one of the phases.

    ``due`` are the phases (1 grow, 2 shrink) still to be run, the first of them being under way. A phase goes on while
    its attempts are accepted ("until L != L'" means that), and calls for the other one when it has improved the
    model. With none due the parameters are adjusted once; then all begins again, or ends.
    """

    names = ("split", "merge", "adjust")

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Lines 1-2."""
        return first_state(task, task.fit(task.first), due=[1, 2], improved=False)

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Lines 3-38, one attempt at a time."""
        due: list[int] = list(state.memory["due"])
        if due:
            phase = due[0]
            attempt = self.increase if phase == 1 else self.decrease
            after = state.considering(task, self.names[phase - 1], attempt(task, state.fit, rng))
            if after.accepted:
                return _remember(after, due, improved=True)
            called = [3 - phase] if state.memory["improved"] and 3 - phase not in due else []
            due = [*due[1:], *called]
            ended = not due and not task.settings.adjust
            return _remember(after, due, improved=False, ended=ended)
        found = self.adjust(task, state.fit, rng, state.score + task.settings.delta)
        after = state.considering(task, self.names[2], found)
        return _remember(after, [1, 2], improved=False, ended=not after.accepted)

    def increase(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCSplit (7.2)."""
        return procedures.split(task, fit, rng)

    def decrease(self, task: Task, fit: Fit, rng: np.random.Generator) -> Fit | None:
        """HLCMerge (7.3)."""
        return procedures.merge(task, fit, rng)

    def adjust(self, task: Task, fit: Fit, rng: np.random.Generator, enough: float) -> Fit | None:
        """HLCAdjust (7.4)."""
        return procedures.adjust(task, fit, rng, enough)


def _remember(state: LearnerState, due: list[int], *, improved: bool, ended: bool = False) -> LearnerState:
    memory = {**state.memory, "due": due, "improved": improved}
    return replace(state, memory=memory, reason=StopReason.EXHAUSTED if ended else None)


@dataclass(frozen=True)
class SplittingOptions(Settings):
    """Those of all learners, with the splits of [Karciauskas2005] chapter 4."""

    p: float = option(0.1, Number(above=0, below=1), "length of a split's direction")
    direction: str = option("uniform", OneOf(*DIRECTIONS), "which way to split")


class Splitting(Learner):
    """Split every state once at random, keep the best; for ever, without taking any away. Give it a budget."""

    Options = SplittingOptions

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Lines 3-7."""
        names = procedures.growing(task, state.fit)
        found = procedures.best_of(task, (self._split_at(task, state.fit, name, rng) for name in names))
        return state.considering(task, "split", found)

    def _split_at(self, task: Task, fit: Fit, node: str, rng: np.random.Generator) -> Fit:
        star, own = task.star(fit.model, node), task.settings
        states = star.states
        candidates = [
            split_along(own.direction, states, s, data, own.p, rng, clip=True)
            for s, data in enumerate(star.shares(states))
        ]
        return task.restart_from(star, candidates, rng)
