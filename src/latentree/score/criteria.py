"""Information criteria: log-likelihood minus a penalty.

Estimators turn the sign and double them, as scikit-learn does.
"""

from __future__ import annotations

from math import log

from ..estimation.fit import Fit

__all__ = ["aic", "bic"]


def aic(fit: Fit) -> float:
    """Akaike's criterion, LL - d."""
    return fit.log_likelihood - fit.n_parameters


def bic(fit: Fit) -> float:
    """Bayesian information criterion, LL - d/2 ln N."""
    return fit.log_likelihood - 0.5 * fit.n_parameters * log(fit.table.n)
