"""SplitMerge ([Karciauskas2005] procedure 6.1) and HLCSplitMerge (7.1): grow, shrink, adjust, until nothing helps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..estimation._fit import Fit
from ..runner import StopReason
from . import _procedures as procedures
from ._learner import Learner, LearnerState, first_state
from ._task import Task


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
