"""Figueiredo & Jain (2002) as K 3.3 tells it: begin with too many states and let the needless ones die."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._model import Model
from ..errors import bad_parameter
from ..runner import StopReason
from ._neighbourhood import Neighbourhood
from ._progress import Position
from ._states import FLOOR, States
from ._task import Task

__all__ = ["FigueiredoJain"]


@dataclass(frozen=True)
class FigueiredoJain:
    """EM whose M-step takes half a state's parameters from its expected cases; a state left with none is removed.

    A step goes to convergence, judges the model by EM without that penalty, and removes the smallest state; the end
    comes with one state. For latent class models, or one latent node of a tree.

    Attributes
    ----------
    n_states : int
        How many states to begin with; no more than distinct rows.
    """

    n_states: int = 25

    def __post_init__(self) -> None:
        if int(self.n_states) != self.n_states or self.n_states < 1:
            raise bad_parameter("n_states", "FigueiredoJain", "a whole number of at least 1", self.n_states)

    def begin(self, task: Task, model: Model, rng: np.random.Generator, *, given: bool) -> Position:
        """Fit the model it begins with, and draw as many states as there shall be."""
        star = task.star(model, task.only_latent(model))
        n = min(self.n_states, task.max_states)
        states = star.states if given and star.states.n > 1 else _drawn(star, n, rng)
        fit = task.fit(model)
        return Position(fit, task.score(fit), {"states": states.flat})

    def step(self, task: Task, at: Position, rng: np.random.Generator) -> Position:
        """Converge, judge, remove the smallest."""
        star = task.star(at.fit.model, task.only_latent(at.fit.model))
        states = _annihilated(task, star, States.of(np.asarray(at.memory["states"]), star.widths))
        after = at.tried(task, "annihilate", task.settled(star, states))
        if states.n == 1:
            return replace(after, reason=StopReason.EXHAUSTED)
        fewer = _doubted(states.remove(int(np.argmin(states.sizes))))
        return replace(after, memory={"states": fewer.flat})


def _drawn(star: Neighbourhood, n: int, rng: np.random.Generator) -> States:
    rows = [rng.dirichlet(np.ones(w), size=n) for w in star.widths]
    return States(np.full(n, 1.0 / n), np.hstack(rows), star.widths)


def _annihilated(task: Task, star: Neighbourhood, states: States) -> States:
    """EM with the sizes' prior of exponent minus half the parameters of a state."""
    price = sum(w - 1 for w in star.widths) / 2
    before = -np.inf
    for _ in range(task.settings.max_iterations):
        counts = star.plan(states.n).evaluate(states.flat, n_jobs=task.settings.n_jobs)
        expected = States.of(counts.vector, star.widths)
        left = np.maximum(expected.sizes - price, 0.0)
        if not left.any():  # too few cases for any: the largest stays
            left[np.argmax(expected.sizes)] = 1.0
        alive = left > 0
        states = _maximised(replace(expected, sizes=left[alive], profiles=expected.profiles[alive]), states, alive)
        states = states if alive.all() else _doubted(states)
        if alive.all() and counts.log_likelihood - before < task.settings.tol:
            break
        before = counts.log_likelihood if alive.all() else -np.inf
        if task.clock.expired:
            break
    return states


def _doubted(states: States) -> States:
    """No value ruled out: rows that only a state that died could explain must remain possible."""
    even = np.repeat(1.0 / np.array(states.widths), states.widths)
    return replace(states, profiles=(1 - FLOOR) * states.profiles + FLOOR * even)


def _maximised(expected: States, before: States, alive: NDArray[np.bool_]) -> States:
    profiles = before.profiles[alive].copy()
    for b in expected.blocks:
        total = expected.profiles[:, b].sum(axis=1, keepdims=True)
        np.divide(expected.profiles[:, b], total, out=profiles[:, b], where=total > 0)
    return States(expected.sizes / expected.sizes.sum(), profiles, expected.widths)
