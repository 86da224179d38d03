"""Dirichlet priors: their logarithm, and counts averaged over them."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlogy

from .._types import FloatArray
from ._layout import Layout


def log_normaliser(layout: Layout, alpha: FloatArray) -> float:
    """Sum over the rows of ln Gamma(sum alpha) - sum ln Gamma(alpha)."""
    return float(gammaln(layout.sums(alpha)).sum() - gammaln(alpha).sum())


def log_evidence(layout: Layout, counts: FloatArray, alpha: FloatArray) -> float:
    """log P(D' | m) of complete data with these counts ([Karciauskas2005] 3.1, [Whiley1999] 4.1)."""
    return log_normaliser(layout, alpha) - log_normaliser(layout, alpha + counts)


def log_product(counts: FloatArray, parameters: FloatArray) -> float:
    """Sum of counts times ln parameters, 0 ln 0 being 0: log P(D' | theta, m)."""
    return float(np.sum(xlogy(counts, parameters)))
