"""Information criteria: log-likelihood minus a penalty (W 4.4-4.5, E 3.3).

Estimators turn the sign and double them, as scikit-learn does. All are taken at the parameters of the fit, which should
be those of maximum likelihood. d is the standard dimension, de the effective one, N the sample size.
"""

from __future__ import annotations

from math import isfinite, log, pi

from ..errors import DataError, ModelError
from ..estimation._fit import Fit
from ..estimation._two_latents import TwoLatentsFit

__all__ = ["aic", "aic3", "bic", "bice", "caic", "draper", "effective_dimension_of", "log_n", "sabic"]


def aic(fit: Fit) -> float:
    """Akaike's criterion, LL - d (W 4.4)."""
    return _log_likelihood(fit) - fit.n_parameters


def aic3(fit: Fit) -> float:
    """AIC with three halves of the penalty, LL - 3/2 d (Bozdogan 1994)."""
    return _log_likelihood(fit) - 1.5 * fit.n_parameters


def bic(fit: Fit) -> float:
    """Bayesian information criterion, LL - d/2 ln N (W 4.5, K 3.2)."""
    return _log_likelihood(fit) - 0.5 * fit.n_parameters * log_n(fit, "BIC")


def bice(fit: Fit) -> float:
    """BIC with the effective dimension, LL - de/2 ln N (E 3.1)."""
    return _log_likelihood(fit) - 0.5 * effective_dimension_of(fit) * log_n(fit, "BICe")


def sabic(fit: Fit) -> float:
    """Sample-size adjusted BIC, LL - d/2 ln((N + 2) / 24) (Sclove 1987)."""
    return _log_likelihood(fit) - 0.5 * fit.n_parameters * log_n(fit, "SABIC", above=22.0, plus=2.0, over=24.0)


def caic(fit: Fit) -> float:
    """Consistent AIC, LL - d/2 (ln N + 1) (Bozdogan 1987)."""
    return _log_likelihood(fit) - 0.5 * fit.n_parameters * (log_n(fit, "CAIC") + 1.0)


def draper(fit: Fit) -> float:
    """Draper's score, LL - d/2 ln(N / 2 pi) (W 4.5.1)."""
    return _log_likelihood(fit) - 0.5 * fit.n_parameters * log_n(fit, "Draper's score", above=2 * pi, over=2 * pi)


def log_n(fit: Fit, score: str, *, above: float = 1.0, plus: float = 0.0, over: float = 1.0) -> float:
    """ln((N + plus) / over), or an error where that would reward parameters.

    Parameters
    ----------
    fit : Fit
        Gives N.
    score : str
        What the error calls the score.
    above, plus, over : float
        N must be above the first; the others see above.
    """
    n = fit.table.n
    if not n > above:
        raise DataError(f"{score} needs a sample size above {above:.4g}: with N = {n:g} it would reward parameters.")
    return log((n + plus) / over)


def effective_dimension_of(fit: Fit) -> int:
    """Effective dimension of the fitted structure."""
    if isinstance(fit, TwoLatentsFit):
        raise ModelError("The effective dimension is known for trees only, not for two latents above every leaf.")
    from ..dimension import effective_dimension

    return int(effective_dimension(fit.model.tree))


def _log_likelihood(fit: Fit) -> float:
    if not isfinite(fit.log_likelihood):
        raise ModelError("The data are impossible under the fitted model, so that it has no score.")
    return fit.log_likelihood
