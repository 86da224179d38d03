"""Ueda, Nakano, Ghahramani & Hinton (2000), as in [Karciauskas2005] 3.3: split one state and merge two others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._types import FloatArray
from ..method import AnyOf, OneOf, Whole, option
from ..runner import StopReason
from ._directions import split_along
from ._learner import Learner, LearnerState, first_state
from ._neighbourhood import Neighbourhood, posterior_of
from ._states import States
from ._task import Settings, Task


@dataclass(frozen=True)
class UedaOptions(Settings):
    """Those of all learners, and two more."""

    n_states: int | None = option(None, AnyOf(Whole(1), OneOf(None)), "how many states")  # how many states
    candidates: int = option(5, Whole(1), "how many candidates are tried")  # how many are tried


class Ueda(Learner):
    """Better parameters for a fixed number of states.

    A pair is promising for merging when many rows belong to both, a state for splitting when its data are far from its
    distribution. The first candidate that raises the likelihood after EM is taken; the end comes when none of the
    first few does.
    """

    Options = UedaOptions

    def start(self, task: Task, rng: np.random.Generator) -> LearnerState:
        """Fit the model given, or from one random start."""
        model = task.first
        task.only_latent(model)
        return first_state(task, task.fit(model) if task.given else task.restart(model, rng, n_init=1))

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Take the first promising candidate that helps."""
        star = task.star(state.fit.model, task.only_latent(state.fit.model))
        states, own = star.states, self.options
        posterior, promising = _promising(star, states)
        for s, a, b in promising[: own.candidates]:
            data = star.share(star.weights * posterior[:, s])
            moved = split_along(own.direction, states, s, data, own.p, rng).merge(a, b)
            found = task.fit_from(star, moved)
            if found.log_likelihood > state.fit.log_likelihood + own.tol:
                return state.considering(task, "split and merge", found)
        return replace(state, operation="split and merge", accepted=False, reason=StopReason.EXHAUSTED)


def _promising(star: Neighbourhood, states: States) -> tuple[FloatArray, list[tuple[int, int, int]]]:
    """P(state | row), and states to split with two others to merge, the most promising first.

    Pairs are ranked by how alike their posteriors are, then states by distance.
    """
    log_joint = star.log_joint(states)
    posterior = posterior_of(log_joint)
    alike = (posterior * star.weights[:, None]).T @ posterior
    a, b = np.triu_indices(states.n, 1)
    order = np.argsort(-alike[a, b], kind="stable")
    splits = np.argsort(-_distances(star, states, log_joint, posterior), kind="stable").tolist()
    return posterior, [(s, int(a[i]), int(b[i])) for i in order for s in splits if s not in (a[i], b[i])]


def _distances(star: Neighbourhood, states: States, log_joint: FloatArray, posterior: FloatArray) -> FloatArray:
    """KL divergence of each state's data from its distribution."""
    mass = star.weights[:, None] * posterior
    share = mass / np.maximum(mass.sum(axis=0), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.log(share) - (log_joint - np.log(states.sizes))
    out: FloatArray = np.where(share > 0, share * off, 0.0).sum(axis=0)
    return out
