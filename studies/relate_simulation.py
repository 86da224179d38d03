"""Bias and coverage of one-, two- and three-step estimates in the designs of :mod:`studies.relate_designs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latentree._types import FloatArray
from latentree.relate._bch import bch
from latentree.relate._covariance import Sampling
from latentree.relate._covariates import Estimate, Structural, one_step, three_step, two_step
from latentree.relate._first import against_bias, refitted
from latentree.relate._measurement import FirstStep, first_step
from latentree.relate._parts import Items

from .relate_designs import DESIGNS, Design, Draw

__all__ = ["DEFAULTS", "METHODS", "WALD", "WITHOUT", "Tally", "simulate"]

STEPS = (
    "two-step",
    "one-step",
    "three-step, modal",
    "BCH, modal",
    "three-step, proportional",
    "BCH, proportional",
)
WITHOUT = " without prior"
"""Ends the names of methods whose measurement part is at the maximum of the likelihood (``prior=None``)."""

WALD = ", symmetric intervals"
"""Ends the name of BCH with intervals of so many standard errors to both sides, which are not its default."""

DEFAULTS = (*STEPS, "BCH, modal" + WALD)
METHODS = (*DEFAULTS, *(name + WITHOUT for name in ("two-step", "three-step, modal", "three-step, proportional")))
TOLERANCE = 1e-6
"""Gain in log-likelihood that a last Newton step, which is still taken, may promise."""

NORMAL = 1.959963984540054


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
    def empty(cls, size: int) -> Tally:
        """Nothing yet."""
        return cls(0, 0, *(np.zeros(size) for _ in range(4)))

    def add(self, estimate: FloatArray, error: FloatArray, score: FloatArray) -> None:
        """Add a replicate; ``score`` says by how many standard errors the truth is away from it."""
        self.n += 1
        self.total += estimate
        self.squares += estimate**2
        self.errors += error
        self.covered += np.abs(score) <= NORMAL

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
    design: Design, part: int, replicates: int, seed: int = 0, methods: Sequence[str] = METHODS
) -> dict[str, Tally]:
    """Tallies of each method over some replicates; which methods are asked for does not change the data."""
    rng = np.random.default_rng([seed, DESIGNS.index(design), part])
    found = {name: Tally.empty(len(design.truth)) for name in methods}
    for _ in range(replicates):
        draw = design.drawn(rng)
        firsts = {own: _first(design, draw, own) for own in {_has_prior(name) for name in methods}}
        for name in methods:
            first = firsts[_has_prior(name)]
            try:
                estimate = _estimated(name.removesuffix(WITHOUT), first, _structural(draw, first), design.truth)
            except (np.linalg.LinAlgError, ValueError):
                estimate = None
            if estimate is None:
                found[name].failed += 1
            else:
                found[name].add(*estimate)
    return found


def _has_prior(name: str) -> bool:
    return name != "one-step" and not name.endswith(WITHOUT)


def _first(design: Design, draw: Draw, with_prior: bool) -> FirstStep:
    """The measurement part estimated from the rows; the ascent starts from the truth, which keeps the labels."""
    begin = Items(draw.items, np.hstack(list(design.items)))
    items, sizes = refitted(begin, np.array(design.sizes), draw.weights, TOLERANCE)
    if with_prior:
        items, sizes = against_bias(items, sizes, draw.weights) or (items, sizes)
    return first_step(items, sizes, Sampling(draw.weights))


def _structural(draw: Draw, first: FirstStep) -> Structural:
    return Structural(np.column_stack([np.ones(len(draw.z)), draw.z]), draw.weights, first.sampling)


Replicate = tuple[FloatArray, FloatArray, FloatArray]
"""Estimates, standard errors, and how far the truth is from the estimates, by which intervals cover it or not."""


def _estimated(name: str, first: FirstStep, model: Structural, truth: FloatArray) -> Replicate | None:
    """A method's replicate; None if there is no maximum or the information is singular."""
    own = name.removesuffix(WALD)
    if own not in first.kept:
        first.kept[own] = _solved(own, first, model)
    found: Estimate = first.kept[own]
    values = found.logit.flat()
    variances = found.covariance.diagonal()[: len(values)]
    if not (found.converged and found.regular and np.abs(values).max() < 25 and (variances > 0).all()):
        return None
    errors = np.sqrt(variances)
    score = (truth - values) / errors
    if found.scores is not None and not name.endswith(WALD):
        for j in range(1, len(truth), 2):  # the slopes
            score[j] = found.scores.score(j, float(truth[j]))[0]
    return values, errors, score


def _solved(name: str, first: FirstStep, model: Structural) -> Estimate:
    kind, _, assignment = name.partition(", ")
    if kind == "one-step":
        # From the two-step estimate, which saves half of the way.
        begin = two_step(first, model, tol=TOLERANCE).logit.beta
        return one_step(first, model, first.measurement, begin=begin, em_steps=0, tol=TOLERANCE)
    if kind == "two-step":
        return two_step(first, model, tol=TOLERANCE)
    step = three_step if kind == "three-step" else bch
    return step(first, model, assignment=assignment, tol=TOLERANCE)  # type: ignore[arg-type]
