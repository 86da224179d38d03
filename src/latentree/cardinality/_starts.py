"""Independent starts: states drawn from nothing but the data, and what they lead to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._screening import following
from ._states import States, blocks_of, flat_states
from ._task import Task


@dataclass(frozen=True, eq=False)
class Ends:
    """What became of some starts with one number of states.

    Attributes
    ----------
    states : States
        The best.
    log_likelihoods : float array
        Of all that were run to the end.
    """

    states: States
    log_likelihoods: FloatArray


def run_starts(task: Task, star: Neighbourhood, k: int, n: int, finalists: int, rng: np.random.Generator) -> Ends:
    """Run EM from ``n`` independent starts with ``k`` states, the most promising of them to the end."""
    runs = task.run_states(star, drawn_starts(star, k, n, rng), finalists=finalists)
    best = int(np.argmax(runs.objectives))
    reached = np.array([runs.counts(i).log_likelihood for i in range(len(runs))])
    return Ends(States.of(runs.parameters(best), star.widths), reached)


def drawn_starts(star: Neighbourhood, k: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw flat vectors of ``k`` states: half built around as many different rows each, half uniform on the simplex."""
    near = (n + 1) // 2
    overall = star.states.sizes @ star.states.profiles
    rows = _different_rows(star.weights, k, near, rng)
    around = following(star, overall, rows.ravel()).reshape(near, k, -1)
    drawn = rng.standard_exponential((n - near, k, sum(star.widths)))
    sums = np.add.reduceat(drawn, [b.start for b in blocks_of(star.widths)], axis=2)
    drawn /= np.repeat(sums, star.widths, axis=2)
    sizes = np.vstack([np.full((near, k), 1.0 / k), rng.dirichlet(np.ones(k), n - near)])
    return flat_states(sizes, np.concatenate([around, drawn]), star.widths)


def _different_rows(weights: FloatArray, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``n`` times ``k`` different rows by their weights (the largest of exponential races, as many as asked)."""
    race = rng.standard_exponential((n, len(weights))) / weights
    return np.argpartition(race, k - 1, axis=1)[:, :k]
