"""Independent starts: states drawn from nothing but the data, and what they lead to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._screening import following
from ._states import States, flat_states
from ._task import Task


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
    drawn = rng.standard_exponential((n - near, k, sum(star.widths)))
    sums = np.add.reduceat(drawn, star.begin, axis=2)
    drawn /= np.repeat(sums, star.widths, axis=2)
    sizes = np.vstack([np.full((near, k), 1.0 / k), rng.dirichlet(np.ones(k), n - near)])
    return flat_states(sizes, np.concatenate([around, drawn]), star.widths)


def _different_rows(weights: FloatArray, k: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw ``n`` times ``k`` different rows by their weights (the largest of exponential races, as many as asked)."""
    race = rng.standard_exponential((n, len(weights))) / weights
    return np.argpartition(race, k - 1, axis=1)[:, :k]
