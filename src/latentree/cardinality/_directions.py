"""Which way to split a state: at random, or in one of three computed directions ([Karciauskas2005] 4.4.2, 6.2.1).

A direction holds, for every neighbour, what is added to one half's probabilities and taken from the other's; the
entries of a neighbour sum to zero, except in ``uniform``. [Karciauskas2005] defines the computed ones for binary
neighbours. Beyond them, (-1, 1) becomes the evenly spaced contrast from -1 to 1 in the order of the states, and the
highest variance is that of the indicators of all states.

Computed directions follow the data of the state to be split (:meth:`Neighbourhood.shares`), not all data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import FloatArray
from ._neighbourhood import Neighbourhood
from ._states import States, blocks_of, equal_blocks

Direction = Callable[[Neighbourhood, FloatArray, float, np.random.Generator], FloatArray]
"""Takes the data of the state, its profile, the length p and a generator."""


def random(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """Draw from [-p, p] so that every neighbour's entries sum to zero and one is p or -p ([Karciauskas2005] 6.2.1)."""
    out: FloatArray = rng.uniform(-1.0, 1.0, sum(data.widths))
    for at in equal_blocks(data.widths):
        own = out[at] - out[at].mean(axis=1, keepdims=True)
        most = np.abs(own).max(axis=1, keepdims=True)
        out[at] = own * np.divide(p, most, out=np.zeros_like(most), where=most > 0)
    return out


def uniform(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """Draw every entry from [-p, p] ([Karciauskas2005] 4.4.2); the halves are clipped and normalised."""
    out: FloatArray = rng.uniform(-p, p, sum(data.widths))
    return out


def alternating(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """Karciauskas' first: the first, third, ... neighbour one way, the others the other way."""
    return np.concatenate([p * (-1) ** i * _contrast(w) for i, w in enumerate(data.widths)])


def greedy(data: Neighbourhood, profile: FloatArray, p: float, rng: np.random.Generator) -> FloatArray:
    """Karciauskas' second: one neighbour after the other takes the sign that makes the state's data more likely.

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
    """Karciauskas' third: the leading eigenvector of the covariance of the state's data.

    A missing value counts as the state's own distribution. For binary neighbours the two indicators of a neighbour
    share Karciauskas' entry, hence the factor.
    """
    seen, known = data.indicators()
    off = np.where(known, seen - profile, 0.0)
    share = data.weights / max(data.weights.sum(), 1e-300)
    off -= share @ off
    leading = np.linalg.eigh((off * share[:, None]).T @ off)[1][:, -1]
    first = leading[np.argmax(np.abs(leading) > 1e-9)]
    centred = [np.sign(first) * (leading[b] - leading[b].mean()) for b in blocks_of(data.widths)]
    out: FloatArray = p * np.sqrt(2.0) * np.concatenate(centred)
    return out


DIRECTIONS: dict[str, Direction] = {own.__name__: own for own in (random, uniform, alternating, greedy, variance)}
"""Directions by name."""


def split_along(
    name: str,
    states: States,
    state: int,
    data: Neighbourhood,
    p: float,
    rng: np.random.Generator,
    *,
    clip: bool = False,
) -> States:
    """Split a state in a direction of some length, given the data of the state."""
    direction = DIRECTIONS[name](data, states.profiles[state], p, rng)
    return states.split(state, direction, clip=clip or name == "uniform")


def _contrast(width: int) -> FloatArray:
    return np.linspace(-1.0, 1.0, width) if width > 1 else np.zeros(1)
