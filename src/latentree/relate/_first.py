"""The first step estimated again: from other rows, or with a prior against the bias of small samples.

At the maximum of the likelihood classes look better separated than they are, and what is then related to them looks
weaker than it is. Half a case for each answer (Jeffreys' prior) takes the bias of order 1/n from log-odds that are
estimated from n rows ([Firth1993]). Where the rows' classes are not known, they tell less than n rows would, by the
ratio of observed to complete information, and the prior has to be stronger by as much. With d parameters,

    cases = 1/2 * (|complete information| / |observed information|) ** (1 / d),

which does not depend on how the model is parameterised.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ._mixture import Point, curvature, maximise
from ._parts import SMALLEST, ClassLogit, ItemData, Items

__all__ = ["against_bias", "at_maximum", "refitted"]

PRECISE = 1e-10
"""Gain that the last step may promise where a measurement part is estimated for good."""

KNOWN = 0.5
"""Cases for each answer if the classes were known."""

ROUNDS = 2
"""Times that the prior follows from the information under the one before; a third changes it by less than a percent."""

LEAST_SHARE = 0.25
"""A class may lose so much of its size to the prior, and must keep a case; otherwise the prior has dissolved it."""

AT_MAXIMUM = 1e-3
"""A step of EM promises less than this, in cases, where a model is at the maximum of the likelihood, and more where it
was fitted with a prior that matters, or to other rows."""

First = tuple[Items, FloatArray]
"""A measurement part and the class sizes."""


def against_bias(part: Items, sizes: FloatArray, weights: FloatArray, unit: float = 1.0) -> First | None:
    """The posterior mode under a prior that removes most of the bias of the maximum of the likelihood.

    None where there is no such mode: the information is singular, or a class would dissolve.

    Parameters
    ----------
    part, sizes : Items, float array [classes]
        Where the ascent starts.
    weights : float array [rows]
        What each row counts for.
    unit : float
        What a case counts for.
    """
    cases, before = KNOWN, sizes
    for _ in range(ROUNDS):
        part, sizes = refitted(Items(part.data, part.tables, 1.0 + cases * unit), sizes, weights, 1e-4)
        found = curvature(_point(part, sizes, weights))
        (known, complete), (regular, observed) = np.linalg.slogdet(found.complete), np.linalg.slogdet(found.information)
        if not (known > 0 and regular > 0):
            return None
        cases = KNOWN * float(np.exp((complete - observed) / len(found.complete)))
    part, sizes = refitted(Items(part.data, part.tables, 1.0 + cases * unit), sizes, weights)
    least = np.maximum(LEAST_SHARE * before, np.minimum(before, unit / weights.sum()))
    return (part, sizes) if np.all(sizes >= least) else None


def at_maximum(part: Items, sizes: FloatArray, weights: FloatArray, unit: float = 1.0) -> bool:
    """Whether class sizes and probabilities maximise the likelihood of these rows; a case counts for ``unit``."""
    here = _point(part, sizes, weights)
    return bool(here.em_step().objective - here.objective < AT_MAXIMUM * unit)


def refitted(part: Items, sizes: FloatArray, weights: FloatArray, tol: float = PRECISE) -> First:
    """The measurement part that maximises the likelihood of these rows, or the posterior under the part's prior."""
    found = maximise(_point(part, sizes, weights), em_steps=1, tol=tol).point
    logit, items = found.parts
    assert isinstance(logit, ClassLogit) and isinstance(items, Items)
    return Items(part.data, items.tables, part.prior), logit.probabilities[0]


def _point(part: Items, sizes: FloatArray, weights: FloatArray) -> Point:
    """The latent class model on distinct patterns."""
    n, logs = len(part.data.codes), np.log(np.maximum(sizes, SMALLEST))
    counts: FloatArray = np.bincount(part.data.pattern, weights, n).astype(np.float64)
    data = ItemData(part.data.codes, np.arange(n), part.data.cardinality)
    logit = ClassLogit(np.ones((n, 1)), (logs - logs[0])[:, None])
    return Point([logit, Items(data, part.tables, part.prior)], counts)
