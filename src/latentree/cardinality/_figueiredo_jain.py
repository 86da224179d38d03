"""Figueiredo & Jain (2002), as in [Karciauskas2005] 3.3: begin with too many states and let the needless ones die.

EM is component-wise: one state after the other gets a new size and profile, with posteriors computed anew in between.
When a state dies, its rows go to the others at once. Updating all states together would let all of them die when none
has enough rows to begin with. As in the authors' program, states begin around rows of the data, and the new size of a
state is normalised together with the old sizes of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..method import Whole, option
from ..runner import StopReason
from ._learner import Learner, LearnerState, first_state
from ._neighbourhood import Neighbourhood, posterior_of
from ._rounds import new_states
from ._rows import TINY, Rows
from ._states import States
from ._task import Settings, Task


@dataclass(frozen=True)
class FigueiredoJainOptions(Settings):
    """Those of all learners, and one more."""

    n_states: int = option(25, Whole(1), "states to begin with; no more than distinct rows")


class FigueiredoJain(Learner):
    """EM whose M-step takes half a state's parameters from its expected cases; a state left with none is removed.

    A step goes to convergence, judges the model by EM without that penalty, and removes the smallest state; the end
    comes with one state. For latent class models, or one latent node of a tree.
    """

    Options = FigueiredoJainOptions

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Fit the first model, and build as many states as there shall be around rows of the data."""
        node = task.only_latent(task.first)
        given = task.star(task.first, node).states
        fit = task.fit(task.first)
        star = task.star(fit.model, node)
        n = min(self.options.n_states, task.max_states)
        states = given if task.given and given.n > 1 else new_states(star, star.states, n, rng)
        return first_state(task, fit, states=states.flat)

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Converge, judge, remove the smallest."""
        star = task.star(state.fit.model, task.only_latent(state.fit.model))
        states = component_wise_em(task, star, States.of(np.asarray(state.memory["states"]), star.widths))
        after = state.considering(task, "annihilate", task.fit_from(star, states.smoothed()))
        if states.n == 1:
            return replace(after, reason=StopReason.EXHAUSTED)
        fewer = states.remove(int(np.argmin(states.sizes)))
        return replace(after, memory={"states": fewer.flat})


def component_wise_em(task: Task, star: Neighbourhood, states: States) -> States:
    """EM, one state at a time, where the sizes have a Dirichlet prior of minus half the parameters of a state.

    It ends when a sweep removes no state and changes the log-likelihood by less than the tolerance.
    """
    price = sum(w - 1 for w in star.widths) / 2
    rows, total = Rows(star), star.weights.sum()
    logs = np.column_stack([rows.log_likelihood(profile) for profile in states.profiles])
    before = -np.inf
    for _ in range(task.settings.max_iterations):
        n_before, s = states.n, 0
        while s < states.n:
            posterior = posterior_of(logs + np.log(np.maximum(states.sizes, TINY)))
            left = max(float(star.weights @ posterior[:, s]) - price, 0.0)
            if left == 0.0 and states.n > 1:
                states, logs = states.remove(s), np.delete(logs, s, axis=1)
                continue
            sizes, profiles = states.sizes.copy(), states.profiles.copy()
            sizes[s] = left / total if left > 0 else 1.0
            profiles[s] = rows.profile(star.weights * posterior[:, s], profiles[s])
            states = States(sizes / sizes.sum(), profiles, states.widths)
            logs[:, s] = rows.log_likelihood(profiles[s])
            s += 1
        value = float(star.weights @ np.logaddexp.reduce(logs + np.log(np.maximum(states.sizes, TINY)), axis=1))
        if states.n == n_before and abs(value - before) < task.settings.tol:
            break
        before = value
        if task.clock.expired:
            break
    return states
