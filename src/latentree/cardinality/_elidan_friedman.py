"""Elidan & Friedman (2001), as in [Karciauskas2005] 3.1.2: every row in one state, and states merged two by two."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray
from ..method import Whole, option
from ..runner import StopReason
from ._learner import Learner, LearnerState
from ._neighbourhood import Neighbourhood
from ._states import States, blocks_of, xlogx
from ._task import Settings, Task


@dataclass(frozen=True)
class ElidanFriedmanOptions(Settings):
    """Those of all learners, and one more."""

    most: int = option(
        500, Whole(1), "states to begin with: the most frequent rows; the others join the one most alike"
    )


class ElidanFriedman(Learner):
    """Agglomeration with hard assignments, scored by the BIC of the completed data; then EM from the best number."""

    Options = ElidanFriedmanOptions

    def advance(self, task: Task, state: LearnerState, rng: np.random.Generator) -> LearnerState:
        """Merge down to one state; EM from the number with the highest score of the completed data."""
        star = task.star(state.fit.model, task.only_latent(state.fit.model))
        sizes, counts = self._assigned(star)
        states = _agglomerated(sizes, counts, star.widths, task.max_states)
        after = state.considering(task, "agglomerate", task.fit_from(star, states))
        return replace(after, reason=StopReason.EXHAUSTED)

    def _assigned(self, star: Neighbourhood) -> tuple[FloatArray, FloatArray]:
        """Cases of each state, and how often they show each value."""
        seen, _ = star.indicators()
        seeds = np.argsort(-star.weights, kind="stable")[: self.options.most]
        nearest = np.argmax(seen @ seen[seeds].T, axis=1)
        nearest[seeds] = np.arange(len(seeds))
        sizes: FloatArray = np.bincount(nearest, weights=star.weights, minlength=len(seeds)).astype(np.float64)
        counts = np.zeros((len(seeds), seen.shape[1]))
        np.add.at(counts, nearest, star.weights[:, None] * seen)
        return sizes, counts


def _agglomerated(sizes: FloatArray, counts: FloatArray, widths: tuple[int, ...], most: int) -> States:
    """Merge the two states that lose the least, again and again; the states at the best number of them."""
    n, k = sizes.sum(), len(sizes)
    price = 0.5 * np.log(max(n, 2.0)) * (1 + sum(w - 1 for w in widths))
    sizes, counts = sizes.copy(), counts.copy()
    own = _completed(sizes, counts, widths)
    change = np.full((k, k), -np.inf)
    for a in range(k - 1):
        change[a, a + 1 :] = _changes(sizes, counts, widths, own, a, np.arange(a + 1, k))
    alive = np.ones(k, dtype=bool)
    score, best_score, best = own.sum() - k * price, -np.inf, alive.copy()
    kept = (sizes.copy(), counts.copy())
    while True:
        if score > best_score and alive.sum() <= most:
            best_score, best, kept = score, alive.copy(), (sizes.copy(), counts.copy())
        if alive.sum() == 1:
            break
        a, b = divmod(int(np.argmax(change)), k)
        score += change[a, b] + price
        sizes[a] += sizes[b]
        counts[a] += counts[b]
        alive[b] = False
        own[a] = _completed(sizes[a : a + 1], counts[a : a + 1], widths)[0]
        change[b], change[:, b] = -np.inf, -np.inf
        others = np.flatnonzero(alive & (np.arange(k) != a))
        news = _changes(sizes, counts, widths, own, a, others)
        change[np.minimum(a, others), np.maximum(a, others)] = news
    sizes, counts = kept[0][best], kept[1][best]
    profiles = np.empty_like(counts)
    for block, w in zip(blocks_of(widths), widths, strict=True):
        total = counts[:, block].sum(axis=1, keepdims=True)
        flat = np.full((len(counts), w), 1.0 / w)
        profiles[:, block] = np.divide(counts[:, block], total, out=flat, where=total > 0)
    even = np.repeat(1.0 / np.array(widths), widths)
    return States(sizes / n, 0.99 * profiles + 0.01 * even, widths)  # without zeros: EM could not move them


def _completed(sizes: FloatArray, counts: FloatArray, widths: tuple[int, ...]) -> FloatArray:
    """Log-likelihood of each state's cases, completed, up to what is the same for all."""
    out = xlogx(sizes)
    for b in blocks_of(widths):
        out = out + xlogx(counts[:, b]).sum(axis=1) - xlogx(counts[:, b].sum(axis=1))
    return out


def _changes(
    sizes: FloatArray, counts: FloatArray, widths: tuple[int, ...], own: FloatArray, a: int, others: NDArray[np.intp]
) -> FloatArray:
    """What merging a state with each of the others changes."""
    together = _completed(sizes[a] + sizes[others], counts[a] + counts[others], widths)
    out: FloatArray = together - own[a] - own[others]
    return out
