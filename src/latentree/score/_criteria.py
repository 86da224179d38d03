"""Information criteria: log-likelihood minus a penalty ([Whiley1999] 4.4-4.5, [ZhangKocka2004] 3.3).

Estimators turn the sign and double them, as scikit-learn does. All are taken at the parameters of the fit, which should
be those of maximum likelihood. d is the standard dimension, de the effective one, N the sample size. The rates of the
penalties are those of :data:`latentree.score.SCORES`.
"""

from __future__ import annotations

from math import isfinite, log

from ..dimension import effective_dimension
from ..dimension._effective import pair_dimension
from ..errors import ModelError
from ..estimation._fit import Fit
from ._layout import layout_of
from ._registry import SCORES, Penalty, Score


def aic(fit: Fit) -> float:
    """Akaike's criterion, LL - d ([Whiley1999] 4.4)."""
    return SCORES["aic"](fit)


def aic3(fit: Fit) -> float:
    """AIC with three halves of the penalty, LL - 3/2 d (Bozdogan 1994)."""
    return SCORES["aic3"](fit)


def bic(fit: Fit) -> float:
    """Bayesian information criterion, LL - d/2 ln N ([Whiley1999] 4.5, [Karciauskas2005] 3.2)."""
    return SCORES["bic"](fit)


def bice(fit: Fit) -> float:
    """BIC with the effective dimension, LL - de/2 ln N ([ZhangKocka2004] 3.1)."""
    return SCORES["bice"](fit)


def sabic(fit: Fit) -> float:
    """Sample-size adjusted BIC, LL - d/2 ln((N + 2) / 24) (Sclove 1987)."""
    return SCORES["sabic"](fit)


def caic(fit: Fit) -> float:
    """Consistent AIC, LL - d/2 (ln N + 1) (Bozdogan 1987)."""
    return SCORES["caic"](fit)


def draper(fit: Fit) -> float:
    """Draper's score, LL - d/2 ln(N / 2 pi) ([Whiley1999] 4.5.1)."""
    return SCORES["draper"](fit)


def penalised(fit: Fit, score: Score) -> float:
    """The log-likelihood less the penalty of a score."""
    if score.penalty is None:
        raise ModelError("The score '{name}' has neither a function nor a penalty.", name=score.name)
    if not isfinite(fit.log_likelihood):
        raise ModelError("The data are impossible under the fitted model, so it has no score.")
    d = effective_dimension_of(fit) if score.penalty.dimension == "effective" else fit.n_parameters
    return fit.log_likelihood - score.penalty.each(fit.table.n, score.title) * d


def log_n(fit: Fit, score: str) -> float:
    """ln N, or an error where that would reward parameters; ``score`` is what the error calls the score."""
    return Penalty(log).each(fit.table.n, score)


def effective_dimension_of(fit: Fit) -> int:
    """Effective dimension of the fitted structure, its constraint included."""
    layout = layout_of(fit)
    if layout.pair is None:
        return effective_dimension(layout.tree)
    return pair_dimension(layout.pair, tuple(sorted(map(int, layout.tree.cardinality[1:]))))
