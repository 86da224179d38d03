"""Point estimates by loss functions that know no labels, minimised by annealing.

Celeux, Hurn & Robert; see [Whiley1999, section 5.3.1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import exp, prod

import numpy as np
from scipy.optimize import minimize

from .._types import FloatArray, IndexArray
from ..errors import DataError, bad_parameter
from ._draws import ClassDraws

MOST_PATTERNS = 2**16


@dataclass(frozen=True, eq=False)
class PointEstimate:
    """One model that stands for all the draws.

    Attributes
    ----------
    weights : float array [k]
        Class sizes, the largest first.
    theta : float array [k, cells]
        P(state | class).
    loss : float
        What was minimised, up to a constant.
    """

    weights: FloatArray
    theta: FloatArray
    loss: float


def delta_loss(
    draws: ClassDraws, *, rng: np.random.Generator, n_points: int = 400, n_steps: int = 20_000
) -> PointEstimate:
    """Minimise the expected squared difference of Baddeley's Delta metric.

    A class is a point (size, probabilities). The first half of the draws gives places t_i, a class of each at random;
    the second half the expected distance g_i from t_i to the nearest class. The estimate minimises
    sum_i d(t_i)^2 - 2 g_i d(t_i).

    Parameters
    ----------
    draws : ClassDraws
        Models with the same number of classes; labels do not matter.
    rng : numpy.random.Generator
        Source of the places and of the annealing.
    n_points : int
        Most places t_i.
    n_steps : int
        Steps of the annealing.
    """
    half = _at_least_two(draws) // 2
    shown = rng.choice(half, size=min(n_points, half), replace=False)
    places = _points(draws.weights[shown], draws.theta[shown], draws.offsets)[
        np.arange(len(shown)), rng.integers(0, draws.k, size=len(shown))
    ]
    second = _points(draws.weights[half:], draws.theta[half:], draws.offsets)
    expected = np.mean([_nearest(places, own) for own in second], axis=0)

    def energy(weights: FloatArray, theta: FloatArray) -> float:
        d = _nearest(places, _points(weights[None], theta[None], draws.offsets)[0])
        return float(d @ d - 2 * expected @ d)

    return _annealed(draws, energy, rng, n_steps)


def predictive_loss(draws: ClassDraws, *, rng: np.random.Generator, n_steps: int = 20_000) -> PointEstimate:
    """Minimise the expected squared difference of the probabilities of all patterns.

    Parameters
    ----------
    draws : ClassDraws
        Models with the same number of classes; labels do not matter.
    rng : numpy.random.Generator
        Source of the annealing.
    n_steps : int
        Steps of the annealing.
    """
    _at_least_two(draws)
    cardinalities = draws.table.cardinalities.tolist()
    if prod(cardinalities) > MOST_PATTERNS:
        raise DataError(
            f"The variables have {prod(cardinalities):,} patterns; the predictive loss sums over all of them, at most "
            f"{MOST_PATTERNS:,}. Use fewer variables, or relabel the draws."
        )
    patterns = np.array(list(product(*map(range, cardinalities)))) + draws.offsets[:-1]
    expected = np.mean([_mixture(w, t, patterns) for w, t in zip(draws.weights, draws.theta, strict=True)], axis=0)

    def energy(weights: FloatArray, theta: FloatArray) -> float:
        f = _mixture(weights, theta, patterns)
        return float(f @ f - 2 * expected @ f)

    return _annealed(draws, energy, rng, n_steps)


def _at_least_two(draws: ClassDraws) -> int:
    if len(draws) < 2:
        raise bad_parameter("draws", "a loss function", "at least two draws", len(draws))
    return len(draws)


def _points(weights: FloatArray, theta: FloatArray, offsets: IndexArray) -> FloatArray:
    """Classes as points: the size, and the probabilities without the first of each variable."""
    kept = np.setdiff1d(np.arange(theta.shape[-1]), offsets[:-1])
    return np.concatenate([weights[..., None], theta[..., kept]], axis=-1)


def _nearest(places: FloatArray, classes: FloatArray) -> FloatArray:
    squares = (places**2).sum(axis=1)[:, None] - 2 * places @ classes.T + (classes**2).sum(axis=1)
    distance: FloatArray = np.sqrt(np.maximum(squares.min(axis=1), 0.0))
    return distance


def _mixture(weights: FloatArray, theta: FloatArray, cells: IndexArray) -> FloatArray:
    f: FloatArray = weights @ theta[:, cells].prod(axis=2)
    return f


def _annealed(
    draws: ClassDraws, energy: Callable[[FloatArray, FloatArray], float], rng: np.random.Generator, n_steps: int
) -> PointEstimate:
    """Simulated annealing in the softmax basis from the best of some draws; one class, or the sizes, at a time."""
    some = rng.choice(len(draws), size=min(100, len(draws)), replace=False)
    losses = np.array([energy(draws.weights[i], draws.theta[i]) for i in some])
    start = int(some[losses.argmin()])
    a, b = np.log(np.maximum(draws.weights[start], 1e-9)), np.log(np.maximum(draws.theta[start], 1e-9))
    now = best = float(losses.min())
    kept = _softmax(a, b, draws.offsets)
    hot, cold = max(float(losses.std()), 1e-12), max(float(losses.std()), 1e-12) * 1e-5
    size = 0.5
    for i in range(n_steps):
        temperature = hot * (cold / hot) ** (i / n_steps)
        a2, b2 = a, b
        if rng.random() < 1 / (draws.k + 1):
            a2 = a + size * rng.normal(size=a.shape)
        else:
            b2 = b.copy()
            b2[rng.integers(draws.k)] += size * rng.normal(size=b.shape[1])
        weights, theta = _softmax(a2, b2, draws.offsets)
        new = energy(weights, theta)
        accepted = new < now or rng.random() < exp((now - new) / temperature)
        size *= 1.02 if accepted else 0.993  # about a quarter accepted
        size = min(max(size, 1e-4), 2.0)
        if accepted:
            a, b, now = a2, b2, new
            if now < best:
                best, kept = now, (weights, theta)
    kept, best = _descended(kept, best, energy, draws.offsets)
    order = np.argsort(-kept[0], kind="stable")
    return PointEstimate(kept[0][order], kept[1][order], best)


def _descended(
    kept: tuple[FloatArray, FloatArray],
    best: float,
    energy: Callable[[FloatArray, FloatArray], float],
    offsets: IndexArray,
) -> tuple[tuple[FloatArray, FloatArray], float]:
    """Go down to the bottom of the valley that annealing has found."""
    k = len(kept[0])
    start = np.log(np.maximum(np.concatenate([kept[0], kept[1].ravel()]), 1e-9))

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _softmax(x[:k], x[k:].reshape(k, -1), offsets)

    found = minimize(lambda x: energy(*model(x)), start, method="L-BFGS-B", options={"maxiter": 200})
    return (model(found.x), float(found.fun)) if found.fun < best else (kept, best)


def _softmax(a: FloatArray, b: FloatArray, offsets: IndexArray) -> tuple[FloatArray, FloatArray]:
    weights = np.exp(a - a.max())
    theta = np.exp(b - b.max(axis=1, keepdims=True))
    sums = np.add.reduceat(theta, offsets[:-1], axis=1)
    return weights / weights.sum(), theta / np.repeat(sums, np.diff(offsets), axis=1)
