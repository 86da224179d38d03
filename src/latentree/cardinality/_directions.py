"""Which way to split a state: at random, or in one of three computed directions (K 4.4.2, 6.2.1).

A direction holds, for every neighbour, what is added to one half's probabilities and taken from the other's; the
entries of a neighbour sum to zero. K defines the computed ones for binary neighbours. Beyond them, (-1, 1) becomes the
evenly spaced contrast from -1 to 1 in the order of the states, and the highest variance is that of the indicators of
all states.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._states import States, blocks_of

__all__ = ["DIRECTIONS", "Direction", "alternating", "greedy", "random", "variance"]

Direction = Callable[[Neighbourhood, FloatArray, float, np.random.Generator], FloatArray]
"""Takes the data of the state, its profile, the length p and a generator."""


def random(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """Draw from [-p, p] so that every neighbour's entries sum to zero and one of them is p or -p (K 6.2.1)."""
    parts = []
    for width in data.widths:
        drawn = rng.uniform(-1.0, 1.0, width)
        drawn -= drawn.mean()
        most = np.abs(drawn).max()
        parts.append(drawn * (p / most) if most > 0 else np.zeros(width))
    return np.concatenate(parts)


def alternating(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """K's first: the first, third, ... neighbour one way, the others the other way."""
    return np.concatenate([p * (-1) ** i * _contrast(w) for i, w in enumerate(data.widths)])


def greedy(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """K's second: one neighbour after the other takes the sign that raises the likelihood of the state's data more.

    Neighbours whose distribution is the nearest to uniform come first.
    """
    one = States(np.ones(1), profile[None], data.widths)
    from_uniform = [float(np.abs(profile[b] - 1.0 / (b.stop - b.start)).sum()) for b in one.blocks]
    out = np.zeros_like(profile)
    plan = data.plan(2)
    for i, at in enumerate(np.argsort(from_uniform, kind="stable")):
        b = one.blocks[at]
        out[b] = p * _contrast(b.stop - b.start)
        if i > 0:
            other = out.copy()
            other[b] *= -1
            both = np.stack([one.split(0, r).flat for r in (out, other)])
            as_it_is, turned = plan.evaluate_batch(both)[0]
            out = out if as_it_is > turned else other
    return out


def variance(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """K's third: the leading eigenvector of the covariance of the state's data.

    A missing value counts as the state's own distribution. For binary neighbours the two indicators of a neighbour
    share K's entry, hence the factor.
    """
    seen, known = data.indicators()
    off = np.where(known, seen - profile, 0.0)
    share = data.weights / data.weights.sum()
    off -= share @ off
    leading = np.linalg.eigh((off * share[:, None]).T @ off)[1][:, -1]
    first = leading[np.argmax(np.abs(leading) > 1e-9)]
    centred = [np.sign(first) * (leading[b] - leading[b].mean()) for b in blocks_of(data.widths)]
    out: FloatArray = p * np.sqrt(2.0) * np.concatenate(centred)
    return out


DIRECTIONS: dict[str, Direction] = {
    "random": random,
    "alternating": alternating,
    "greedy": greedy,
    "variance": variance,
}
"""Directions by name."""


def _contrast(width: int) -> FloatArray:
    return np.linspace(-1.0, 1.0, width) if width > 1 else np.zeros(1)
