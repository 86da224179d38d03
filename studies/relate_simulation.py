"""Bias and coverage of one-, two- and three-step estimates: the simulation of [BakkKuha2018].

Three classes, six binary items: members of class 1 probably say yes to all items, those of class 2 to the first three,
those of class 3 to none. "Probably" is .70, .80 or .90 (low, middle and high separation). A covariate takes the values
1 to 5, each for a fifth of the rows, and has the log-odds of class 2 and 3 against class 1 change by -0.5 and 0.5 or by
-1 and 1 a unit; intercepts are such that the classes are of equal size. 500, 1,000 or 2,000 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy.optimize import root

from latentree._types import FloatArray, IndexArray
from latentree.relate._covariance import Sampling
from latentree.relate._covariates import Structural, bch, one_step, three_step, two_step
from latentree.relate._measurement import FirstStep, first_step
from latentree.relate._mixture import Point, maximise
from latentree.relate._parts import ClassLogit, ItemData, Items

__all__ = ["CONDITIONS", "METHODS", "Condition", "Tally", "simulate"]

VALUES = np.arange(1.0, 6.0)
STEPS = (
    "two-step",
    "one-step",
    "three-step, modal",
    "BCH, modal",
    "three-step, proportional",
    "BCH, proportional",
)
PRIOR = 2.0
"""Dirichlet parameter of the measurement part of methods "with a prior": one case for each answer in each class."""

WITH_PRIOR = " + prior"
METHODS = (*STEPS, *(name + WITH_PRIOR for name in ("two-step", "three-step, modal", "BCH, modal")))
TOLERANCE = 1e-6
"""Gain in log-likelihood that a last Newton step, which is still taken, may promise."""

NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Condition:
    """One of the 18 conditions."""

    separation: float
    rows: int
    effect: float

    @property
    def name(self) -> str:
        """A name for files and tables."""
        return f"{self.separation:.2f}-{self.rows}-{self.effect:.1f}"


CONDITIONS = tuple(Condition(p, n, b) for p, n, b in product((0.7, 0.8, 0.9), (500, 1000, 2000), (0.5, 1.0)))


@cache
def coefficients(effect: float) -> FloatArray:
    """Coefficients [classes, 2] that make the classes equally large."""
    slopes = np.array([0.0, -effect, effect])

    def sizes(intercepts: FloatArray) -> FloatArray:
        logs = np.array([0.0, *intercepts]) + VALUES[:, None] * slopes
        p = np.exp(logs)
        return (p / p.sum(axis=1, keepdims=True)).mean(axis=0)[1:] - 1 / 3

    return np.column_stack([[0.0, *root(sizes, -3.0 * slopes[1:]).x], slopes])


def profiles(separation: float) -> FloatArray:
    """P(yes) by class and item."""
    yes = np.array([[1] * 6, [1, 1, 1, 0, 0, 0], [0] * 6])
    return np.where(yes == 1, separation, 1 - separation)


@dataclass
class Tally:
    """Sums over replicates: how many, estimates, their squares, standard errors, and intervals that cover."""

    n: int
    failed: int
    total: FloatArray
    squares: FloatArray
    errors: FloatArray
    covered: FloatArray

    @classmethod
    def empty(cls) -> Tally:
        """Nothing yet."""
        return cls(0, 0, np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4))

    def add(self, estimate: FloatArray, error: FloatArray, truth: FloatArray) -> None:
        """Add a replicate."""
        self.n += 1
        self.total += estimate
        self.squares += estimate**2
        self.errors += error
        self.covered += np.abs(estimate - truth) <= NORMAL * error

    def to_plain(self) -> dict[str, object]:
        """As JSON holds it."""
        return {name: own.tolist() if isinstance(own, np.ndarray) else own for name, own in vars(self).items()}

    @classmethod
    def from_plain(cls, plain: dict[str, object]) -> Tally:
        """What :meth:`to_plain` gave."""
        return cls(**{name: np.array(own) if isinstance(own, list) else own for name, own in plain.items()})  # type: ignore[arg-type]

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


def simulate(
    condition: Condition, part: int, replicates: int, seed: int = 0, methods: Sequence[str] = METHODS
) -> dict[str, Tally]:
    """Tallies of each method over some replicates; which methods are asked for does not change the data."""
    rng = np.random.default_rng([seed, CONDITIONS.index(condition), part])
    found = {name: Tally.empty() for name in methods}
    truth = coefficients(condition.effect)[1:].ravel()
    for _ in range(replicates):
        draw = _drawn(condition, rng)
        firsts = {own: _first(condition, draw, own) for own in {WITH_PRIOR in name for name in methods}}
        for name in methods:
            first = firsts[WITH_PRIOR in name]
            try:
                estimate = _estimated(name.removesuffix(WITH_PRIOR), first, _structural(draw, first))
            except (np.linalg.LinAlgError, ValueError):
                estimate = None
            if estimate is None:
                found[name].failed += 1
            else:
                found[name].add(*estimate, truth)
    return found


Draw = tuple[IndexArray, FloatArray]
"""Distinct rows (64 times the place of the covariate's value plus the number of the pattern), and how often each is."""


def _drawn(condition: Condition, rng: np.random.Generator) -> Draw:
    z = np.repeat(VALUES, condition.rows // len(VALUES))
    beta, yes = coefficients(condition.effect), profiles(condition.separation)
    p = np.exp(beta[:, 0] + z[:, None] * beta[:, 1])
    classes = (rng.random(len(z))[:, None] > (p / p.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    answers = rng.random((len(z), 6)) < yes[classes]
    key, counts = np.unique(answers @ (1 << np.arange(6)) + 64 * (z.astype(int) - 1), return_counts=True)
    return key, counts.astype(float)


def _first(condition: Condition, draw: Draw, with_prior: bool) -> FirstStep:
    """The measurement part estimated from the rows; the ascent starts from the truth, which keeps the labels."""
    key, weights = draw
    yes = profiles(condition.separation)
    codes = ((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(np.int16)
    data = ItemData(codes, key % 64, np.full(6, 2))
    tables = np.stack([1 - yes, yes], axis=2).reshape(3, 12)
    begin = Items(data, tables, PRIOR if with_prior else 1.0)
    logit = ClassLogit(np.ones((len(key), 1)), np.zeros((3, 1)))
    fitted = maximise(Point([logit, begin], weights), em_steps=1, tol=TOLERANCE).point
    items, own = fitted.parts[1], fitted.parts[0]
    return first_step(items, own.probabilities[0], Sampling(weights))  # type: ignore[attr-defined]


def _structural(draw: Draw, first: FirstStep) -> Structural:
    key, weights = draw
    x = np.column_stack([np.ones(len(key)), VALUES[key // 64]])
    return Structural(x, weights, first.sampling)


def _estimated(name: str, first: FirstStep, model: Structural) -> tuple[FloatArray, FloatArray] | None:
    """Estimates and standard errors; None if there is no maximum or the information is singular."""
    kind, _, assignment = name.partition(", ")
    if kind == "one-step":
        # From the two-step estimate, which saves half of the way.
        begin = first.kept.get("two-step")
        found = one_step(first, model, first.measurement, begin=begin, em_steps=0, tol=TOLERANCE)
    elif kind == "two-step":
        found = two_step(first, model, tol=TOLERANCE)
        first.kept["two-step"] = found.logit.beta
    else:
        step = three_step if kind == "three-step" else bch
        found = step(first, model, assignment=assignment, tol=TOLERANCE)  # type: ignore[arg-type,operator]
    values = found.logit.flat()
    variances = found.covariance.diagonal()[: len(values)]
    if not (found.converged and found.regular and np.abs(values).max() < 25 and (variances > 0).all()):
        return None
    return values, np.sqrt(variances)
