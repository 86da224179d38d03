"""Starts: states drawn from nothing but the data, or known ones that are blurred, and what they lead to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._screening import following
from ._states import States, flat_states
from ._task import Task

BLUR = 0.5, 0.8
"""Range of the share of what is random in blurred states. Below, EM goes back to where it came from; above, it forgets
what was known."""


def run_starts(
    task: Task, star: Neighbourhood, k: int, n: int, finalists: int, rng: np.random.Generator
) -> tuple[States, FloatArray]:
    """EM from ``n`` independent starts with ``k`` states, the most promising run to the end.

    Returns the best states, and the log-likelihood that each of the finalists reached.
    """
    runs = task.run_states(star, drawn_starts(star, k, n, rng), finalists=finalists)
    best = int(np.argmax(runs.objectives))
    reached = np.array([runs.counts(i).log_likelihood for i in range(len(runs))])
    return States.of(runs.parameters(best), star.widths), reached


def drawn_starts(star: Neighbourhood, k: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw flat vectors of ``k`` states: half built around as many different rows each, half uniform on the simplex."""
    near = (n + 1) // 2
    overall = star.states.sizes @ star.states.profiles
    rows = _different_rows(star.weights, k, near, rng)
    around = following(star, overall, rows.ravel()).reshape(near, k, -1)
    sizes, drawn = _uniform(star, k, n - near, rng)
    sizes = np.vstack([np.full((near, k), 1.0 / k), sizes])
    return flat_states(sizes, np.concatenate([around, drawn]), star.widths)


def blurred_starts(star: Neighbourhood, states: States, n: int, rng: np.random.Generator) -> FloatArray:
    """Flat vectors of states near the given ones: each is mixed with one that is uniform on the simplex."""
    share = rng.uniform(*BLUR, size=(n, 1))
    sizes, profiles = _uniform(star, states.n, n, rng)
    sizes = (1 - share) * states.sizes + share * sizes
    profiles = (1 - share[:, :, None]) * states.profiles + share[:, :, None] * profiles
    return flat_states(sizes, profiles, star.widths)


def _uniform(star: Neighbourhood, k: int, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Sizes and profiles of ``n`` times ``k`` states, uniform on the simplex."""
    drawn = rng.standard_exponential((n, k, sum(star.widths)))
    sums = np.add.reduceat(drawn, star.begin, axis=2)
    return rng.dirichlet(np.ones(k), n), drawn / np.repeat(sums, star.widths, axis=2)


def _different_rows(weights: FloatArray, k: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw ``n`` times ``k`` different rows by their weights (the largest of exponential races, as many as asked)."""
    race = rng.standard_exponential((n, len(weights))) / weights
    return np.argpartition(race, k - 1, axis=1)[:, :k]
