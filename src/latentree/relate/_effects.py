"""Class probabilities as functions of covariates: predictions and average marginal effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .._types import FloatArray
from ._design import Design, Values
from ._parts import ClassLogit

__all__ = ["average_effects", "average_probabilities"]


def _derivatives(logit: ClassLogit, weights: FloatArray) -> FloatArray:
    """Derivatives of the average class probabilities by the coefficients, [classes, coefficients]."""
    p, k = logit.probabilities, len(logit.beta)
    out = np.zeros((k, len(logit.others), logit.x.shape[1]))
    for c in range(k):
        for j, d in enumerate(logit.others):
            out[c, j] = (weights * p[:, c] * (float(c == d) - p[:, d])) @ logit.x
    return out.reshape(k, -1)


def average_probabilities(
    design: Design, logit: ClassLogit, values: Mapping[str, Values], weights: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Class probabilities averaged over rows, and their standard errors."""
    at = ClassLogit(design.matrix(values), logit.beta, logit.reference)
    shares = weights / weights.sum()
    by = _derivatives(at, shares)
    return shares @ at.probabilities, np.sqrt(np.einsum("ij,jk,ik->i", by, covariance, by))


def average_effects(
    design: Design, logit: ClassLogit, values: Mapping[str, Values], weights: FloatArray, covariance: FloatArray
) -> list[tuple[str, str, FloatArray, FloatArray]]:
    """Covariate, change, effects on the class probabilities and standard errors, for every covariate.

    Of a number, the derivative, averaged over the rows; of a category, the difference to the first level.
    """
    shares = weights / weights.sum()
    out = []
    for name, own in values.items():
        if own.levels is None:
            step = 1e-4 * max(float(np.sqrt(shares @ (own.numbers - shares @ own.numbers) ** 2)), 1e-8)
            changes = [("per unit", own.numbers + step, own.numbers - step, 2 * step)]
        else:
            n, base = len(own), own.levels[0]
            changes = [
                (f"{level} against {base}", np.full(n, float(i)), np.zeros(n), 1.0)
                for i, level in enumerate(own.levels)
                if i
            ]
        for label, up, down, width in changes:
            ends = [
                ClassLogit(design.matrix({**values, name: replace(own, numbers=side)}), logit.beta, logit.reference)
                for side in (up, down)
            ]
            effect = (shares @ ends[0].probabilities - shares @ ends[1].probabilities) / width
            by = (_derivatives(ends[0], shares) - _derivatives(ends[1], shares)) / width
            out.append((name, label, effect, np.sqrt(np.einsum("ij,jk,ik->i", by, covariance, by))))
    return out
