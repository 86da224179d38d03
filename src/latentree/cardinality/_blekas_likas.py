"""Blekas & Likas (2004), as in [Karciauskas2005] 3.3: one state after the other, each begun at a part of the data.

The states found so far keep their profiles and relative sizes while EM learns the size and the profile of a new one
(partial EM). It begins at the part of the data at which the likelihood is highest. The partition here divides, again
and again, the part with the most cases, by the value that comes nearest to half of it. Whether EM of all states follows
is not said of the authors' program; here it does, unless ``whole`` is false.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..method import Flag, Whole, option
from ..runner import StopReason
from ._learner import Learner, LearnerState
from ._neighbourhood import Neighbourhood
from ._rows import TINY, Rows
from ._states import FLOOR, States
from ._task import Settings, Task


@dataclass(frozen=True)
class BlekasLikasOptions(Settings):
    """Those of all learners, and two more."""

    parts: int = option(64, Whole(1), "parts of the data, at each of which a new state may begin")
    whole: bool = option(True, Flag(), "whether EM of all states follows that of the new one")


class BlekasLikas(Learner):
    """Add a state while that raises the score. For latent class models, or one latent node of a tree."""

    Options = BlekasLikasOptions

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """One state more, or the end."""
        model = state.fit.model
        star, own = task.star(model, task.only_latent(model)), self.options
        if star.states.n >= task.max_states:
            return replace(state, operation="add", accepted=False, reason=StopReason.EXHAUSTED)
        states = with_new_state(task, star, partition(star, own.parts))
        found = task.fit_from(star, states) if own.whole else task.evaluate(star, states)
        after = state.considering(task, "add", found)
        return after if after.accepted else replace(after, reason=StopReason.EXHAUSTED)


def partition(star: Neighbourhood, parts: int) -> list[NDArray[np.intp]]:
    """Divide the rows: the part with the most cases by the value nearest to half of it, until there are so many."""
    seen, weights = star.indicators()[0], star.weights
    found = [np.arange(len(weights))]
    closed: list[NDArray[np.intp]] = []
    while found and len(found) + len(closed) < parts:
        largest = found.pop(int(np.argmax([weights[rows].sum() for rows in found])))
        shares = weights[largest] @ seen[largest] / weights[largest].sum()
        has = seen[largest, int(np.argmin(np.abs(shares - 0.5)))] > 0.5
        if has.all() or not has.any():
            closed.append(largest)  # alike as far as can be told
        else:
            found += [largest[has], largest[~has]]
    return found + closed


def with_new_state(task: Task, star: Neighbourhood, parts: list[NDArray[np.intp]]) -> States:
    """The states and a new one: the best part's profile, after partial EM."""
    states, rows, weights = star.states, Rows(star), star.weights
    logs = np.column_stack([rows.log_likelihood(profile) for profile in states.profiles])
    with np.errstate(divide="ignore"):
        old = np.logaddexp.reduce(logs + np.log(states.sizes), axis=1)
    total = weights.sum()
    overall = states.sizes @ states.profiles

    def joined(size: float, profile: FloatArray) -> tuple[FloatArray, FloatArray]:
        own = rows.log_likelihood(profile) + np.log(size)
        both: FloatArray = np.logaddexp(np.log1p(-size) + old, own)
        return both, np.exp(own - both)

    starts = []
    for part in parts:
        own = np.zeros(len(weights))
        own[part] = weights[part]
        size = min(max(float(own.sum() / total), FLOOR), 0.5)
        profile = (1 - 1e-3) * rows.profile(own, overall) + 1e-3 * overall
        starts.append((float(weights @ joined(size, profile)[0]), size, profile))
    _, size, profile = max(starts, key=lambda start: start[0])
    before = -np.inf
    for _ in range(task.settings.max_iterations):
        both, posterior = joined(size, profile)
        value = float(weights @ both)
        if value - before < task.settings.tol or task.clock.expired:
            break
        before = value
        own = weights * posterior
        size = float(np.clip(own.sum() / total, FLOOR, 1 - FLOOR))
        profile = (1 - FLOOR) * rows.profile(own, profile) + FLOOR * overall
    return states.introduce(np.maximum(profile, TINY), size)
