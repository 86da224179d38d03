"""Designs of the simulation of one-, two- and three-step estimates: that of [BakkKuha2018], and others.

Three classes, six binary items: members of class 1 probably say yes to all items, those of class 2 to the first three,
those of class 3 to none. "Probably" is .70, .80 or .90 (low, middle and high separation). A covariate takes the values
1 to 5, each for a fifth of the rows, and has the log-odds of class 2 and 3 against class 1 change by -0.5 and 0.5 or by
-1 and 1 a unit; intercepts are such that the classes are of equal size. 500, 1,000 or 2,000 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.optimize import root

from latentree._types import FloatArray, IndexArray
from latentree.relate._parts import ItemData

__all__ = ["CONDITIONS", "DESIGNS", "OTHERS", "Design", "Draw"]


@dataclass(frozen=True, eq=False)
class Design:
    """Classes, items, a covariate and its effects, and a number of rows.

    Attributes
    ----------
    name : str
        A name for files and tables.
    items : sequence of float arrays [classes, answers]
        Probabilities of the answers to each item.
    values : sequence of float
        Values of the covariate, which are equally frequent.
    slopes : sequence of float
        Changes of log-odds a unit, 0 for the first class.
    sizes : sequence of float
        Sizes of the classes, which the intercepts follow from.
    rows : int
        Number of rows.
    separation, effect : float or None
        Of [BakkKuha2018]'s conditions.
    """

    name: str
    items: Sequence[FloatArray]
    values: Sequence[float]
    slopes: Sequence[float]
    sizes: Sequence[float]
    rows: int
    separation: float | None = None
    effect: float | None = None

    @cached_property
    def coefficients(self) -> FloatArray:
        """Intercept and slope of each class."""
        values, slopes, sizes = np.array(self.values), np.array(self.slopes), np.array(self.sizes)

        def off(intercepts: FloatArray) -> FloatArray:
            p = np.exp(np.array([0.0, *intercepts]) + values[:, None] * slopes)
            found: FloatArray = (p / p.sum(axis=1, keepdims=True)).mean(axis=0)[1:] - sizes[1:]
            return found

        begin = np.log(sizes[1:] / sizes[0]) - values.mean() * slopes[1:]
        return np.column_stack([[0.0, *root(off, begin).x], slopes])

    @cached_property
    def truth(self) -> FloatArray:
        """The coefficients of all classes but the first, one after the other."""
        return self.coefficients[1:].ravel()

    @cached_property
    def cardinality(self) -> IndexArray:
        """Number of answers of each item."""
        return np.array([own.shape[1] for own in self.items])

    def drawn(self, rng: np.random.Generator) -> Draw:
        """Draw rows, and take equal ones together."""
        place = np.repeat(np.arange(len(self.values)), self.rows // len(self.values))
        beta, z = self.coefficients, np.array(self.values)[place]
        p = np.exp(beta[:, 0] + z[:, None] * beta[:, 1])
        classes = (rng.random(len(z))[:, None] > (p / p.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
        chance = rng.random((len(z), len(self.items)))
        strides = np.concatenate([[1], np.cumprod(self.cardinality)])
        key = place * strides[-1]
        for j, own in enumerate(self.items):
            above = 1.0 - own.cumsum(axis=1)[:, :-1]  # P(answer > c)
            key = key + strides[j] * (chance[:, j, None] < above[classes]).sum(axis=1)
        rows, counts = np.unique(key, return_counts=True)
        patterns, pattern = np.unique(rows % strides[-1], return_inverse=True)
        codes = (patterns[:, None] // strides[:-1] % self.cardinality).astype(np.int16)
        data = ItemData(codes, pattern.ravel(), self.cardinality)
        return Draw(data, np.array(self.values)[rows // strides[-1]], counts.astype(float))


@dataclass(frozen=True, eq=False)
class Draw:
    """Distinct rows: their answers, their value of the covariate, and how often each is."""

    items: ItemData
    z: FloatArray
    weights: FloatArray


def binary(yes: Sequence[Sequence[float]]) -> list[FloatArray]:
    """Binary items from P(yes) by class and item."""
    return [np.column_stack([1 - own, own]) for own in np.array(yes, dtype=float).T]


def bakk_kuha(separation: float, rows: int, effect: float) -> Design:
    """One of the 18 conditions."""
    yes = np.array([[1] * 6, [1, 1, 1, 0, 0, 0], [0] * 6])
    items = binary(np.where(yes == 1, separation, 1 - separation).tolist())
    slopes, name = (0.0, -effect, effect), f"{separation:.2f}-{rows}-{effect:.1f}"
    return Design(name, items, np.arange(1.0, 6.0).tolist(), slopes, (1 / 3,) * 3, rows, separation, effect)


CONDITIONS = tuple(bakk_kuha(*own) for own in product((0.7, 0.8, 0.9), (500, 1000, 2000), (0.5, 1.0)))

MOSTLY = {"first": [0.7, 0.15, 0.1, 0.05], "second": [0.1, 0.6, 0.2, 0.1], "last": [0.05, 0.1, 0.25, 0.6]}
"""Answers to an item with four of them."""

OTHERS = (
    Design(
        "2 classes (.7, .3), 5 items",
        binary([[0.85, 0.75, 0.8, 0.9, 0.8], [0.3, 0.2, 0.25, 0.15, 0.3]]),
        (0.0, 1.0),
        (0.0, 1.0),
        (0.7, 0.3),
        500,
    ),
    Design(
        "2 classes (.5, .5), 4 items",
        binary([[0.8, 0.75, 0.8, 0.7], [0.25, 0.2, 0.3, 0.2]]),
        (-1.5, -0.5, 0.5, 1.5),
        (0.0, 0.8),
        (0.5, 0.5),
        600,
    ),
    Design(
        "3 classes (.7, .2, .1), 7 items, rare answers",
        binary(
            [
                [0.03, 0.05, 0.02, 0.08, 0.1, 0.04, 0.06],
                [0.4, 0.5, 0.35, 0.6, 0.15, 0.1, 0.2],
                [0.7, 0.8, 0.75, 0.9, 0.7, 0.8, 0.6],
            ]
        ),
        (0.0, 1.0),
        (0.0, 0.9, 1.2),
        (0.7, 0.2, 0.1),
        800,
    ),
    Design(
        "3 classes (.5, .3, .2), 5 items of 4 answers",
        [np.array([MOSTLY["first"], MOSTLY["second" if j < 3 else "last"], MOSTLY["last"]]) for j in range(5)],
        (-1.0, 0.0, 1.0),
        (0.0, 0.8, -0.8),
        (0.5, 0.3, 0.2),
        600,
    ),
    Design(
        "4 classes (.4, .3, .2, .1), 8 items",
        binary([[0.85] * 8, [0.85] * 4 + [0.15] * 4, [0.15, 0.85] * 4, [0.15] * 8]),
        (-1.5, -0.75, 0.0, 0.75, 1.5),
        (0.0, 0.7, -0.7, 1.0),
        (0.4, 0.3, 0.2, 0.1),
        1000,
    ),
)
"""Other numbers of classes, sizes, items and rows, which nothing was chosen on."""

DESIGNS = (*CONDITIONS, *OTHERS)
